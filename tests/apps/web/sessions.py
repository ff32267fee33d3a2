"""Small game sessions for tests, and short names for commands and queries."""

from pathlib import Path
from typing import Any

from engine.apps.web.game_session import GameSession
from engine.apps.web.settings import GameSettings, PlayerKind
from engine.apps.web.snapshot import Kind, Snapshot, Task
from engine.color import BLACK, WHITE
from engine.programs.answers import AnalysisAnswer, Candidate
from engine.vertex import parse_vertex

PEOPLE = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.PERSON}
ENGINES = {BLACK: PlayerKind.ENGINE, WHITE: PlayerKind.ENGINE}
MIXED = {BLACK: PlayerKind.PERSON, WHITE: PlayerKind.ENGINE}
SIZE = 5


def session(players: dict[int, PlayerKind], folder: Path | None = None, **changes: Any) -> GameSession:
    """Return a session with one connected page."""
    made = GameSession(GameSettings(SIZE, SIZE, players=players, **changes), folder)
    made.page_connected()
    return made


def snapshot(at: GameSession) -> Snapshot:
    return at.snapshot()


def wanted(at: GameSession) -> Kind | None:
    return at.wanted()


def task(at: GameSession) -> Task:
    """Return the next task, which there must be."""
    assert wanted(at) is not None
    found = at.next_task()
    assert found is not None
    return found


def vertex(name: str) -> int:
    return parse_vertex(name, SIZE, SIZE)


def moves(at: GameSession, *names: str) -> None:
    for name in names:
        at.command("play", {"move": name})


def answer(winrate: float = 0.6) -> AnalysisAnswer:
    return AnalysisAnswer((Candidate(vertex("C3"), 10, winrate, 1.5, (vertex("C3"),)),))
