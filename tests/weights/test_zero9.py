"""The network that learned 9x9 from nothing: small, found by its name, and it knows what it has learned."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.apps.net.canaries import won_by_black
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.finding import find_network
from engine.evaluators.network import NetworkEvaluator
from engine.game import Game
from engine.rules import parse_rules
from weights.registry import load

ROOT = Path(__file__).resolve().parents[2]
SIDE = 9


@pytest.fixture(scope="module")
def evaluator() -> Iterator[NetworkEvaluator]:
    """Evaluate the network exactly, on one thread."""
    evaluator = make_evaluator(load(find_network("zero9")), Computing(precision="fp32", threads=1))
    yield evaluator
    evaluator.close()


def evaluated(evaluator: NetworkEvaluator, game: Game) -> Evaluation:
    positions, out = PositionBatch(1, SIDE, SIDE), Evaluation(1, SIDE, SIDE)
    write_position(game, game.to_play, positions, 0)
    evaluator.evaluate(positions, 1, out)
    return out


def test_it_is_small_and_began_as_random_weights() -> None:
    file = find_network("zero9")
    spec = load(file)
    assert file.stat().st_size < 1 << 20
    assert (spec.name, len(spec.blocks), spec.channels) == ("zero9", 4, 48)
    assert spec.provenance["started from"] == "gen-0000"


def test_it_plays_by_its_name() -> None:
    command = [sys.executable, str(ROOT / "keima.py"), "--net", "zero9", "--visits", "2", "--size", str(SIDE)]
    ran = subprocess.run(command, input="genmove b\nquit\n", capture_output=True, text=True, timeout=300)
    assert ran.stdout.startswith("= "), ran.stderr


def test_it_takes_the_rules_of_every_game_for_those_that_it_learned_from(evaluator: NetworkEvaluator) -> None:
    games = [
        Game(SIDE, rules=parse_rules(rules), komi=7) for rules in ("tromp-taylor", "chinese", "chinese-kgs", "aga")
    ]
    values = [float(evaluated(evaluator, game).value[0]) for game in games]
    assert values == pytest.approx([values[0]] * len(games), abs=1e-5)
    assert load(find_network("zero9")).provenance["known rules"] == "tromp-taylor"


def test_it_knows_who_has_won(evaluator: NetworkEvaluator) -> None:
    for setup in (won_by_black(SIDE), won_by_black(SIDE).exchanged()):
        out = evaluated(evaluator, setup.game())
        assert out.value[0] > 0.9
        assert out.score[0] > 0.5 * SIDE


def test_it_begins_in_the_middle(evaluator: NetworkEvaluator) -> None:
    policy = evaluated(evaluator, Game(SIDE)).policy[0, :-1].reshape(SIDE, SIDE)
    assert policy[2:7, 2:7].sum() > 0.8
