"""A game that pages show, or the one before it."""

from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from engine.apps.web.game_clock import GameClock
from engine.apps.web.records import GameFile
from engine.apps.web.settings import GameSettings
from engine.apps.web.snapshot import NOTHING, Notice
from engine.apps.web.tree import GameTree
from engine.color import BLACK, WHITE


@dataclass
class OpenGame:
    """One game: its settings, its moves with variations, its file and its clocks. number: differs between games."""

    settings: GameSettings
    tree: GameTree
    file: GameFile
    notice: Notice = NOTHING
    clock: GameClock | None = None
    number: int = field(default_factory=count(1).__next__)

    @property
    def info(self) -> dict[str, str]:
        """Names, ranks, event and so on, by SGF property."""
        settings = self.settings
        names = {"PB": settings.people.get(BLACK, ""), "PW": settings.people.get(WHITE, "")}
        about = {"DT": f"{self.file.began:%Y-%m-%d}"} if settings.about is None else settings.about
        return {key: text for key, text in {**names, **about}.items() if text}


def new_game(settings: GameSettings, folder: Path | None) -> OpenGame:
    """Return a game that begins. folder: it is saved there; None saves nothing. Raises GoError."""
    clock = None if settings.clock is None else GameClock(settings.clock)
    return OpenGame(settings, GameTree(settings.new_game()), GameFile(folder), clock=clock)
