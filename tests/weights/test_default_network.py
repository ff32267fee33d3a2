"""The networks that play every board: which one where none is named, on which boards, and where they can go."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.apps.net.canaries import won_by_black
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.factory import Computing, make_evaluator
from engine.evaluators.network import NetworkEvaluator
from engine.nets.random import random_spec
from engine.nets.spec import tensors
from weights.registry import load
from weights.shipped import DEFAULT_NETWORK, SHIPPED_NETWORKS

ROOT = Path(__file__).resolve().parents[2]
LARGEST_FILE = 8 << 20
"""Bytes: what everyone downloads."""
CONVOLUTIONS = SHIPPED_NETWORKS / "keima-b6c96.safetensors"
both_networks = pytest.mark.parametrize("network", [DEFAULT_NETWORK, CONVOLUTIONS], ids=lambda path: path.stem)


@both_networks
def test_it_is_small_and_says_how_it_was_made(network: Path) -> None:
    assert network.stat().st_size < LARGEST_FILE
    spec = load(network)
    assert (spec.name, spec.encoder, spec.channels) == (network.stem, "katago-v7", 96)
    assert spec.provenance.keys() == {"made by", "average of"}


def test_the_trunk_of_the_default_network_is_one_that_training_begins_with() -> None:
    spec, new = load(DEFAULT_NETWORK), random_spec(7, 96, ENCODERS["katago-v7"], 1, transformer=True)
    kinds, expected = ([type(block) for block in each.blocks] for each in (spec, new))
    assert kinds == expected
    shapes, expected_shapes = (
        {path: array.shape for path, array in tensors(each) if path.startswith("blocks.")} for each in (spec, new)
    )
    assert shapes == expected_shapes


def test_it_plays_where_no_network_is_named() -> None:
    command = [sys.executable, str(ROOT / "keima.py"), "--visits", "2", "--size", "9"]
    lines = "kata-get-models\ngenmove b\nquit\n"
    ran = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=300)
    models, move = ran.stdout.split("\n\n")[:2]
    assert json.loads(models.removeprefix("= "))[0]["internalName"] == DEFAULT_NETWORK.stem
    assert move.startswith("= ")


@both_networks
def test_it_knows_what_every_trained_network_knows(network: Path) -> None:
    pytest.importorskip("torch")
    result = CliRunner().invoke(keima.main, ["net", "check", str(network), "--backend", "torch"])
    assert result.exit_code == 0, result.output


@both_networks
def test_it_becomes_a_file_of_katago(network: Path, tmp_path: Path) -> None:
    target = tmp_path / "keima.bin.gz"
    result = CliRunner().invoke(keima.main, ["net", "convert", str(network), str(target)])
    assert result.exit_code == 0, result.output
    assert load(target).format == "katago"


@pytest.fixture(scope="module", params=[DEFAULT_NETWORK, CONVOLUTIONS], ids=lambda path: path.stem)
def evaluator(request: pytest.FixtureRequest) -> Iterator[NetworkEvaluator]:
    """Evaluate a network exactly, on one thread."""
    evaluator = make_evaluator(load(request.param), Computing(precision="fp32", threads=1))
    yield evaluator
    evaluator.close()


@pytest.mark.parametrize("side", range(7, 20))
def test_it_knows_who_has_won_on_every_board_from_7_to_19(side: int, evaluator: NetworkEvaluator) -> None:
    positions, out = PositionBatch(1, side, side), Evaluation(1, side, side)
    for setup in (won_by_black(side), won_by_black(side).exchanged()):
        game = setup.game()
        write_position(game, game.to_play, positions, 0)
        evaluator.evaluate(positions, 1, out)
        assert out.value[0] > 0.9
        assert out.score[0] > 0.5 * side
