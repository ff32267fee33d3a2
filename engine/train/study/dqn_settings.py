"""The settings of deep Q-learning, see `engine.train.study.dqn`. Imports nothing heavy at once."""

from dataclasses import dataclass

from engine.settings.setting import Kind, check_fields, number, option
from engine.vertex import MAX_SIZE


@dataclass(frozen=True)
class DqnSettings:
    """Settings of Q-learning. Epsilon falls over the first half of the games."""

    size: int = number(5, "Side of the board.", 1, MAX_SIZE)
    komi: float = number(0.5, "Points that White receives.", unit="points")
    encoder: str = option(Kind.TEXT, "liberties", "Input format of the network.", metavar="NAME")
    games: int = number(2000, "Games in total.", 1, unit="games")
    at_once: int = number(32, "Games played in parallel.", 1, unit="games")
    channels: int = number(32, "Channels of the 3x3 convolutions.", 1)
    layers: int = number(4, "Number of 3x3 convolutions.", 1)
    memory: int = number(30_000, "Capacity of the replay memory in transitions; at least a batch.", 1)
    batch: int = number(128, "Samples in a training step.", 1, unit="samples")
    plies_a_step: int = number(32, "Plies played for each training step.", 1, unit="plies")
    returns: int = number(6, "Plies n of the n-step return.", 1, unit="plies")
    learning_rate: float = number(1e-3, "Learning rate of the optimizer.", 0, above=True)
    renewed: int = number(100, "Interval at which the target network is updated.", 1, unit="steps")
    epsilon: float = number(1.0, "Share of random moves at the start.", 0, 1)
    epsilon_end: float = number(0.1, "Share of random moves in the second half.", 0, 1)
    longest: float = number(
        3.0,
        "Most plies of a game, as a multiple of the board's points; then it is counted as it stands.",
        0,
        above=True,
    )
    seed: int = number(1, "Seed of all random numbers.", 0)

    def __post_init__(self) -> None:
        """Raise ValueError with the field's name on a value out of range."""
        from engine.encoders import ENCODERS

        check_fields(self)
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder: expected {' or '.join(ENCODERS)}, got {self.encoder!r}")
        if self.memory < self.batch:
            raise ValueError(f"memory: expected a batch, {self.batch}, or more, got {self.memory}")

    def epsilon_after(self, games: int) -> float:
        """Return the share of random moves after `games` games."""
        done = min(1.0, 2 * games / max(1, self.games))
        return self.epsilon + (self.epsilon_end - self.epsilon) * done
