"""The settings of a run of `keima bench --quality`. Imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import GoError

DEFAULT_SIZES = ((9, 9), (13, 13), (19, 19))
DEFAULT_VISITS = (50, 200, 800, 3200)
DEFAULT_SECONDS = (0.1, 0.5, 2.0)


@dataclass(frozen=True)
class QualitySettings:
    """What is measured.

    network: identifies the network in stored references: name, precision and digest. positions: number of all boards
    together. visits, seconds: limits of the judged searches. compared: settings that differ from `base`, by name; each
    maps search parameters to texts. reference_visits: of the deep search. records: files of games, empty for the
    default. katago: the command of KataGo's GTP engine with its network, "" for none. out: the folder of references.
    """

    network: str
    sizes: tuple[tuple[int, int], ...] = DEFAULT_SIZES
    positions: int = 1000
    visits: tuple[int, ...] = DEFAULT_VISITS
    seconds: tuple[float, ...] = DEFAULT_SECONDS
    base: dict[str, str] = field(default_factory=dict)
    compared: tuple[str, ...] = ()
    reference_visits: int = 10_000
    records: tuple[Path, ...] = ()
    katago: str = ""
    out: Path | None = None


def require_deeper(reference_visits: int, visits: Sequence[int]) -> None:
    """Raise GoError unless a reference is deeper than each search it judges: to one that is not, no move loses much."""
    most = max(visits, default=0)
    if reference_visits <= most:
        raise GoError(f"--reference-visits: expected more than the {most:,} of --visits, got {reference_visits:,}")
