"""Golden records: positions that another engine judged, with its answers, as gzipped JSON.

Reads the files and plays their moves; comparing is `engine.apps.net.golden`'s. A record has `size`,
`rules` (a name or an object, as `kata-set-rules` takes them), `komi`, `handicap` points and `moves`.
"""

import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from engine.color import BLACK, WHITE, for_color
from engine.encoders.game_positions import write_position
from engine.encoders.human import human_metadata
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.handicap import fixed_handicap_points
from engine.rules import TROMP_TAYLOR, Rules, parse_rules
from engine.support.json_text import json_text
from engine.vertex import format_vertex, parse_vertex

Golden: TypeAlias = Mapping[str, Any]
COLORS = {"B": BLACK, "W": WHITE}
_LEELA_SIZE = 19


def read_golden(path: str | Path) -> Golden:
    """Return the contents of one file. Raises GoError on a file that is none, OSError."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            data = json.load(file)
    except (gzip.BadGzipFile, zlib.error, EOFError, ValueError, RecursionError) as error:
        raise GoError(f"{path}: no golden file: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("records"), list):
        raise GoError(f"{path}: no golden file: no records")
    return data


def rules_of(value: object) -> Rules:
    """Return the rules of a record: a name or an object, as `kata-set-rules` takes them."""
    return parse_rules(value if isinstance(value, str) else json_text(value))


def play_record(record: Golden, *, rules: Rules = TROMP_TAYLOR, encore: bool = False, lenient: bool = False) -> Game:
    """Return the game that a record's handicap and moves lead to."""
    width, height = record["size"]
    game = Game(width, height, rules=rules, komi=record["komi"], encore=encore)
    if record.get("handicap"):
        game.place_handicap([parse_vertex(name, width, height) for name in record["handicap"]])
    for color, name in record["moves"]:
        game.play(COLORS[color], parse_vertex(name, width, height), lenient=lenient)
    return game


def game_of_record(record: Golden) -> Game:
    """Return the game of a record, in the state that its moves lead to.

    Records of Leela Zero name no size, rules and komi, and handicap stones only by number.
    """
    if "size" not in record:
        record = {**record, "size": [_LEELA_SIZE] * 2, "komi": 7.5, "handicap": _fixed_names(record["handicap"])}
    encore = record.get("prevent_encore") is False
    rules = rules_of(record["rules"]) if "rules" in record else TROMP_TAYLOR
    return play_record(record, rules=rules, encore=encore, lenient=True)


def positions_of(record: Golden, rows: int = 1) -> PositionBatch:
    """Return a record's position, its color to move, in each row of a batch; symmetry and optimism are 0."""
    game = game_of_record(record)
    color = COLORS[record["to_move"]]
    positions = PositionBatch(rows, game.width, game.height)
    for row in range(rows):
        write_position(game, color, positions, row)
    favored = COLORS.get(record.get("pda_player", "E"), color)
    doubling = float(record.get("pda") or 0.0)
    positions.playout_doubling = for_color(doubling, favored)
    if record.get("human_profile"):
        positions.metadata = human_metadata(record["human_profile"], game.width, game.height)
    return positions


def _fixed_names(handicap: int) -> list[str]:
    """Return the points of a fixed handicap, none for 0."""
    points = fixed_handicap_points(handicap, _LEELA_SIZE, _LEELA_SIZE) if handicap else []
    return [format_vertex(point, _LEELA_SIZE, _LEELA_SIZE) for point in points]
