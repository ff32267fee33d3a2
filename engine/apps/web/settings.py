"""The settings of a game at the page."""

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
from engine.settings.table import settings_on
from engine.settings.table.surfaces import FORM

_FORM = settings_on(FORM)
"""What a page may say of a game."""
RULES = (_FORM["rules"].default, "chinese", "japanese", "aga", "new-zealand", "tromp-taylor")
"""Rule sets that the page offers, the default first."""


class Sitting(StrEnum):
    """Who plays a color."""

    PERSON = "person"
    ENGINE = "engine"


@dataclass(frozen=True)
class GameSettings:
    """A new game: its board, its rules and who plays which color.

    seconds: of engine thinking time per move; None lets the engine decide. level: of the engine's moves, if it has
    levels. people: their names, where they are known. about: other facts of a record that was opened, None for a game
    that begins here.
    """

    width: int = _FORM["size"].default[0]
    height: int = _FORM["size"].default[1]
    komi: float = _FORM["komi"].default
    rules: str = _FORM["rules"].default
    handicap: int = _FORM["handicap"].default
    sittings: dict[int, Sitting] = field(
        default_factory=lambda: {BLACK: Sitting(_FORM["black"].default), WHITE: Sitting(_FORM["white"].default)}
    )
    seconds: float | None = _FORM["seconds"].default
    level: int = _FORM["level"].default
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
    """Return settings with the fields that a page sends; others stay as before. Raises GoError naming the field."""
    changes: dict[str, Any] = {}
    for name, given in fields.items():
        if name not in _FORM:
            raise GoError(f"expected {', '.join(_FORM)}, got {name}")
        try:
            value: Any = None if name == "seconds" and given in (None, "") else _FORM[name].read(given)
        except GoError as error:
            raise GoError(f"{name}: {error}") from error
        match name:
            case "size":
                changes["width"], changes["height"] = value
            case "black" | "white":
                color = BLACK if name == "black" else WHITE
                changes["sittings"] = changes.get("sittings", before.sittings) | {color: Sitting(value)}
            case _:
                changes[name] = value
    return replace(before, **changes)
