"""The network that imitates people: how it was made, that it knows ranks apart, and that it foresees people's moves."""

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import keima
from engine.errors import GoError
from engine.evaluators.factory import Computing, open_network, open_unprofiled
from engine.nets.spec import FLATTER_BELOW, PEOPLE, WEAKEST_PEOPLE
from engine.settings.levels import KnownPeople
from tests.positions import batch_of, evaluated, random_game
from tests.shared import require_shared
from weights import native
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
        "weakest people": "10k",
        "flatter below": "5k",
    }


def test_its_people_are_known_to_sessions_and_kept_by_what_is_made_of_it(tmp_path: Path) -> None:
    network = open_unprofiled(HUMAN, Computing(precision="fp32", threads=1))
    assert network.facts.people == KnownPeople("10k", "5k")
    network.evaluator.close()
    convert, average = tmp_path / "convert.safetensors", tmp_path / "average.safetensors"
    people = ["--weakest-people", "15k", "--flatter-below", "1d"]
    for command in (["convert", HUMAN, convert, *people], ["average", average, convert, HUMAN]):
        assert CliRunner().invoke(keima.main, ["net", *map(str, command)]).exit_code == 0
    assert load(convert).provenance == {**load(HUMAN).provenance, WEAKEST_PEOPLE: "15k", FLATTER_BELOW: "1d"}
    assert {entry: load(average).provenance[entry] for entry in PEOPLE} == {WEAKEST_PEOPLE: "15k", FLATTER_BELOW: "1d"}


def test_weakest_people_of_no_rank_are_refused_and_those_of_other_networks_too(tmp_path: Path) -> None:
    odd = tmp_path / "odd.safetensors"
    native.write(replace(load(HUMAN), provenance={WEAKEST_PEOPLE: "30k"}), odd)
    with pytest.raises(GoError, match=r"odd.safetensors: weakest people: not a rank: '30k'; expected one such as 10k"):
        open_unprofiled(odd, Computing(precision="fp32", threads=1))
    for source, target, reason in (
        ("keima-t7c96", "x.safetensors", "keima-t7c96 is not a human network: --weakest-people does not apply"),
        ("keima-human9", "x.bin.gz", "--weakest-people is for files in Keima's format"),
    ):
        command = ["net", "convert", source, str(tmp_path / target), "--weakest-people", "9k"]
        result = CliRunner().invoke(keima.main, command)
        assert (result.exit_code, reason in result.output) == (1, True)
        assert not (tmp_path / target).exists()


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
