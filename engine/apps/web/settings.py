"""What a game at the table begins with."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.handicap import fixed_handicap_points, max_fixed_handicap
from engine.records.sgf import Record
from engine.rules import MOST_KOMI, is_komi, parse_rules, preset_name
from engine.settings.levels import FULL_LEVEL
from engine.settings.option_types import parse_size

RULES = ("chinese", "japanese", "aga", "new-zealand", "tromp-taylor")
"""Rule sets that the page offers."""
FIELDS = ("size", "komi", "rules", "handicap", "black", "white", "seconds", "level")
"""What a page may say of a game."""
LONGEST = 3600
"""Seconds of a move."""


class Sitting(StrEnum):
    """Who plays a color."""

    PERSON = "person"
    ENGINE = "engine"


@dataclass(frozen=True)
class GameSettings:
    """A new game: its board, its rules and who plays which color.

    seconds: a move of the engine's, None for what it takes by itself. level: of the engine's moves, if it has levels.
    people: their names, where they are known. about: what a record that was opened says of the game besides, None of a
    game that begins here.
    """

    width: int = 19
    height: int = 19
    komi: float = 7.5
    rules: str = "chinese"
    handicap: int = 0
    sittings: dict[int, Sitting] = field(default_factory=lambda: {BLACK: Sitting.PERSON, WHITE: Sitting.ENGINE})
    seconds: float | None = None
    level: int = FULL_LEVEL
    people: dict[int, str] = field(default_factory=dict)
    about: Mapping[str, str] | None = None

    def new_game(self) -> Game:
        """Return the game before its first move. Raises GoError for what cannot be."""
        if not is_komi(self.komi):
            raise GoError(f"expected a komi of whole or half points, at most {MOST_KOMI:g}, got {self.komi}")
        game = Game(self.width, self.height, rules=parse_rules(self.rules), komi=self.komi)
        if self.handicap:
            most = max_fixed_handicap(self.width, self.height)
            if not 2 <= self.handicap <= most:
                raise GoError(f"expected a handicap of 0, or of 2 to {most} stones, got {self.handicap}")
            game.place_handicap(fixed_handicap_points(self.handicap, self.width, self.height))
        return game


def recorded(record: Record, game: Game, before: GameSettings) -> GameSettings:
    """Return the settings of a game that was read from a record, at which people sit now."""
    return replace(
        before,
        width=game.width,
        height=game.height,
        komi=game.komi,
        rules=preset_name(game.rules) or game.rules.to_json(),
        handicap=0,
        sittings={BLACK: Sitting.PERSON, WHITE: Sitting.PERSON},
        people={BLACK: record.black, WHITE: record.white},
        about=record.about,
    )


def read_settings(fields: dict[str, Any], before: GameSettings) -> GameSettings:
    """Return settings with the fields that a page sends; others stay as before. Raises GoError for nonsense."""
    changes: dict[str, Any] = {}
    try:
        for name, given in fields.items():
            match name:
                case "size":
                    changes["width"], changes["height"] = parse_size(given)
                case "komi":
                    changes["komi"] = float(given)
                case "handicap":
                    changes["handicap"] = int(given)
                case "rules":
                    changes["rules"] = str(given)
                case "seconds":
                    changes["seconds"] = _read_seconds(given)
                case "level":
                    changes["level"] = _read_level(given)
                case "black" | "white":
                    color = BLACK if name == "black" else WHITE
                    changes["sittings"] = changes.get("sittings", before.sittings) | {color: Sitting(given)}
                case _:
                    raise GoError(f"expected {', '.join(FIELDS)}, got {name}")
    except (TypeError, ValueError, OverflowError) as error:
        raise error if isinstance(error, GoError) else GoError(f"{name} cannot be read: {error}") from error
    return replace(before, **changes)


def _read_seconds(given: Any) -> float | None:
    if given in (None, ""):
        return None
    seconds = float(given)
    if not 0 < seconds <= LONGEST:
        raise GoError(f"expected more than 0 and at most {LONGEST} seconds a move, got {given}")
    return seconds


def _read_level(given: Any) -> int:
    level = int(given)
    if not 1 <= level <= FULL_LEVEL:
        raise GoError(f"expected a level from 1 to {FULL_LEVEL}, got {given}")
    return level
