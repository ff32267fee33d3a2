"""Tables for tests: small boards, and short words for what happens at them."""

from pathlib import Path
from typing import Any

from engine.apps.web.facts import Facts, Kind, Task
from engine.apps.web.settings import GameSettings, Sitting
from engine.apps.web.table import Table
from engine.color import BLACK, WHITE
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.vertex import parse_vertex

PEOPLE = {BLACK: Sitting.PERSON, WHITE: Sitting.PERSON}
ENGINES = {BLACK: Sitting.ENGINE, WHITE: Sitting.ENGINE}
MIXED = {BLACK: Sitting.PERSON, WHITE: Sitting.ENGINE}
SIZE = 5


def table(sittings: dict[int, Sitting], folder: Path | None = None, **changes: Any) -> Table:
    """Return a table that somebody looks at."""
    made = Table(GameSettings(SIZE, SIZE, sittings=sittings, **changes), folder)
    made.enter()
    return made


def facts(at: Table) -> Facts:
    return at.facts()


def wanted(at: Table) -> Kind | None:
    return at.wanted()


def task(at: Table) -> Task:
    """Return the next task, which there must be."""
    assert wanted(at) is not None
    found = at.next_task()
    assert found is not None
    return found


def vertex(name: str) -> int:
    return parse_vertex(name, SIZE, SIZE)


def moves(at: Table, *names: str) -> None:
    for name in names:
        at.command("play", {"move": name})


def answer(winrate: float = 0.6) -> AnalysisAnswer:
    return AnalysisAnswer((Candidate(vertex("C3"), 10, winrate, 1.5, (vertex("C3"),)),))
