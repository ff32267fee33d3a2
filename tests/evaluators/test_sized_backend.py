"""Boards of a size are computed by the network with its statistics, all others by that of all sizes."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.encoders import ENCODERS
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import program_of
from engine.evaluators import backends
from engine.evaluators.backends import network_evaluator
from engine.evaluators.factory import Computing, open_network
from engine.evaluators.measured_choice import Measurement, remember
from engine.evaluators.named import network_identity
from engine.evaluators.network import NetworkEvaluator, Slot
from engine.evaluators.sized_backend import SizedBackend
from engine.nets.random import random_spec
from engine.nets.spec import NetSpec, WeightsError
from tests.evaluators.naive_backend import NaiveBackend, assert_close, evaluated
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


class _Held(NaiveBackend):
    """Computes once its gate is open, one size's calls in the same slots. most: calls that were in it at a time."""

    def __init__(self, spec: NetSpec) -> None:
        super().__init__(spec)
        self.gate, self.entered, self.inside, self.most = threading.Event(), threading.Event(), 0, 0
        self._made: dict[tuple[int, int], Sequence[Slot]] = {}

    def slots(self, width: int, height: int) -> Sequence[Slot]:
        if (width, height) not in self._made:
            self._made[width, height] = super().slots(width, height)
        return self._made[width, height]

    def infer(self, slot: Slot, count: int) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        assert self.gate.wait(60)
        super().infer(slot, count)
        self.inside -= 1


def test_calls_that_are_still_computed_keep_their_slots_when_other_sizes_come_between() -> None:
    held = _Held(OF_ALL)
    evaluator = NetworkEvaluator(OF_ALL, SizedBackend(held, {(7, 7): OF_SEVEN}, NaiveBackend))
    threads = [threading.Thread(target=evaluated, args=(evaluator, _positions(5, 5))) for _ in range(2)]
    threads[0].start()
    assert held.entered.wait(60)
    evaluated(evaluator, _positions(7, 7))
    threads[1].start()
    threads[1].join(0.3)
    assert held.most == 1
    held.gate.set()
    for thread in threads:
        thread.join()
    evaluator.close()


@pytest.mark.parametrize(
    ("own", "what"),
    [
        (random_spec(1, 4, ENCODERS["liberties"], 1, head_channels=2), "encoder"),
        (replace(OF_SEVEN, board_sizes=(9, 9)), "is not for 7x7"),
        (replace(OF_SEVEN, value=replace(OF_SEVEN.value, ownership=None)), "ownership"),
    ],
    ids=["inputs", "boards", "outputs"],
)
def test_a_network_for_a_size_that_reads_or_answers_otherwise_is_refused(own: NetSpec, what: str) -> None:
    with pytest.raises(WeightsError, match=what):
        network_evaluator(OF_ALL, "numba", "fp32", 1, sized={(7, 7): own})


def test_single_sizes_are_computed_as_the_network_of_all_sizes_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEIMA_CACHE", str(tmp_path))
    remember(OF_ALL, 1, Measurement("9x9", {("openvino", "fp32"): 200.0}))
    made = []

    def create(spec: NetSpec, pair: tuple[str, str], threads: object) -> NaiveBackend:
        made.append(pair)
        backend = NaiveBackend(spec)
        backend.name = "openvino-cpu-fp32"
        return backend

    monkeypatch.setattr(backends, "backend_of", create)
    evaluator = network_evaluator(OF_ALL, threads=1, sized=SIZED)
    evaluated(evaluator, _positions(7, 7))
    evaluator.close()
    assert made == [("openvino", "fp32")] * 2


def test_single_sizes_add_the_memory_of_one_board_each() -> None:
    alone, sized = (network_evaluator(OF_ALL, "numba", "fp32", 1, sized=each) for each in ({}, SIZED))
    added = sized.model_bytes - alone.model_bytes
    assert 0 < added < alone.model_bytes / 10
    alone.close()
    sized.close()


def test_a_run_goes_on_with_the_same_networks_for_single_sizes_only(tmp_path: Path) -> None:
    file = tmp_path / "net.safetensors"
    native.write(OF_ALL, file)
    alone = network_identity(file)
    write_sized(file, OF_ALL.name, {(7, 7): OF_SEVEN})
    with_seven = network_identity(file)
    write_sized(file, OF_ALL.name, {(7, 7): OF_OBLONG})
    assert len({alone, with_seven, network_identity(file)}) == 3
