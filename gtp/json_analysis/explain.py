"""The action "explain" of the analysis protocol: facts of positions and of the moves that led to them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from engine.apps.analysis_server.answer import Asked
from engine.errors import GoError
from gtp.json_analysis.fields import Object
from gtp.json_analysis.query import Warn, parse_query
from gtp.json_analysis.settings import Settings

if TYPE_CHECKING:
    from engine.apps.analysis_server.task import Report, Task
    from engine.apps.explain.searches import Explanation


def explanation_tasks(
    given: Object, settings: Settings, sizes: tuple[int, int], warn: Warn, send: Callable[[Object], None]
) -> "list[Task]":
    """Return the searches for the positions that a query asks to explain. Raises QueryError.

    send: called with the answer for each position, or with an error, when its searches are done.
    """
    from engine.apps.explain.searches import ExplanationSearch

    tasks: list[Task] = []
    for task in parse_query(given, settings, sizes, warn, _ignore):
        assert isinstance(task.subject, Asked)
        tasks += ExplanationSearch(task.game, task.color, partial(_answer, task.subject, send)).tasks(task)
    return tasks


def _ignore(asked: Asked, task: "Task", report: "Report") -> None:
    """Ignore a report; the searches of an explanation have their own callbacks."""


def _answer(asked: Asked, send: Callable[[Object], None], found: "Explanation | GoError | None") -> None:
    from engine.apps.explain.searches import explanation_object

    if isinstance(found, GoError):
        send({"error": str(found), "id": asked.id})
        return
    answer: Object = {"id": asked.id, "action": "explain", "turnNumber": asked.turn, "isDuringSearch": False}
    send(answer | ({"noResults": True} if found is None else explanation_object(found)))
