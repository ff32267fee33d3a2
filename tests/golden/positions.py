"""Golden records as positions that evaluators and encoders read."""

from engine.color import BLACK
from engine.encoders.human import human_metadata
from engine.evaluators.base import PositionBatch, write_position
from engine.game import Game
from engine.handicap import fixed_handicap_points
from engine.rules import TROMP_TAYLOR
from engine.vertex import format_vertex
from tests.golden.records import COLORS, Golden, play_record, rules_of

_LEELA_SIZE = 19


def position_of(record: Golden) -> PositionBatch:
    """Return a record's position, its color to move, in a batch of one row.

    Records of Leela Zero name no size, rules and komi, and handicap stones only by number.
    """
    game = game_of_record(record)
    color = COLORS[record["to_move"]]
    positions = PositionBatch(1, game.width, game.height)
    write_position(game, color, positions, 0)
    favored = COLORS.get(record.get("pda_player", "E"), color)
    doubling = float(record.get("pda") or 0.0)
    positions.playout_doubling = doubling if favored == BLACK else -doubling
    if record.get("human_profile"):
        positions.metadata = human_metadata(record["human_profile"], game.width, game.height)
    return positions


def game_of_record(record: Golden) -> Game:
    """Return the game of a record, in the state that its moves lead to."""
    if "size" not in record:
        record = {**record, "size": [_LEELA_SIZE] * 2, "komi": 7.5, "handicap": _fixed_names(record["handicap"])}
    encore = record.get("prevent_encore") is False
    rules = rules_of(record["rules"]) if "rules" in record else TROMP_TAYLOR
    return play_record(record, rules=rules, encore=encore, lenient=True)


def _fixed_names(handicap: int) -> list[str]:
    """Return the points of a fixed handicap, none for 0."""
    points = fixed_handicap_points(handicap, _LEELA_SIZE, _LEELA_SIZE) if handicap else []
    return [format_vertex(point, _LEELA_SIZE, _LEELA_SIZE) for point in points]
