"""Proofs of problems on a board: what they say over GTP, JSON and `keima solve`, and when there is none."""

import io
import json
from pathlib import Path

import pytest

from engine.apps.solve.cli import cli_solve
from engine.apps.solve.proof import Proof, prove
from engine.apps.solve.settings import SolveSettings
from engine.color import BLACK, EMPTY, WHITE
from engine.evaluators.named import NamedEvaluator
from engine.game import Game
from engine.search.params import SearchParams
from engine.vertex import format_sgf, format_vertex, points
from tests.apps.solve.problems import write
from tests.diagrams import parse_diagram
from tests.gtp.talk import ask, new_state
from tests.json_analysis.talk import answers, query
from tests.search.fakes import FakeEvaluator

STRAIGHT_THREE = """
. . . X O . . . . . .
X X X X O . . . . . .
O O O O O . . . . . .
"""
STRAIGHT_FOUR = """
. . . . X O . . . . .
X X X X X O . . . . .
O O O O O O . . . . .
"""
STRAIGHT_TWO = """
. . X O . . . . . . .
X X X O . . . . . . .
O O O O . . . . . . .
"""
KO = """
. O . X O . . . . . .
X . X X O . . . . . .
O X X O O . . . . . .
O O O O . . . . . . .
"""
"""Black's second eye is a ko."""
UNSURROUNDED = """
. . . X . . . . . . .
X X X X O . . . . . .
O O O O O . . . . . .
"""


def board(text: str) -> Game:
    """Return the rows at the top of an 11x11 board."""
    rows = text.strip().splitlines()
    drawn = parse_diagram("\n".join([*rows, *[". " * 11] * (11 - len(rows))]))
    made = Game(11)
    made.setup(drawn.black, drawn.white)
    return made


def vertices(proof: Proof) -> list[str]:
    return [format_vertex(vertex, 11, 11) for vertex in proof.line]


@pytest.mark.parametrize(
    ("text", "color", "said", "first"),
    [
        (STRAIGHT_THREE, BLACK, "Black lives, 1 move, no ko", "B11"),
        (STRAIGHT_THREE, WHITE, "Black dies,", "B11"),
        (STRAIGHT_FOUR, WHITE, "Black lives, 2 moves, no ko", None),
        (STRAIGHT_TWO, BLACK, "Black dies, 0 moves, no ko", None),
    ],
)
def test_eye_spaces_live_and_die(text: str, color: int, said: str, first: str | None) -> None:
    proof = prove(board(text), color)
    assert proof is not None
    assert proof.text.startswith(said)
    assert proof.text.endswith("no ko")
    assert first is None or vertices(proof)[0] == first


def test_the_colors_change_places() -> None:
    game = board(STRAIGHT_THREE.translate(str.maketrans("XO", "OX")))
    proof = prove(game, WHITE)
    assert proof is not None
    assert proof.text == "White lives, 1 move, no ko"


@pytest.mark.parametrize("color", [BLACK, WHITE])
def test_nothing_is_proved_that_hangs_on_a_ko_or_an_open_side(color: int) -> None:
    proof = prove(board(KO), color)
    assert proof is None or not proof.lives or color == BLACK
    proof = prove(board(UNSURROUNDED), WHITE)
    assert proof is None, "Black may get out at E11"
    assert prove(Game(11), color) is None


def test_a_ring_stands_on_empty_points_or_on_stones_of_its_color() -> None:
    game = board(STRAIGHT_THREE)
    proof = prove(game, BLACK)
    assert proof is not None
    assert {game.color_at(vertex) for vertex in proof.ring} <= {EMPTY, WHITE}
    assert {format_vertex(vertex, 11, 11) for vertex in proof.ring} >= {"F11", "A8"}


def test_gtp_and_json_tell_the_proof() -> None:
    game, state = board(STRAIGHT_THREE), new_state()
    ask(state, "boardsize 11")
    stones = [("BW"[game.color_at(v) - 1], format_vertex(v, 11, 11)) for v in points(11, 11) if game.color_at(v)]
    for color, name in stones:
        ask(state, f"play {color} {name}")
    assert ask(state, "keima-prove b") == "Black lives, 1 move, no ko: B11"
    assert ask(state, "keima-prove w").startswith("Black dies, ")
    ask(state, "clear_board")
    assert ask(state, "keima-prove") == "no proof"
    assert ask(state, "keima-prove b 3").startswith("?")
    asked = query(boardXSize=11, boardYSize=11, initialStones=[list(each) for each in stones], maxVisits=2, prove=True)
    [found] = answers(asked | {"initialPlayer": "b"})
    proof = found["proof"]
    assert (proof["text"], proof["color"], proof["lives"]) == ("Black lives, 1 move, no ko", "B", True)
    assert proof["line"] == ["B11"]
    assert "F11" in proof["ring"]
    [found] = answers(query(boardXSize=11, boardYSize=11, maxVisits=2, prove=True))
    assert found["proof"] == {"text": "no proof"}
    [found] = answers(query(prove=1))
    assert found["field"] == "prove"


def test_solved_problems_are_counted_with_their_proofs(tmp_path: Path) -> None:
    game = board(STRAIGHT_THREE)
    stones = {
        letter: [format_sgf(vertex, 11) for vertex in points(11, 11) if game.color_at(vertex) == color]
        for color, letter in ((BLACK, "B"), (WHITE, "W"))
    }
    right = {"size": 11, "to_play": "B", **stones, "correct": ["ba"], "id": "right"}
    file = write(tmp_path / "two.jsonl", right, right | {"to_play": "W", "correct": ["aa"], "id": "wrong"})
    out = io.StringIO()
    settings = SolveSettings(file, (1,), prove=True)
    evaluator = NamedEvaluator("fake", "fake", FakeEvaluator())
    cli_solve(settings, lambda: evaluator, SearchParams(max_memory_mib=16), out=tmp_path / "run", stdout=out)
    assert "Proved: 2 of 2 problems, 1 of them by a correct first move; in 0 more" in out.getvalue()
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    by_name = {line["name"]: line for line in lines}
    assert by_name["right"]["proof"] == "Black lives, 1 move, no ko"
    assert by_name["right"]["proof_solves"]
    assert not by_name["wrong"]["proof_solves"]
    assert json.loads((tmp_path / "run" / "summary.json").read_text())["proofs"] == {
        "wins": 2,
        "correct": 1,
        "fails": 0,
    }
