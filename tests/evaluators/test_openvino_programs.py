"""Networks that OpenVINO computes, called by kernels through its C library."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine.evaluation.evaluator import program_of
from engine.evaluators.network import NetworkEvaluator, Precision
from engine.native.closures import FAILED
from tests.evaluators.naive_backend import assert_close, evaluated
from tests.evaluators.test_programs import SPEC, assert_program_answers_alike, empty, run, some_positions
from tests.native_fakes import needs_closures

pytest.importorskip("openvino", reason="openvino is not installed")

import engine.evaluators.openvino_backend as backend_module
from engine.evaluators import memory
from engine.evaluators.openvino_backend import OpenVinoBackend

pytestmark = needs_closures


def openvino_evaluator(precision: Precision = "fp32") -> NetworkEvaluator:
    return NetworkEvaluator(SPEC, OpenVinoBackend(SPEC, precision, threads=2, emulate=True))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_program_answers_as_the_network(precision: Precision) -> None:
    evaluator = openvino_evaluator(precision)
    assert_program_answers_alike(evaluator, some_positions(9, 9), (1, 2, 3, 5, 8))
    evaluator.close()


def test_a_program_waits_for_what_is_not_compiled_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_at_once, go_on = OpenVinoBackend.compile, threading.Event()

    def compile_later(self: OpenVinoBackend, *what: int) -> object:
        assert go_on.wait(20)
        return compile_at_once(self, *what)

    monkeypatch.setattr(OpenVinoBackend, "compile", compile_later)
    evaluator, positions = openvino_evaluator(), some_positions()
    out = empty(positions)
    program = program_of(evaluator, positions, out)
    assert program is not None
    with ThreadPoolExecutor() as pool:
        running = pool.submit(run, program, 3)
        assert not out.policy.any()
        go_on.set()
        assert running.result(timeout=20) == 3
    assert out.policy.any(axis=1).tolist() == [True] * 3 + [False] * 5
    evaluator.close()


def test_a_program_fails_where_the_network_cannot_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenVinoBackend, "compile", lambda *_: 1 / 0)
    evaluator, positions = openvino_evaluator(), some_positions()
    program = program_of(evaluator, positions, empty(positions))
    assert program is not None
    assert run(program, 1) == FAILED
    with pytest.raises(ZeroDivisionError):
        evaluator.evaluate(positions, 1, empty(positions))
    evaluator.close()


def test_boards_that_a_program_waits_for_are_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "OTHER_BOARDS", 0)
    evaluator = openvino_evaluator()
    programs = []
    for width, height in ((5, 5), (9, 7), (6, 5)):
        positions = some_positions(width, height)
        programs.append((program_of(evaluator, positions, empty(positions)), positions))
    for program, _ in programs:
        assert program is not None
        assert run(program, 8) == 8
    evaluator.close()


def test_without_the_c_library_python_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    positions = some_positions()
    expected = evaluated(openvino_evaluator(), positions)
    monkeypatch.setattr(backend_module, "has_c_library", lambda: False)
    evaluator = openvino_evaluator()
    assert program_of(evaluator, positions, empty(positions)) is None
    assert_close(evaluated(evaluator, positions), expected, 1e-6)
    evaluator.close()
