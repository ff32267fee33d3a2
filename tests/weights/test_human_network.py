"""The network that imitates people: how it was made, that it knows ranks apart, and that it foresees people's moves."""

import json
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner

import keima
from engine.evaluators.factory import Computing, open_network
from tests.positions import batch_of, evaluated, random_game
from tests.shared import require_shared
from weights.registry import load
from weights.shipped import SHIPPED_NETWORKS

HUMAN = SHIPPED_NETWORKS / "keima-human9.safetensors"


def test_it_is_small_and_says_how_it_was_made() -> None:
    assert HUMAN.stat().st_size < 4 << 20
    spec = load(HUMAN)
    assert (spec.name, spec.encoder, spec.metadata) == (HUMAN.stem, "katago-v7", 192)
    assert dict(spec.provenance) == {
        "made by": "keima 0.1.0 train",
        "samples": "256000",
        "started from": "keima-t7c96",
        "steps": "4000",
    }


def test_people_of_other_ranks_play_other_moves() -> None:
    batch, policies = batch_of([random_game(seed, 9, 9, moves=20) for seed in range(8)]), []
    for rank in ("rank_9k", "rank_4d"):
        with closing(open_network(HUMAN.stem, Computing(precision="fp32", threads=1), rank).evaluator) as evaluator:
            policies.append(evaluated(evaluator, batch).policy[:8].copy())
    weaker, stronger = policies
    assert np.abs(weaker - stronger).sum(axis=1).mean() > 0.1


def test_it_foresees_more_moves_of_people_on_9x9_than_the_default_network() -> None:
    pytest.importorskip("torch")
    records = require_shared("games/ogs9_10k_plus.sgfl.bz2")
    options = ["--against", "keima-t7c96", "--records", str(records), "--games", "8", "--precision", "fp32", "--json"]
    result = CliRunner().invoke(keima.main, ["train", "test", HUMAN.stem, *options, "--threads", "1"])
    assert result.exit_code == 0, result.output
    total = json.loads(result.stdout)["total"]
    assert total["positions"] == 340
    assert total["gain"] > 0.01  # 0.026 there, 0.045 in 530 games
