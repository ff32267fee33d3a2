"""`keima bench --choose` takes int8 by the kernels only where it is faster and changes the answers little."""

import json
from dataclasses import replace

import numpy as np
import pytest

from engine.apps.bench import choose
from engine.apps.bench.choose import cli_choose
from engine.evaluators.kernel_backend import NumbaBackend
from engine.evaluators.measured_choice import Measurement, remember, remembered
from engine.evaluators.network import Backend
from engine.evaluators.rounding_loss import loss_of
from engine.nets.spec import NetSpec, PolicyHead
from tests.nets.examples import EXAMPLES

SPEC = EXAMPLES["softmax silu"]
assert isinstance(SPEC.policy, PolicyHead)
ROUGH = replace(
    SPEC, policy=replace(SPEC.policy, conv2=replace(SPEC.policy.conv2, weight=50 * SPEC.policy.conv2.weight))
)
"""The same network with a policy that is sure of its moves."""


@pytest.fixture
def rounded(monkeypatch: pytest.MonkeyPatch) -> dict[str, NetSpec]:
    """Pretend a machine where the kernels compute in int8, four times as fast; return what they compute then."""
    computed = {"int8": SPEC}
    pairs = [("numba", "fp32"), ("numba", "int8")]

    made: set[tuple[str, str]] = set()

    def create(spec: NetSpec, pair: tuple[str, str], threads: int) -> Backend:
        assert pair not in made, "to build a network takes long"
        made.add(pair)
        return NumbaBackend(computed.get(pair[1], spec), "fp32", threads=1)

    def measured(spec: NetSpec, width: int, height: int, given: dict[tuple[str, str], Backend]) -> Measurement:
        return Measurement("9x9", {pair: 400.0 if pair[1] == "int8" else 100.0 for pair in given})

    monkeypatch.setattr(choose, "load", lambda path: SPEC)
    monkeypatch.setattr(choose, "find_network", lambda name: name)
    monkeypatch.setattr(choose, "cpu_candidates", lambda spec: list(pairs))
    monkeypatch.setattr(choose, "backend_of", create)
    monkeypatch.setattr(choose, "measure", measured)
    monkeypatch.setattr(choose.os, "nice", lambda more: 0)
    return computed


def test_int8_is_chosen_where_it_is_faster_and_loses_little(rounded, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_choose("net", (7, 7), 1, once=False, as_json=False) == 0
    assert "auto takes numba int8" in capsys.readouterr().out
    kept = remembered(SPEC, 1)
    assert kept is not None
    assert kept.best == ("numba", "int8")


def test_int8_that_changes_the_answers_is_not_measured_and_the_reason_is_said(
    rounded, capsys: pytest.CaptureFixture[str]
) -> None:
    rounded["int8"] = ROUGH
    assert cli_choose("net", (7, 7), 1, once=False, as_json=False) == 0
    said, why = capsys.readouterr()
    assert "not int8: on 7x7 it would change winrates by 0.000 and the policy by " in why
    assert "not int8: on 9x9 " in why
    assert "auto takes numba fp32" in said
    assert "numba int8" not in said
    kept = remembered(SPEC, 1)
    assert kept is not None
    assert list(kept.speeds) == [("numba", "fp32")]


def test_once_measures_a_board_that_has_no_measurement_and_no_other(
    rounded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli_choose("net", (9, 9), 1, once=True, as_json=False) == 0
    first = capsys.readouterr().out
    remember(SPEC, 1, Measurement("19x19", {("numba", "fp32"): 1.0}))
    monkeypatch.setattr(choose, "measure", lambda *given: pytest.fail("measured again"))
    assert cli_choose("net", (9, 9), 1, once=True, as_json=False) == 0
    assert capsys.readouterr().out == first
    kept = remembered(SPEC, 1)
    assert kept is not None
    assert kept.board == "9x9"


@pytest.mark.parametrize("measured", [[("numba", "fp32"), ("openvino", "fp16")], [("numba", "int8")]])
def test_once_measures_again_where_other_backends_can_be_had(rounded, measured: list[tuple[str, str]]) -> None:
    remember(SPEC, 1, Measurement("9x9", dict.fromkeys(measured, 1.0)))
    assert cli_choose("net", (9, 9), 1, once=True, as_json=False) == 0
    kept = remembered(SPEC, 1)
    assert kept is not None
    assert list(kept.speeds) == [("numba", "fp32"), ("numba", "int8")]


@pytest.mark.parametrize("is_busy", [False, True])
def test_the_json_is_one_object_whatever_else_is_said(
    rounded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_busy: bool
) -> None:
    rounded["int8"] = ROUGH
    if is_busy:
        monkeypatch.setattr(choose, "measure", lambda *given: None)
    assert cli_choose("net", (7, 7), 1, once=False, as_json=True) == is_busy
    assert json.loads(capsys.readouterr().out)["chosen"] == (None if is_busy else "numba fp32")


def test_the_loss_is_that_of_all_compared_positions() -> None:
    backends = [NumbaBackend(each, "fp32", threads=1) for each in (SPEC, SPEC, ROUGH)]
    try:
        assert loss_of(SPEC, 5, 7, backends[:2]) == (0.0, 0.0)
        winrate, policy = loss_of(SPEC, 5, 7, backends[1:])
        assert winrate == 0.0
        assert policy > 0.1
        assert np.isfinite(policy)
    finally:
        for backend in backends:
            backend.close()
