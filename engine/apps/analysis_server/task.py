"""A position to analyze and the reports about it: plain data."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engine.evaluation.evaluation import Evaluation
from engine.game import Game
from engine.search.analysis import Analysis, Wanted
from engine.search.params import SearchParams

Avoided = Mapping[int, Mapping[int, int]]
"""By color and vertex: the depth, in moves from the root, below which the search must not play there."""


@dataclass(frozen=True, eq=False)
class Report:
    """A result, or a partial result, of searching a position.

    analysis: None if the task was cancelled before it had one. root: row 0 has the evaluation of the position itself,
    for the side to move; human: the same by the human network. is_final: the last report of its task. failure: error
    message; "" if there was no error.
    """

    analysis: Analysis | None
    root: Evaluation | None = None
    human: Evaluation | None = None
    is_final: bool = True
    failure: str = ""


@dataclass(eq=False)
class Task:
    """One position to analyze.

    game: must not be changed while the task is open. color: the side to move. view: the color whose view is reported.
    visits, seconds: limits of the search, None for none; without any it runs until it is cancelled.
    priority: higher ones are searched first, in order of submission among equals.
    report_every, first_report: seconds between partial reports, and before the first one; None for no partial reports.
    on_report: called with each report, from any thread, and exactly once with a final one. It must return soon and not
    raise.
    subject: any object that identifies the task to the caller.
    client: who asked for it; clients take turns, and priorities count among the tasks of one client.
    cancelled: set by `AnalysisPool.cancel`.
    """

    game: Game
    color: int
    view: int
    params: SearchParams
    on_report: Callable[["Task", Report], None]
    subject: object = None
    client: object = None
    visits: int | None = None
    seconds: float | None = None
    wanted: Wanted = field(default_factory=Wanted)
    avoided: Avoided = field(default_factory=dict)
    priority: int = 0
    first_report: float | None = None
    report_every: float | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
