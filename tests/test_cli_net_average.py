"""`keima net average`: what it makes of networks, and which it refuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import keima
from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import tensors
from weights import native
from weights.registry import load


def invoke(*arguments: str | Path) -> Result:
    """Run `keima net average` in this process."""
    return CliRunner().invoke(keima.main, ["net", "average", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Write two networks of one architecture and return their paths."""
    paths = [tmp_path / "one.safetensors", tmp_path / "two.safetensors"]
    for seed, path in enumerate(paths):
        native.write(random_spec(2, 8, ENCODERS["katago-v7"], seed), path)
    return paths


def test_every_number_is_the_mean_by_shares(files: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "mean.safetensors"
    result = invoke(target, *files, "--share", "3", "--share", "1")
    assert result.exit_code == 0, result.output
    assert "0.75 random-b2c8-0, 0.25 random-b2c8-1" in result.output
    mean, one, two = (dict(tensors(load(path))) for path in (target, *files))
    assert load(target).name == "mean"
    for path, array in mean.items():
        np.testing.assert_allclose(array, 0.75 * one[path] + 0.25 * two[path], rtol=1e-6, atol=1e-8)


def test_a_network_averaged_with_itself_is_itself(files: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "same.safetensors"
    assert invoke(target, files[0], files[0], files[0]).exit_code == 0
    for (path, mean), (_, own) in zip(tensors(load(target)), tensors(load(files[0])), strict=True):
        np.testing.assert_allclose(mean, own, rtol=1e-6, err_msg=path)


def test_other_architectures_are_refused(files: list[Path], tmp_path: Path) -> None:
    wide, boards = tmp_path / "wide.safetensors", tmp_path / "boards.safetensors"
    native.write(random_spec(2, 16, ENCODERS["katago-v7"], 1), wide)
    native.write(replace(load(files[1]), board_sizes=(9, 9)), boards)
    for other, reason in ((wide, "blocks.0.conv1.weight"), (boards, "have different architectures")):
        result = invoke(tmp_path / "out.safetensors", files[0], other)
        assert result.exit_code == 1
        assert reason in result.output
    assert not (tmp_path / "out.safetensors").exists()


@pytest.mark.parametrize("shares", ["1", "1 0", "1 -1", "1e308 1e308", "1 1 1"])
def test_shares_must_be_one_for_each_positive_and_of_a_finite_sum(
    files: list[Path], tmp_path: Path, shares: str
) -> None:
    options = [word for share in shares.split() for word in ("--share", share)]
    result = invoke(tmp_path / "out.safetensors", *files, *options)
    assert result.exit_code == 1
    assert "expected 2 shares above 0 of a finite sum" in result.output


@pytest.mark.parametrize("share", ["nan", "inf"])
def test_a_share_that_is_not_finite_is_refused(files: list[Path], tmp_path: Path, share: str) -> None:
    result = invoke(tmp_path / "out.safetensors", *files, "--share", "1", "--share", share)
    assert result.exit_code == 2
    assert f"'--share': expected a number, got '{share}'" in result.output


def test_the_average_can_be_a_file_of_katago(files: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "mean.bin.gz"
    assert invoke(target, *files).exit_code == 0
    assert (load(target).format, load(target).name) == ("katago", "mean")
    assert "no format goes by this name" in invoke(tmp_path / "mean.net", *files).output


def test_a_file_is_replaced_only_on_request(files: list[Path]) -> None:
    before = files[1].read_bytes()
    assert "exists already" in invoke(files[1], *files).output
    assert files[1].read_bytes() == before
    assert invoke(files[1], *files, "--force").exit_code == 0
    assert files[1].read_bytes() != before


def test_what_katagos_format_cannot_hold_is_said(files: list[Path], tmp_path: Path) -> None:
    result = invoke(tmp_path / "new" / "mean.bin.gz", *files, "--name", "mean 2")
    assert result.exit_code == 0, result.output
    assert "name: mean-2 (KataGo's names are letters, digits, - and _)" in result.output
    assert "left out, as KataGo's format has no place for it: average of, made by" in result.output
