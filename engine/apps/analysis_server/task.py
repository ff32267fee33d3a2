"""A position to analyze and the reports about it. Plain data; does not search."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.evaluation.evaluation import Evaluation
from engine.game import Game
from engine.search.analysis import Analysis, Wanted
from engine.search.params import SearchParams

Avoided = Mapping[int, Mapping[int, int]]
"""By color and vertex, the depth in moves below which a search must not play it there."""


@dataclass(frozen=True, eq=False)
class Report:
    """The result of searching a position.

    analysis: None if it was given up before there was one. root: row 0 is what the evaluator said of the position,
    in the view of the side to move. is_final: nothing follows. failure: why there is no analysis, "" if it was
    only given up.
    """

    analysis: Analysis | None
    root: Evaluation | None = None
    is_final: bool = True
    failure: str = ""


@dataclass(eq=False)
class Task:
    """One position to analyze.

    game: not changed, and must not be. color: the side to move. view: the color whose point of view is reported.
    visits, seconds: when the search ends, None for no such limit; without any it ends when it is given up.
    priority: higher ones come first, earlier ones among equals. report_every, first_report: seconds between
    reports, and before the first; None for a final one only.
    on_report: called with each report, by any thread, the last one exactly once. It must return soon and not raise.
    subject: whatever the caller knows the task by.
    """

    game: Game
    color: int
    view: int
    params: SearchParams
    on_report: Callable[["Task", Report], None]
    subject: object = None
    visits: int | None = None
    seconds: float | None = None
    wanted: Wanted = field(default_factory=Wanted)
    avoided: Avoided = field(default_factory=dict)
    priority: int = 0
    first_report: float | None = None
    report_every: float | None = None
    given_up: threading.Event = field(default_factory=threading.Event)
