"""The settings of a training run, read from TOML by `engine.train.toml_settings`. Does not import torch."""

from dataclasses import dataclass, fields
from typing import Literal

from engine.train.toml_settings import ConfigError

Precision = Literal["auto", "fp32", "bf16"]
SHAPE = ("architecture", "encoder", "blocks", "channels", "board_sizes")
"""Settings that define a network with random weights."""
FIXED = (*SHAPE, "seed", "optimizer", "freeze")
"""Settings that must not change when a run is resumed."""


@dataclass(frozen=True)
class TrainConfig:
    """All settings of training except the data and the initial network.

    The loss weights are KataGo's: policy, value, ownership and reply from Wu, "Accelerating Self-Play Learning in Go"
    (2019), appendix; mean score and lead from its later training code (python/katago/train/metrics_pytorch.py).
    score_stdev_weight is for a log-likelihood and has the value of KataGo's weight of the score distribution, 0.02.

    architecture, encoder, blocks, channels, board_sizes, seed: of a network with random weights. "keima" is the
        default convolutional network, "transformer" has pairs of attention and feed-forward layers as blocks, "agz"
        is AlphaGo Zero's for one board size. The data use the same seed.
    batch_size: samples per step and process.
    steps: total training steps. hours: upper bound over all sessions, 0 for no bound.
    optimizer: Adam with decoupled weight decay (Loshchilov and Hutter 2019), or SGD with Nesterov momentum,
        whose weight decay is the L2 term of AlphaGo Zero. Norms, biases and rotary embeddings have no weight decay.
    schedule: of the learning rate, see `engine.train.learning.schedule`. warmup: steps in which the rate rises.
    final_rate: final value of the cosine schedule, as a fraction of learning_rate.
    rate_steps: fractions of the run after each of which the step schedule multiplies the rate by rate_factor.
    kl_target, kl_every: of the KL-adaptive schedule: the desired change of the policy per step in nats, and the
        interval in steps at which it is measured.
    gradient_norm: maximum norm of the gradient, which is clipped to it; 0 for no bound.
    ema_decay: of the averaged weights (Polyak), which are the result of training.
    freeze: "trunk" trains only the heads and leaves all other weights bit-identical.
    norms: "batch" uses and updates batch statistics; "fixed" keeps those of the initial network; "auto" is "fixed"
        for networks of other programs that store no statistics, else "batch".
    precision: bf16 multiplies in bfloat16 where that is safe (autocast); "auto" uses it where it is fast.
    compile: compile the step with torch; takes a minute at the start for every board size.
    threads: of the CPU, 0 for torch's default.
    prefetch: number of batches prepared ahead.
    log_every, checkpoint_every: intervals in steps. keep: number of checkpoints kept.
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
        """Raise ConfigError on a value out of range."""
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
