"""`keima net convert --known-rules`: a network of one rule set answers under all rules as under these."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click import ClickException
from click.testing import CliRunner

import keima
from engine.encoders import ENCODERS
from engine.encoders.katago import RULE_GLOBALS
from engine.nets.random import random_spec
from weights import native
from weights.sized import files_of, write_sized

MOVES = ("E5", "C3", "G4", "D7", "F6")


def _answer(file: Path, rules: str) -> tuple[float, np.ndarray]:
    with keima.load_network(file, backend="numba", precision="fp32", threads=1) as network:
        game = keima.Game(9, rules=rules, komi=7)
        for move in MOVES:
            game.play(move)
        evaluation = network.evaluate(game)
        return evaluation.winrate, evaluation.policy


def _convert(source: Path, target: Path, rules: str, *options: str) -> str:
    command = ["net", "convert", str(source), str(target), "--known-rules", rules, *options]
    return CliRunner().invoke(keima.main, command, catch_exceptions=False, standalone_mode=False).output


def test_the_answers_under_all_rules_are_those_under_the_known_ones(tmp_path: Path) -> None:
    source, target = tmp_path / "one.safetensors", tmp_path / "all.safetensors"
    native.write(random_spec(2, 8, ENCODERS["katago-v7"], 1), source)
    _convert(source, target, "tromp-taylor")
    value, policy = _answer(source, "tromp-taylor")
    assert abs(_answer(source, "chinese")[0] - value) > 1e-4
    for rules in ("tromp-taylor", "chinese", "aga"):
        found, moves = _answer(target, rules)
        assert found == pytest.approx(value, abs=1e-5)
        np.testing.assert_allclose(moves, policy, atol=1e-5)


def test_networks_of_one_board_size_go_along(tmp_path: Path) -> None:
    source, target = tmp_path / "one.safetensors", tmp_path / "all.safetensors"
    spec, nine = (random_spec(2, 8, ENCODERS["katago-v7"], seed) for seed in (1, 2))
    native.write(spec, source)
    write_sized(source, spec.name, {(9, 9): nine})
    written = native.read(source)
    native.write(written, target)
    write_sized(target, written.name, {(9, 9): spec, (7, 7): spec})
    _convert(source, target, "tromp-taylor", "--force")
    value, _ = _answer(source, "tromp-taylor")
    assert _answer(target, "chinese")[0] == pytest.approx(value, abs=1e-5), "on 9x9 the network of 9x9 answers"
    assert [path.name for path in files_of(target)] == ["9x9.safetensors"], "the one that was there had 7x7, too"
    with pytest.raises(ClickException, match=r"net\.copy: .* has a name that ends in \.safetensors"):
        _convert(source, tmp_path / "net.copy", "tromp-taylor", "--to", "keima")
    assert "no place for them: the statistics of 9x9" in _convert(source, tmp_path / "katago.bin.gz", "tromp-taylor")


def test_net_info_marks_the_inputs_without_effect(tmp_path: Path) -> None:
    source, target = tmp_path / "one.safetensors", tmp_path / "all.safetensors"
    native.write(random_spec(2, 8, ENCODERS["katago-v7"], 1), source)
    _convert(source, target, "tromp-taylor")
    for file, idle in ((source, set[str]()), (target, set(RULE_GLOBALS))):
        shown = CliRunner().invoke(keima.main, ["net", "info", str(file), "--inputs"]).output
        assert set(re.findall(r"global +\d+ +(.*), without effect", shown)) == idle
        printed = CliRunner().invoke(keima.main, ["net", "info", str(file), "--inputs", "--json"]).output
        encoder = json.loads(printed)["encoder"]
        assert {encoder["inputs"]["globals"][index] for index in encoder["globals_without_effect"]} == idle


def test_rules_with_phases_and_networks_that_are_told_no_rules_are_refused(tmp_path: Path) -> None:
    for encoder, rules, reason in (
        ("katago-v7", "japanese", "--known-rules: expected rules with area scoring"),
        ("katago-v7", "aga-button", "--known-rules: expected rules with area scoring and no button"),
        ("liberties", "chinese", "is not told the rules: --known-rules does not apply to inputs liberties"),
    ):
        source = tmp_path / f"{encoder}.safetensors"
        native.write(random_spec(2, 8, ENCODERS[encoder], 1), source)
        with pytest.raises(ClickException, match=reason):
            _convert(source, tmp_path / "out.safetensors", rules)
        assert not (tmp_path / "out.safetensors").exists()
