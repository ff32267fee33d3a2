"""What a run of `keima tune` has found, and what that shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.apps.quality.statistics import Estimate, Regrets, estimates
from engine.apps.tune.confirm import Confirmation
from engine.apps.tune.journal import Trial
from engine.apps.tune.ranges import as_texts
from engine.apps.tune.settings import TuneSettings


@dataclass
class Tuned:
    """What a run has found so far. default: regrets on the positions that were tuned on, by visits. held: those of the
    default and of the best set on the other positions."""

    settings: TuneSettings
    trials: Sequence[Trial] = ()
    default: Mapping[int, Regrets] = field(default_factory=dict)
    held: Sequence[Mapping[int, Regrets]] = ()
    confirmed: Sequence[Confirmation] = ()

    @property
    def best(self) -> Trial | None:
        """The trial that loses least, None if there is none."""
        return min(self.trials, key=lambda each: each.loss, default=None)


def verdict(tuned: Tuned) -> str:
    """Return in one sentence what the run has shown of the best set."""
    best = tuned.best
    if best is None:
        return "No set was tried."
    name = as_texts(best.values)
    if best.loss >= 0:
        return f"No set loses less than the default on the positions that were tuned on; the nearest is {name}."
    if not tuned.held:
        return f"{name} loses least on the positions that were tuned on; it was not compared on others.{_games(tuned)}"
    unit = tuned.settings.objective
    ends = {visits: estimates(tuned.held[1][visits], before)[unit] for visits, before in tuned.held[0].items()}
    less, more = (" and ".join(f"{v:,}" for v, each in ends.items() if test(each)) for test in (_is_less, _is_more))
    words = [f"less at {less} visits"] * bool(less) + [f"more at {more} visits"] * bool(more)
    held = (
        f"{name}: on the held positions it loses {' and '.join(words) or 'neither less nor more, within the interval,'}"
    )
    return f"{held} than the default.{_games(tuned)}"


def _games(tuned: Tuned) -> str:
    if not tuned.confirmed:
        return " No games were played."
    games = "; ".join(f"{each.verdict} in {len(each.points)} games at {each.visits:,}" for each in tuned.confirmed)
    return f" In games it is {games} visits."


def _is_less(each: Estimate) -> bool:
    return each.high < 0


def _is_more(each: Estimate) -> bool:
    return each.low > 0
