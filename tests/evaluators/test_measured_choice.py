"""`auto` takes what was measured to be the fastest, and follows its rule until there is a measurement."""

import importlib.util
import threading
import time
from pathlib import Path

import pytest

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluators import backends, kernel_backend, measured_choice
from engine.evaluators.backend_speed import positions_per_second
from engine.evaluators.backends import cpu_candidates, make_backend, network_evaluator
from engine.evaluators.factory import Computing
from engine.evaluators.measured_choice import Measurement, is_measurable, measure, remember, remembered
from engine.evaluators.named import as_begun
from engine.nets.shapes import shaped_spec
from tests.evaluators.test_devices import StandIn
from tests.nets.examples import EXAMPLES

SPEC = EXAMPLES["softmax silu"]
PAIRS = [("openvino", "int8"), ("numba", "fp32"), ("openvino", "fp32")]
FOUND = Measurement("9x9", {("openvino", "int8"): 100.0, ("numba", "fp32"): 150.0})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache folder of this test."""
    monkeypatch.setenv("KEIMA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(measured_choice, "_WAIT_SECONDS", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def makes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Pretend what the CPU computes; return the list of the pairs whose backends were created."""
    made: list[tuple[str, str]] = []
    fast = {"numba": ("fp32",), "openvino": ("fp32", "int8")}

    def create(spec: object, pair: tuple[str, str], threads: object) -> StandIn:
        made.append(pair)
        return StandIn(" ".join(pair))

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object() if name != "torch" else None)
    monkeypatch.setattr(backends, "full_speed", lambda spec, name: fast.get(name, ()))
    monkeypatch.setattr(kernel_backend, "precisions", lambda spec: fast["numba"])
    monkeypatch.setattr(backends, "backend_of", create)
    monkeypatch.setattr(backends, "accelerators", list)
    return made


def file_of(folder: Path) -> Path:
    (file,) = (folder / "speeds").iterdir()
    return file


def test_the_fastest_backend_is_measured_and_kept() -> None:
    work = {PAIRS[0]: 0.004, PAIRS[1]: 0.001, PAIRS[2]: 0.008}
    made = {pair: StandIn(str(pair), work=work[pair]) for pair in PAIRS}
    found = measure(SPEC, 9, 9, made, time.perf_counter)
    assert found is not None
    assert found.best == ("numba", "fp32")
    remember(SPEC, 2, found)
    kept = remembered(SPEC, 2)
    assert kept is not None
    assert (kept.board, kept.best) == ("9x9", ("numba", "fp32"))
    assert list(kept.speeds) == PAIRS


def test_nothing_is_concluded_on_a_machine_that_is_busy_with_other_work() -> None:
    made = {pair: StandIn(str(pair), work=0.001) for pair in PAIRS}
    assert measure(SPEC, 9, 9, made, lambda: time.perf_counter() / 2) is None


def test_the_rule_stays_where_another_is_hardly_faster() -> None:
    assert Measurement("9x9", {PAIRS[0]: 100.0, PAIRS[1]: 124.0}).best == PAIRS[0]
    assert Measurement("9x9", {PAIRS[0]: 100.0, PAIRS[1]: 126.0}).best == PAIRS[1]
    assert Measurement("9x9", {PAIRS[0]: 100.0, PAIRS[2]: 109.0}).best == PAIRS[0]
    assert Measurement("9x9", {PAIRS[0]: 100.0, PAIRS[1]: 124.0, PAIRS[2]: 111.0}).best == PAIRS[2], "in its backend"


def test_those_without_a_chance_have_one_turn_and_the_rules_choice_has_all() -> None:
    work = {PAIRS[0]: 0.004, PAIRS[1]: 0.001, PAIRS[2]: 0.004}
    made = {pair: StandIn(str(pair), work=work[pair]) for pair in PAIRS}
    found = measure(SPEC, 9, 9, made, time.perf_counter)
    assert found is not None
    assert found.best == PAIRS[1]
    # A sixth of a second; the rule's choice, as slow, has a quarter of a second more.
    assert 1.3 * made[PAIRS[2]].calls < made[PAIRS[0]].calls


def test_measurements_are_of_one_network_processor_version_and_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remember(SPEC, 2, FOUND)
    assert remembered(SPEC, 2) == FOUND
    assert remembered(SPEC, 3) is None
    assert remembered(EXAMPLES["plain tanh"], 2) is None
    for name, other in (("processor_name", lambda: "another"), ("__version__", "0.0.0"), ("instruction_sets", list)):
        with monkeypatch.context() as changed:
            changed.setattr(measured_choice, name, other)
            assert remembered(SPEC, 2) is None
    assert remembered(SPEC, 2) == FOUND


def test_each_board_has_a_measurement_and_sessions_begin_with_that_of_the_last_one() -> None:
    large = Measurement("19x19", {PAIRS[0]: 40.0, PAIRS[1]: 30.0})
    remember(SPEC, 2, FOUND)
    remember(SPEC, 2, large)
    assert remembered(SPEC, 2) == remembered(SPEC, 2, "19x19") == large
    assert remembered(SPEC, 2, "9x9") == FOUND
    assert remembered(SPEC, 2, "13x13") is None
    remember(SPEC, 2, FOUND)
    assert remembered(SPEC, 2) == FOUND
    assert remembered(SPEC, 2, "19x19") == large


def test_a_few_boards_are_kept_those_of_the_last_measurements() -> None:
    boards = [*(f"{side}x{side}" for side in range(2, 26)), *(f"{side}x25" for side in range(2, 19))]
    for board in boards:
        remember(SPEC, 2, FOUND._replace(board=board))
    assert [board for board in boards if remembered(SPEC, 2, board) is not None] == boards[-32:]


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        "null",
        '{"last": "9x9"}',
        '{"last": "9x9", "boards": []}',
        '{"last": "9x9", "boards": {"9x9": {}}}',
        '{"last": "9x9", "boards": {"9x9": []}}',
        '{"last": "9x9", "boards": {"9x9": {"numba": 1.0}}}',
        '{"last": "9x9", "boards": {"9x9": {"numba fp32": -1.0}}}',
        '{"last": "9x9", "boards": {"9x9": {"numba fp32": NaN}}}',
        '{"last": "9x9", "boards": {"9x9": {"numba fp32": "fast"}}}',
        f'{{"last": "9x9", "boards": {{"9x9": {{"numba fp32": {"9" * 400}}}}}}}',
        '{"boards": {"9x9": {"numba fp32": 1.0}}}',
        '{"last": "19x19", "boards": {"9x9": {"numba fp32": 1.0}}}',
        "[" * 60_000,
        " " * 70_000 + '{"last": "9x9", "boards": {"9x9": {"numba fp32": 1.0}}}',
    ],
)
def test_damaged_files_are_ignored(folder: Path, damage: str) -> None:
    remember(SPEC, 2, FOUND)
    file_of(folder).write_text(damage)
    assert remembered(SPEC, 2) is None
    remember(SPEC, 2, FOUND)
    assert remembered(SPEC, 2) == FOUND


def test_auto_takes_what_was_measured_and_a_named_backend_or_precision_counts_more(makes) -> None:
    make_backend(SPEC, threads=2).close()
    assert makes == []
    remember(SPEC, 2, FOUND)
    assert make_backend(SPEC, threads=2).name == "numba fp32"
    assert makes == [("numba", "fp32")]
    make_backend(SPEC, "numba", "fp32", threads=2).close()
    make_backend(SPEC, precision="fp32", threads=2).close()
    assert makes == [("numba", "fp32")]


@pytest.mark.parametrize("pair", [("numba", "int8"), ("openvino", "bf16"), ("torch", "fp32"), ("numba", "bf16")])
def test_what_this_machine_does_not_compute_any_more_is_not_taken(makes, pair: tuple[str, str]) -> None:
    remember(SPEC, 2, Measurement("9x9", {pair: 100.0}))
    make_backend(SPEC, threads=2).close()
    assert makes == []


def test_fp16_is_for_those_who_ask_for_it_however_fast(makes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "full_speed", lambda spec, name: ("fp32", "fp16") if name == "openvino" else ())
    assert ("openvino", "fp16") not in cpu_candidates(SPEC)
    remember(SPEC, 2, Measurement("9x9", {("openvino", "fp32"): 100.0, ("openvino", "fp16"): 300.0}))
    make_backend(SPEC, threads=2).close()
    assert makes == []


def test_candidates_begin_with_the_rules_choice(makes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_choose_on_cpu", lambda spec, precision: "numba")
    assert cpu_candidates(SPEC) == [("numba", "fp32"), ("openvino", "fp32"), ("openvino", "int8")]


def test_networks_too_large_for_a_second_are_not_measured() -> None:
    assert is_measurable(SPEC, 19, 19)
    assert not is_measurable(shaped_spec("b20c256", ENCODERS["katago-v7"]), 25, 25)


def test_what_fails_in_a_thread_of_a_measurement_is_raised() -> None:
    class Failing(StandIn):
        parallel = 2

        def infer(self, slot: object, count: int) -> None:
            if threading.current_thread() is not threading.main_thread():
                raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        positions_per_second(Failing("gpu"), 9, 9, 0.01)


@pytest.mark.parametrize(("is_automatic", "made"), [(True, [("openvino", "int8")]), (False, [])])
def test_a_run_that_goes_on_checks_int8_that_auto_chose(
    makes, monkeypatch: pytest.MonkeyPatch, is_automatic: bool, made: list[tuple[str, str]]
) -> None:
    monkeypatch.setattr(backends, "make_backend", lambda *given: StandIn("asked for"))
    for backend in ("auto", "openvino"):
        network_evaluator(SPEC, backend, precision="int8", threads=2, is_automatic=is_automatic)
    assert makes == 2 * made


def test_a_run_in_int8_that_goes_on_with_another_device_is_not_computed_on_the_cpu(makes) -> None:
    with pytest.raises(GoError, match="--device gpu does not compute in int8"):
        network_evaluator(SPEC, precision="int8", threads=2, device="gpu", is_automatic=True)
    assert makes == []


def test_the_number_format_of_a_run_is_one_that_auto_chose(tmp_path: Path) -> None:
    options = {"backend": "auto", "precision": "auto", "threads": 1, "device": "auto"}
    (tmp_path / "settings.json").write_text('{"network": "net.bin.gz 0123 int8"}')
    begun = Computing.of(as_begun(options, tmp_path, "network"))
    assert (begun.precision, begun.is_automatic) == ("int8", True)
    assert not Computing.of(as_begun({**options, "precision": "int8"}, tmp_path, "network")).is_automatic
