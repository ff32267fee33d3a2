"""The numbers of a training run, readable from TOML (`engine.train.toml_settings`). Imports no torch."""

from dataclasses import dataclass, fields
from typing import Literal

from engine.train.toml_settings import ConfigError

Precision = Literal["auto", "fp32", "bf16"]
SHAPE = ("architecture", "encoder", "blocks", "channels", "board_sizes")
"""What a network of random weights is made by."""
FIXED = (*SHAPE, "seed", "optimizer", "freeze")
"""What cannot change when a run goes on."""


@dataclass(frozen=True)
class TrainConfig:
    """Everything that training depends on besides its data and the network it starts from.

    The weights of the loss are those of KataGo: policy, value, ownership and reply of Wu, "Accelerating
    Self-Play Learning in Go" (2019), appendix; mean score and lead of its later training code
    (python/katago/train/metrics_pytorch.py). score_stdev weighs a log-likelihood, which KataGo's weight of
    the score's distribution, 0.02, does there.

    architecture, encoder, blocks, channels, board_sizes, seed: of a network from random weights; "keima" is the
        default one, of convolutions, "transformer" has pairs of attention and feed forward for blocks, "agz" is AlphaGo
        Zero's for one board size. The seed is also the data's.
    batch_size: samples a step and process.
    steps: where training ends. hours: where it ends at the latest, all resumptions together; 0 for no bound.
    optimizer: Adam with decoupled weight decay (Loshchilov and Hutter 2019), or SGD with Nesterov's momentum,
        whose weight decay is the L2 term of AlphaGo Zero. Neither decays norms, biases and turns by place.
    schedule: of the learning rate, see `engine.train.learning.schedule`; warmup: steps in which it rises.
    final_rate: what the cosine ends with, a fraction of learning_rate.
    rate_steps: fractions of the run after each of which the step schedule multiplies by rate_factor.
    kl_target, kl_every: of the KL-adaptive schedule: what a step should change the policy by in nats, and
        every how many steps that is measured.
    gradient_norm: longest gradient, longer ones are shortened; 0 for no bound.
    ema_decay: of the average of the weights (Polyak), which is what is played with.
    freeze: "trunk" trains the heads alone, bit by bit nothing else.
    norms: "batch" learns from each batch's statistics; "fixed" keeps those of the starting network; "auto" keeps
        them where a network of another program stores none.
    precision: bf16 multiplies in bfloat16 where that is safe (autocast), "auto" does so where it is fast.
    compile: let torch compile the step; takes a minute at the start of every board size.
    threads: of the CPU, 0 for torch's own choice.
    prefetch: batches that are prepared ahead.
    log_every, checkpoint_every: steps; keep: checkpoints that stay.
    """

    architecture: Literal["keima", "transformer", "agz"] = "keima"
    encoder: str = "katago-v7"
    blocks: int = 6
    channels: int = 96
    board_sizes: tuple[int, int] = (2, 25)
    seed: int = 1

    batch_size: int = 256
    steps: int = 100_000
    hours: float = 0.0

    optimizer: Literal["adamw", "sgd"] = "adamw"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.01
    schedule: Literal["cosine", "step", "constant", "kl"] = "cosine"
    warmup: int = 500
    final_rate: float = 0.02
    rate_steps: tuple[float, ...] = (0.5, 0.75, 0.9)
    rate_factor: float = 0.1
    kl_target: float = 0.02
    kl_every: int = 10
    gradient_norm: float = 4.0
    ema_decay: float = 0.999

    policy_weight: float = 1.0
    value_weight: float = 1.5
    ownership_weight: float = 1.5
    reply_weight: float = 0.15
    score_mean_weight: float = 0.0015
    lead_weight: float = 0.006
    score_stdev_weight: float = 0.02

    freeze: Literal["none", "trunk"] = "none"
    norms: Literal["auto", "batch", "fixed"] = "auto"

    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Precision = "auto"
    compile: bool = False
    threads: int = 0
    prefetch: int = 2

    log_every: int = 50
    checkpoint_every: int = 1000
    keep: int = 3

    def __post_init__(self) -> None:
        """Raise ConfigError on a number out of range."""
        positive = {"blocks", "channels", "batch_size", "steps", "learning_rate", "kl_target"}
        positive |= {"kl_every", "prefetch", "log_every", "checkpoint_every", "keep"}
        fractions = {"momentum", "final_rate", "rate_factor", "ema_decay"}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in positive and not value > 0:
                raise ConfigError(f"{field.name}: expected more than 0, got {value}")
            if field.name in fractions and not 0.0 <= value <= 1.0:
                raise ConfigError(f"{field.name}: expected 0 to 1, got {value}")
            if isinstance(value, int | float) and not value >= 0:
                raise ConfigError(f"{field.name}: expected 0 or more, got {value}")
        if not all(0.0 < each < 1.0 for each in self.rate_steps):
            raise ConfigError(f"rate_steps: expected fractions between 0 and 1, got {list(self.rate_steps)}")
