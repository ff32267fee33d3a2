"""The settings of exploration in self-play, see `engine.train.teaching.hints`. Imports nothing heavy."""

from dataclasses import dataclass

from engine.settings.setting import check_fields, number


@dataclass(frozen=True)
class ExplorationSettings:
    """Settings of epsilon-greedy exploration: with probability epsilon, a move is not chosen by the search."""

    start: float = number(
        0.0, "Epsilon of the first game, in keima zero of that of each generation; 0 for no exploration.", 0, 1
    )
    decay: float = number(0.99, "Factor by which epsilon is multiplied after each game.", 0, 1)
    floor: float = number(0.01, "Value below which epsilon does not fall.", 0, 1)
    hints: float = number(
        0.5, "Share of exploratory moves that the teacher chooses; others are random, but fill no own eye.", 0, 1
    )

    def __post_init__(self) -> None:
        """Raise GoError with the field's name unless all values are in 0..1."""
        check_fields(self)

    def epsilon(self, games: int) -> float:
        """Return epsilon after `games` games; 0 if exploration is off."""
        return max(min(self.floor, self.start), self.start * self.decay**games) if self.start > 0 else 0.0
