"""The slow count, and which records are games to be judged by: the comparison itself needs a network and minutes."""

from collections import Counter
from pathlib import Path

import pytest

from engine.rules import CHINESE, CHINESE_KGS, JAPANESE, Rules
from engine.vertex import parse_vertex
from tests.positions import game_from_diagram
from tests.scores.count import literal_score, neutral_points
from tests.scores.games import by_area, by_territory, recorded_games

DEAD_STONE = """
. X O . .
O X O . .
. X O . .
. X . O .
. X O . .
"""
"""White's A4 is dead, and as long as it stands no empty point is Black's; C2 lies between the colors."""
SEKI = ". . X . O ."
MOVES = "B[dd];W[];B[]"
HEADS = {
    "taken": "SZ[9]KM[6.5]RU[Japanese]RE[B+73.5]",
    "other rules": "SZ[9]KM[6.5]RU[Chinese]RE[B+74.5]",
    "komi is not told": "SZ[9]RU[Japanese]RE[B+73.5]",
    "the margin cannot be had with the komi": "SZ[9]KM[6.5]RU[Japanese]RE[B+73]",
    "board smaller than 7x7": "SZ[5]KM[6.5]RU[Japanese]RE[B+17.5]",
    "other setup than handicap": "SZ[9]KM[6.5]RU[Japanese]RE[B+73.5]AW[aa]",
}


def stones(text: str, size: int = 5) -> list[int]:
    return [parse_vertex(name, size, size) for name in text.split()]


@pytest.mark.parametrize(
    ("rules", "dead", "expected"),
    [
        (CHINESE, "A4", (5 + 5) - (5 + 9)),
        (CHINESE, "", 5 - (6 + 9)),
        (JAPANESE, "A4", (5 + 1) - 9),
        (JAPANESE, "", 0 - 9),
    ],
)
def test_the_slow_count_takes_dead_stones_off_and_counts_what_is_left(rules: Rules, dead: str, expected: int) -> None:
    game = game_from_diagram(DEAD_STONE, rules=rules, komi=0)
    assert literal_score(game, stones(dead), ()) == expected
    assert neutral_points(game, stones("A4")) == set(stones("C2"))


@pytest.mark.parametrize(("seki", "expected"), [("", 2 - 1), ("C1", -1), ("C1 E1", 0)])
def test_the_slow_count_gives_nothing_beside_a_seki_under_japanese_rules_alone(seki: str, expected: int) -> None:
    reported = [parse_vertex(name, 6, 1) for name in seki.split()]
    assert literal_score(game_from_diagram(SEKI, rules=JAPANESE, komi=0), (), reported) == expected
    assert literal_score(game_from_diagram(SEKI, rules=CHINESE, komi=0), (), reported) == 3 - 2


def test_a_record_is_left_out_for_what_it_says_and_the_reason_is_counted(tmp_path: Path) -> None:
    lines = [f"(;GM[1]{head};B[{chr(97 + place)}c];{MOVES})" for place, head in enumerate(HEADS.values())]
    lines += [f"(;GM[1]{HEADS['taken']};B[gg];W[])", lines[0], f"(;GM[1]{HEADS['taken']};B[ee];W[ee];B[];W[])"]
    path = tmp_path / "some.sgfl"
    path.write_text("\n".join([*lines, "(;GM[1]SZ[9]RE[B+R];B[aa])"]))
    left_out: Counter[str] = Counter()
    (taken,) = recorded_games(path, by_territory, left_out)
    assert (taken.score, taken.dead, taken.game.move_number) == (73.5, None, 4)
    others = {"does not end with two passes", "played twice", "cannot be played"}
    assert left_out == dict.fromkeys((HEADS.keys() - {"taken"}) | others, 1)


def test_games_called_chinese_forbid_repetition_as_servers_do() -> None:
    assert (by_area(CHINESE), by_area(JAPANESE)) == (CHINESE_KGS, None)
    assert (by_territory(CHINESE), by_territory(JAPANESE)) == (None, JAPANESE)
