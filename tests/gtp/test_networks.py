"""What a network says over GTP: KataGo's text, line by line, from White's side."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Attributes
from engine.evaluation.positions import PositionBatch
from engine.evaluators.raw import NetworkFacts, RawNetwork
from engine.vertex import MAX_SIZE
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

FACTS = NetworkFacts("nets/small.bin.gz", "small-b1", 8, 16, "fp32", imitates=False)
REPORT = """\
symmetry 3
whiteWin 0.250000
whiteLoss 0.625000
noResult 0.125000
whiteLead -2.500
whiteScoreSelfplay -3.000
whiteScoreSelfplaySq 25.000
varTimeLeft -1.000
shorttermWinlossError 0.500
shorttermScoreError 4.250
policy
0.300000 0.000000 0.100000
0.100000     NAN 0.100000
0.100000 0.100000 0.100000
policyPass 0.100000
whiteOwnership
-0.5000000 -0.5000000 -0.5000000
-0.5000000 -0.5000000 -0.5000000
-0.5000000 -0.5000000 -0.5000000"""


class FixedEvaluator:
    """Answers every position alike, and remembers what it was asked."""

    def __init__(self, *, has_score: bool = True, has_ownership: bool = True) -> None:
        self.attributes = Attributes("fixed", 1, 1, has_score=has_score, has_ownership=has_ownership, has_details=True)
        self.asked: list[tuple[int, int, float]] = []

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write a value in favor of the side to move."""
        assert count == 1
        self.asked.append((int(positions.to_play[0]), int(positions.symmetry[0]), float(positions.optimism[0])))
        area = positions.width * positions.height
        out.policy[0] = 0.1
        out.policy[0, :2] = 0.3, 0.0
        out.value[0], out.no_result[0] = 0.375, 0.125
        out.score[0], out.score_mean[0], out.score_stdev[0] = 2.5, 3.0, 4.0
        out.variance_time[0], out.value_error[0], out.score_error[0] = -1.0, 0.5, 4.25
        out.ownership[0, :area] = 0.5

    def close(self) -> None:
        """Do nothing."""


def session(evaluator: FixedEvaluator, size: int = 3) -> GtpState:
    """Return a session whose player has a network."""
    player = FakePlayer(network=RawNetwork(evaluator, FACTS))
    return new_state(player, SessionConfig(width=size, height=size))


def test_the_report_is_katagos_from_whites_side() -> None:
    evaluator = FixedEvaluator()
    state = session(evaluator)
    ask(state, "play w B2")
    assert ask(state, "kata-raw-nn 3") == REPORT
    assert evaluator.asked == [(BLACK, 3, np.float32(0.2))]
    white = ask(state, "kata-raw-nn w 3").split("\n")
    assert white[1:5] == ["whiteWin 0.625000", "whiteLoss 0.250000", "noResult 0.125000", "whiteLead 2.500"]
    assert white[-1] == "0.5000000 0.5000000 0.5000000"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        ("0", [(BLACK, 0, 0.2)]),
        ("7 1", [(BLACK, 7, 1.0)]),
        ("White 4 0.5", [(WHITE, 4, 0.5)]),
        ("b all 0", [(BLACK, symmetry, 0.0) for symmetry in range(8)]),
        ("ALL", [(BLACK, symmetry, 0.2) for symmetry in range(8)]),
    ],
)
def test_color_and_optimism_may_be_left_out(arguments: str, asked: Sequence[tuple[int, int, float]]) -> None:
    evaluator = FixedEvaluator()
    reply = ask(session(evaluator), f"kata-raw-nn {arguments}")
    assert [line for line in reply.split("\n") if line.startswith("symmetry")] == [f"symmetry {s}" for _, s, _ in asked]
    assert "" not in reply.split("\n")
    assert evaluator.asked == [(color, symmetry, np.float32(weight)) for color, symmetry, weight in asked]


@pytest.mark.parametrize(
    "arguments", ["", "8", "-1", "b", "x 0", "0 2", "0 -0.5", "0 nan", "0 0.5 1", "all all", "1.0"]
)
def test_other_arguments_are_refused(arguments: str) -> None:
    evaluator = FixedEvaluator()
    assert ask(session(evaluator), f"kata-raw-nn {arguments}") == "? syntax error"
    assert evaluator.asked == []


def test_what_a_network_does_not_know_is_not_reported() -> None:
    reply = ask(session(FixedEvaluator(has_score=False, has_ownership=False)), "kata-raw-nn 0")
    assert not [word for word in ("whiteLead", "whiteScore", "whiteOwnership") if word in reply]
    assert "policyPass" in reply


def test_the_game_stays_as_it_is() -> None:
    state = session(FixedEvaluator())
    ask(state, "play b A1")
    before = state.game.copy()
    ask(state, "kata-raw-nn b 0")
    assert (state.game.moves, state.game.to_play) == (before.moves, WHITE)


@pytest.mark.parametrize("size", [2, MAX_SIZE])
def test_every_board_size_has_its_rows(size: int) -> None:
    lines = ask(session(FixedEvaluator(), size), "kata-raw-nn 0").split("\n")
    policy = lines[lines.index("policy") + 1 :]
    assert [len(row.split()) for row in policy[:size]] == [size] * size
    assert len(lines) == 13 + 2 * size


def test_the_models_are_listed_as_katago_does() -> None:
    reply = ask(session(FixedEvaluator()), "kata-get-models")
    assert reply == (
        '[{"internalName":"small-b1","maxBatchSize":16,"name":"nets/small.bin.gz",'
        '"usesHumanSLProfile":false,"usingFP16":"false","version":8}]'
    )
    assert len(json.loads(reply)) == 1


def test_a_board_that_the_network_cannot_play_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    state = new_state(FakePlayer(network=RawNetwork(FixedEvaluator(), replace(FACTS, board_sizes=(5, 9)))))
    ask(state, "genmove b")  # loads the network
    before = ask(state, "showboard")
    assert [ask(state, f"boardsize {size}") for size in (4, 10, "5 13")] == ["? unacceptable size"] * 3
    (tmp_path / "large.sgf").write_text("(;SZ[13];B[cc])")
    assert ask(state, f"loadsgf {tmp_path / 'large.sgf'}") == "? cannot load file"
    assert ask(state, "showboard") == before
    assert ask(state, "boardsize 5 9") == ""


def test_without_a_network_there_is_nothing_to_tell() -> None:
    assert ask(new_state(), "kata-raw-nn 0") == "? no network is loaded"
    assert ask(new_state(), "kata-get-models") == "[]"


def test_a_board_that_the_network_does_not_know_is_a_plain_error() -> None:
    from engine.nets.spec import WeightsError

    class Refusing(FixedEvaluator):
        def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
            raise WeightsError("network small does not support this board", expected="sides of 19", got="3x3")

    reply = ask(session(Refusing()), "kata-raw-nn 0")
    assert reply == "? network small does not support this board, expected sides of 19, got 3x3"


def test_a_search_on_a_board_that_the_network_does_not_know_fails_before_its_reply_begins() -> None:
    player = FakePlayer(network=RawNetwork(FixedEvaluator(), replace(FACTS, board_sizes=(7, 19))))
    state = new_state(player, SessionConfig(width=3, height=3))
    expected = f"? network {FACTS.name} does not support this board, expected sides of 7 to 19, got 3x3"
    assert ask(state, "kata-genmove_analyze b") == ask(state, "lz-genmove_analyze b") == expected
    assert ask(state, "kata-analyze 10") == expected
