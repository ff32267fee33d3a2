"""The settings of a game at the page."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from engine.clock import Kind as TimeKind
from engine.clock import TimeSettings
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.handicap import fixed_handicap_points, max_fixed_handicap, possible_handicaps
from engine.match.clock import parse_clock
from engine.records.sgf import Record
from engine.rules import MOST_KOMI, PRESETS, SERVER_PRESETS, Rules, is_komi, parse_rules, rules_text
from engine.settings.table import settings_on
from engine.settings.table.surfaces import FORM

_FORM = settings_on(FORM)
"""Settings that a page may send, by name."""
_DEFAULT_RULES = _FORM["rules"].default
RULES = (_DEFAULT_RULES, *(name for name in (*PRESETS, *SERVER_PRESETS) if name != _DEFAULT_RULES))
"""Rule sets that the page offers, the default first."""
CLOCKS = (TimeKind.BYOYOMI, TimeKind.FISCHER, TimeKind.ABSOLUTE)
"""Time systems that the page offers, by the first words of their texts."""
_MOST_SECONDS = 1_000_000


_MAY_BE_NONE = ("seconds", "visits", "clock")


class PlayerKind(StrEnum):
    """Who plays a color."""

    PERSON = "person"
    ENGINE = "engine"


@dataclass(frozen=True)
class GameSettings:
    """A new game: its board, its rules and who plays which color.

    seconds, visits: limits of the engine's search for a move; None lets the engine decide. clock: that of both players;
    with a clock, seconds is not used. review_seconds: time for each position of a review. rank: of the engine, if it
    has any.
    people: names by color, where known. about: SGF properties of an opened record; None for a game started here.
    is_record: other people's game, opened from a record; a person of it without a name has none.
    """

    width: int = _FORM["size"].default[0]
    height: int = _FORM["size"].default[1]
    komi: float = _FORM["komi"].default
    rules: str = _FORM["rules"].default
    handicap: int = _FORM["handicap"].default
    players: dict[int, PlayerKind] = field(
        default_factory=lambda: {BLACK: PlayerKind(_FORM["black"].default), WHITE: PlayerKind(_FORM["white"].default)}
    )
    seconds: float | None = _FORM["seconds"].default
    visits: int | None = _FORM["visits"].default
    clock: TimeSettings | None = _FORM["clock"].default
    rank: str = _FORM["rank"].default
    review_seconds: float = _FORM["review_seconds"].default
    people: dict[int, str] = field(default_factory=dict)
    about: Mapping[str, str] | None = None
    is_record: bool = False

    def new_game(self) -> Game:
        """Return the game before its first move. Raises GoError for an invalid komi, rule set, board or handicap."""
        if not is_komi(self.komi):
            raise GoError(f"expected a komi of whole or half points, at most {MOST_KOMI:g}, got {self.komi}")
        game = Game(self.width, self.height, rules=parse_rules(self.rules), komi=self.komi)
        if self.handicap:
            if not 2 <= self.handicap <= max_fixed_handicap(self.width, self.height):
                possible = possible_handicaps(self.width, self.height)
                raise GoError(f"expected a handicap of {possible} on {self.width}x{self.height}, got {self.handicap}")
            game.place_handicap(fixed_handicap_points(self.handicap, self.width, self.height))
        return game


def offered_name(rules: Rules) -> str:
    """Return the name of rules as the page offers them, else another name that is known, else their JSON."""
    offered = (name for name in RULES if parse_rules(name) == rules)
    return next(offered, None) or rules_text(rules)


def recorded(record: Record, game: Game, before: GameSettings) -> GameSettings:
    """Return the settings of a game read from a record; people play both colors."""
    return replace(
        before,
        width=game.width,
        height=game.height,
        komi=game.komi,
        rules=offered_name(game.rules),
        handicap=0,
        players={BLACK: PlayerKind.PERSON, WHITE: PlayerKind.PERSON},
        clock=None,
        people={BLACK: record.black, WHITE: record.white},
        about=record.about,
        is_record=True,
    )


def read_settings(fields: dict[str, Any], before: GameSettings) -> GameSettings:
    """Return `before` changed by the fields that a page sent. Raises GoError naming the field."""
    changes: dict[str, Any] = {}
    for name, given in fields.items():
        if name not in _FORM:
            raise GoError(f"expected {', '.join(_FORM)}, got {name}")
        try:
            is_none = name in _MAY_BE_NONE and given in (None, "")
            value: Any = None if is_none else _FORM[name].read(given)
            if name == "clock" and value is not None:
                value = read_clock(value)
        except GoError as error:
            raise GoError(f"{name}: {error}") from error
        match name:
            case "size":
                changes["width"], changes["height"] = value
            case "black" | "white":
                color = BLACK if name == "black" else WHITE
                changes["players"] = changes.get("players", before.players) | {color: PlayerKind(value)}
            case _:
                changes[name] = value
    return replace(before, **changes)


def read_clock(text: str) -> TimeSettings:
    """Parse a clock such as byoyomi:600+5x30. Raises GoError."""
    try:
        settings = parse_clock(text, CLOCKS)
    except ValueError as error:
        raise GoError(str(error)) from error
    if max(settings.main, settings.period, settings.increment) > _MOST_SECONDS:
        raise GoError(f"expected at most {_MOST_SECONDS} seconds, got {text!r}")
    return settings
