"""The settings of a training run, and the file of its folder that has them. Does not import torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from engine.errors import GoError
from engine.settings.setting import Kind, check_fields, choice, number, numbers, option, truth
from engine.train.toml_settings import from_table, read_toml_file
from engine.vertex import MAX_SIZE

CONFIG_FILE = "config.toml"
"""The settings of a run, in its folder."""
Architecture = Literal["keima", "transformer", "agz"]
Optimizer = Literal["adamw", "sgd"]
ScheduleName = Literal["cosine", "step", "constant", "kl"]
Frozen = Literal["none", "trunk"]
Norms = Literal["auto", "batch", "fixed"]
Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["auto", "fp32", "bf16"]
SHAPE = ("architecture", "encoder", "blocks", "channels", "board_sizes")
"""Settings that define a network with random weights."""
FIXED = (*SHAPE, "human", "seed", "optimizer", "freeze", "norms")
"""Settings that must not change when a run is resumed."""


@dataclass(frozen=True)
class TrainConfig:
    """All settings of training except the data and the initial network.

    The loss weights are KataGo's: policy, value, ownership and reply from Wu, "Accelerating Self-Play Learning in Go"
    (2019), appendix; mean score and lead from its later training code (python/katago/train/metrics_pytorch.py).
    score_stdev_weight is for a log-likelihood and has the value of KataGo's weight of the score distribution, 0.02.
    """

    architecture: Architecture = choice(
        "keima",
        "Architecture of a network with random weights: keima is the default convolutional network, transformer has "
        "pairs of attention and feed-forward layers as blocks, agz is AlphaGo Zero's for one board size.",
        get_args(Architecture),
    )
    encoder: str = option(Kind.TEXT, "katago-v7", "Input format of a network with random weights.", metavar="NAME")
    blocks: int = number(6, "Blocks of a network with random weights.", 1)
    channels: int = number(96, "Channels of a network with random weights.", 1)
    board_sizes: tuple[int, int] = numbers((2, MAX_SIZE), "Smallest and largest board of the network.", 2, MAX_SIZE)
    human: bool = truth(
        False,
        "Give a network that has none the inputs about the players (KataGo's), which begin without an effect: it "
        "learns to imitate people by their ranks. Records without ranks are skipped.",
    )
    seed: int = number(1, "Seed of the random weights and of the order of the data.", 0)

    record_shares: tuple[float, ...] = numbers(
        (), "Part of the games of each --records, in their order, that an epoch draws anew; none for all games.", 0, 1
    )
    batch_size: int = number(256, "Samples of each process in a step.", 1, unit="samples")
    steps: int = number(100_000, "Training steps in total.", 1, unit="steps")
    hours: float = number(0.0, "Upper bound over all sessions, in hours; 0 for none.", 0, unit="hours")

    optimizer: Optimizer = choice(
        "adamw",
        "Adam with decoupled weight decay (Loshchilov and Hutter 2019), or SGD with Nesterov momentum, whose weight "
        "decay is the L2 term of AlphaGo Zero.",
        get_args(Optimizer),
    )
    learning_rate: float = number(1e-3, "Learning rate after the warm-up.", 0, above=True)
    momentum: float = number(0.9, "Momentum of SGD.", 0, 1)
    weight_decay: float = number(0.01, "Weight decay; norms, biases and rotary embeddings have none.", 0)
    schedule: ScheduleName = choice(
        "cosine",
        "Schedule of the learning rate after the warm-up; kl adapts it to the change of the policy.",
        get_args(ScheduleName),
    )
    warmup: int = number(500, "Steps in which the learning rate rises.", 0, unit="steps")
    final_rate: float = number(0.02, "Final value of the cosine schedule, as a fraction of learning_rate.", 0, 1)
    rate_steps: tuple[float, ...] = numbers(
        (0.5, 0.75, 0.9), "Fractions of the run, between 0 and 1, after which the step schedule lowers the rate."
    )
    rate_factor: float = number(0.1, "Factor by which the step schedule multiplies the rate.", 0, 1)
    kl_target: float = number(
        0.02, "Change of the policy in a step at which the kl schedule aims, in nats.", 0, above=True, unit="nats"
    )
    kl_every: int = number(10, "Interval at which the kl schedule measures that change.", 1, unit="steps")
    gradient_norm: float = number(4.0, "Norm to which the gradient is clipped; 0 for no bound.", 0)
    ema_decay: float = number(0.999, "Decay of the averaged weights (Polyak), which are the result of training.", 0, 1)

    policy_weight: float = number(1.0, "Weight of the policy in the loss.", 0)
    value_weight: float = number(1.5, "Weight of the outcome in the loss.", 0)
    ownership_weight: float = number(1.5, "Weight of the ownership in the loss.", 0)
    reply_weight: float = number(0.15, "Weight of the policy of the opponent's reply in the loss.", 0)
    score_mean_weight: float = number(0.0015, "Weight of the mean score in the loss.", 0)
    lead_weight: float = number(0.006, "Weight of the score lead in the loss.", 0)
    score_stdev_weight: float = number(0.02, "Weight of the likelihood of the score in the loss.", 0)
    optimistic_policy_weight: float = number(
        0.2, "Weight of the optimistic policy in the loss, where the network has one (KataGo).", 0
    )
    value_error_weight: float = number(
        2.0, "Weight of the error of the value in the near future, where the network says it and samples know it.", 0
    )
    score_error_weight: float = number(0.00002, "The same for the score.", 0)
    soft_policy_weight: float = number(
        0.0,
        "Weight of the soft policy, the policy target to the power 1/4, and of the soft reply times reply_weight, in "
        "the loss (KataGo: 8); 0 for no such heads.",
        0,
    )
    score_distribution_weight: float = number(
        0.0, "Weight of the distribution of the score in the loss (KataGo: 0.02); 0 for no such head.", 0
    )
    short_value_weight: float = number(
        0.0,
        "Weight of the value in the near future in the loss, at each of three horizons (KataGo: 0.72); needs samples "
        "of self-play with records_later. 0 for no such head.",
        0,
    )
    short_score_weight: float = number(0.0, "The same for the score in the near future (KataGo: 0.0004).", 0)

    freeze: Frozen = choice(
        "none",
        "With trunk, only the heads are trained; all other weights remain bit-identical.",
        get_args(Frozen),
    )
    norms: Norms = choice(
        "auto",
        "Batch statistics: used and updated (batch), or those of the initial network (fixed). auto is fixed for "
        "networks of other programs that store no statistics, else batch.",
        get_args(Norms),
    )

    device: Device = choice("auto", "Device to train on (auto: a GPU where there is one).", get_args(Device))
    precision: Precision = choice(
        "auto",
        "Number format of the training: bf16 multiplies in bfloat16 where that is safe; auto uses it where it is fast.",
        get_args(Precision),
    )
    compile: bool = truth(False, "Compile the step with PyTorch; takes a minute at the start for every board size.")
    threads: int = number(0, "CPU threads; 0 for PyTorch's default.", 0)
    prefetch: int = number(2, "Batches that are prepared ahead.", 1)

    log_every: int = number(50, "Interval of the lines of metrics.", 1, unit="steps")
    checkpoint_every: int = number(1000, "Interval of the checkpoints.", 1, unit="steps")
    keep: int = number(3, "Checkpoints that are kept.", 1)

    def __post_init__(self) -> None:
        """Raise GoError with the field's name on a value out of range."""
        check_fields(self)
        if not all(0.0 < each < 1.0 for each in self.rate_steps):
            raise GoError(f"rate_steps: expected fractions between 0 and 1, got {list(self.rate_steps)}")


def read_run_config(run: Path) -> TrainConfig:
    """Read the configuration of a run. Raises ConfigError."""
    path = run / CONFIG_FILE
    return from_table(TrainConfig, read_toml_file(path), str(path))
