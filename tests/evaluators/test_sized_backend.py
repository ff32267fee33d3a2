"""Boards of a size are computed by the network with its statistics, all others by that of all sizes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import program_of
from engine.evaluators.backends import network_evaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.network import NetworkEvaluator
from engine.nets.spec import NetSpec
from tests.evaluators.naive_backend import assert_close, evaluated
from tests.evaluators.test_programs import SPEC, needs_closures, needs_lanes, run
from tests.nets.examples import stirred
from tests.positions import batch_of, random_game
from weights import native
from weights.sized import folder_of, packed, read_sized, unpacked, write_sized

OF_ALL = SPEC
OF_SEVEN, OF_OBLONG = (stirred(OF_ALL, np.random.default_rng(seed)) for seed in (1, 2))
SIZED = {(7, 7): OF_SEVEN, (6, 5): OF_OBLONG}
BOARDS = [((7, 7), OF_SEVEN), ((6, 5), OF_OBLONG), ((5, 6), OF_ALL), ((9, 9), OF_ALL), ((7, 7), OF_SEVEN)]
COMPUTING = Computing("numba", "fp32", 1)


def _positions(width: int, height: int) -> object:
    return batch_of([random_game(seed, width, height, moves=12) for seed in range(3)])


def _alone(spec: NetSpec, positions: object) -> Evaluation:
    evaluator = network_evaluator(spec, "numba", "fp32", 1)
    try:
        return evaluated(evaluator, positions)
    finally:
        evaluator.close()


def _check(evaluator: NetworkEvaluator) -> None:
    for (width, height), spec in BOARDS:
        positions = _positions(width, height)
        assert_close(evaluated(evaluator, positions), _alone(spec, positions), 1e-6)


@pytest.mark.parametrize("backend", ["numba", "openvino"])
def test_each_size_is_computed_by_its_network(backend: str) -> None:
    evaluator = network_evaluator(OF_ALL, backend, "fp32", 1, sized=SIZED)
    for (width, height), spec in BOARDS:
        positions = _positions(width, height)
        assert_close(evaluated(evaluator, positions), _alone(spec, positions), 1e-4)
    evaluator.close()


@needs_closures
@needs_lanes
def test_programs_are_those_of_the_sizes_network() -> None:
    evaluator = network_evaluator(OF_ALL, "numba", "fp32", 1, sized=SIZED)
    for (width, height), spec in BOARDS:
        positions = _positions(width, height)
        out = Evaluation(3, width, height)
        program = program_of(evaluator, positions, out)
        assert program is not None
        assert run(program, 3) == 3
        assert_close(out, _alone(spec, positions), 1e-6)
    evaluator.close()


def test_a_file_brings_the_networks_that_belong_to_it(tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    native.write(OF_ALL, file)
    write_sized(file, OF_ALL.name, SIZED)
    network = open_network(file, COMPUTING)
    _check(network.evaluator)
    network.evaluator.close()
    assert network.facts.board_sizes == OF_ALL.board_sizes


def test_a_network_is_sent_with_those_that_belong_to_it(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    native.write(OF_ALL, here / "net.safetensors")
    assert read_sized(unpacked(packed(here / "net.safetensors"), there), OF_ALL.name) == {}
    write_sized(here / "net.safetensors", OF_ALL.name, SIZED)
    file = unpacked(packed(here / "net.safetensors"), there)
    network = open_network(file, COMPUTING)
    _check(network.evaluator)
    network.evaluator.close()


def test_networks_of_a_file_that_was_replaced_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    write_sized(file, OF_ALL.name, SIZED)
    assert set(read_sized(file, OF_ALL.name)) == {(7, 7), (6, 5)}
    native.write(replace(OF_ALL, name="another"), file)
    assert read_sized(file, "another") == {}
    (folder_of(file) / "notes.txt").write_text("no network")
    assert len(read_sized(file, OF_ALL.name)) == 2
