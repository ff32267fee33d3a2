"""`keima bench` measures what it promises, as one JSON object or as a table."""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import keima
from engine.apps.bench import katago
from engine.apps.bench.effort import Effort
from engine.apps.bench.katago import KataGo, Speed
from engine.apps.bench.measure import PER_EVALUATOR, measure_board
from engine.apps.bench.startup import resident_mib
from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.uniform import UniformEvaluator
from engine.native.machine import versions
from engine.nets.random import random_spec
from engine.records.diagram import diagram_of, format_diagram
from engine.records.sgf import load_sgf
from engine.search.bench_positions import middle_game, positions_to_evaluate, searched_positions
from engine.search.evaluator_speed import Measured
from engine.support.command_line import joined
from engine.support.stopping import interrupting
from tests.native_fakes import CALLS, FAIL_AT, NativeFake, needs_closures
from weights import native

QUICK = ["bench", "--size", "6x4", "--runs", "1", "--seconds", "0.01", "--backend", "openvino", "--precision", "fp32"]


def run(*arguments: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(keima.main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """Measure once, on a small board."""
    measured: dict[str, Any] = json.loads(run(*QUICK, "--json", "--memory-visits", "20"))
    return measured


def test_json_holds_every_figure(figures: dict[str, Any]) -> None:
    assert 0 < figures["first_reply_s"] < figures["first_genmove_s"]
    assert figures["cold_compile_s"] is None
    assert figures["rollouts_per_s"]["6x4"]["light"] > 0
    for kind in ("uniform", "rollout"):
        rates = figures["evaluations_per_s"]["6x4"][kind]["none"]
        assert {"1", "8", "16", "32"} <= set(rates)
        assert all(rate > 0 for rate in rates.values())
        assert figures["visits_per_s"]["6x4"][kind]["none"] > 0
        assert figures["visits_over_evaluations"]["6x4"][kind]["none"]["ratio"] > 0
        assert figures["bytes_per_node"]["6x4"][kind]["none"] > 0
        shares = figures["search_share"]["6x4"][kind]["none"]
        assert list(shares) == ["select", "evaluate", "backup"]
        assert all(0 <= share <= 1.001 for share in shares.values())
        assert sum(shares.values()) > 0
    assert figures["calls_in_flight"]["uniform"]["none"] == UniformEvaluator().attributes.concurrent
    if sys.platform == "linux":
        memory = figures["memory"]
        assert (memory["visits"], memory["size"]) == (20, "6x4")
        assert 10 < memory["resident_mib"] <= memory["peak_mib"]
    assert figures["machine"]["cores"] >= 1
    assert figures["versions"]["keima"] == keima.__version__


def test_the_table_shows_every_board(figures: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    two = {
        name: value | {"5": value["6x4"]} if isinstance(value, dict) and "6x4" in value else value
        for name, value in figures.items()
    }
    monkeypatch.setattr("engine.apps.bench.measure.measure", lambda *_, **__: two)
    shown = run(*QUICK)
    assert "first reply" in shown
    assert all(f"│ {size} " in shown for size in ("5", "6x4"))


def test_figures_are_medians() -> None:
    values = iter([5.0, 1.0, 2.0, 100.0, 3.0])
    assert Effort(runs=5).median(lambda: next(values)) == 3.0


def test_a_middle_game_has_as_many_moves_as_asked() -> None:
    game = middle_game(7, 5, 12, np.random.default_rng(3))
    assert (game.width, game.height, game.move_number) == (7, 5, 12)


@pytest.mark.parametrize("size", [(9, 9), (19, 19), (7, 5)])
def test_positions_to_evaluate_follow_the_searched_ones_in_turn(size: tuple[int, int]) -> None:
    positions, starts = positions_to_evaluate(9, *size), searched_positions(*size)
    stones = np.count_nonzero(positions.boards[:, 1] % 3, axis=1).tolist()
    assert positions.legal[:, -1].all()
    first = [int(np.count_nonzero(each.game.board[1] % 3)) for each in starts]
    assert all(0 <= stones[row] - first[row % 4] <= 8 for row in range(4))
    assert stones[0] == 5


@pytest.mark.parametrize("size", [(9, 9), (19, 19), (7, 5)])
def test_searched_positions_are_the_empty_board_and_ever_fuller_ones(size: tuple[int, int]) -> None:
    positions = searched_positions(*size)
    stones = [int(np.count_nonzero(each.game.board[1] % 3)) for each in positions]
    assert stones[0] == 0
    assert stones == sorted(set(stones))
    assert all(each.game.is_legal(each.game.to_play, each.reply) for each in positions)
    again = searched_positions(*size)
    assert [format_diagram(diagram_of(each.game)) for each in positions] == [
        format_diagram(diagram_of(each.game)) for each in again
    ]


def test_an_evaluator_is_asked_by_as_many_threads_as_it_wants_calls() -> None:
    inside, most = set[int](), 0

    class Crowded(UniformEvaluator):
        def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
            nonlocal most
            inside.add(id(out))
            most = max(most, len(inside))
            time.sleep(0.001)
            super().evaluate(positions, count, out)
            inside.discard(id(out))

    evaluator = Crowded()
    assert Measured(evaluator, 5, 5).per_second(0.1, 8) > 0
    assert most == evaluator.attributes.concurrent == 2


@needs_closures
def test_evaluations_that_fail_are_not_counted_but_raise() -> None:
    evaluator = NativeFake(threads=1)
    measured = Measured(evaluator, 5, 5)
    counts = evaluator.counts[0]
    evaluator.fail_at = counts[FAIL_AT] = counts[CALLS] + 5
    with pytest.raises(ArithmeticError, match="made to fail"):
        measured.per_second(10.0, 1)


KATAGO_OUTPUT = """
Testing different numbers of threads (board size 9x9):
numSearchThreads =  2: 0 / 1 positions, visits/s = -nan (0.0 secs) \r\
numSearchThreads =  2: 1 / 1 positions, visits/s = 100.00 nnEvals/s = 80.00 nnBatches/s = 79.55 (2.4 secs)
numSearchThreads =  4: 1 / 1 positions, visits/s = 90.00 nnEvals/s = 85.00 nnBatches/s = 62.59 (2.8 secs)
"""


def fake_katago(tmp_path: Path, *outputs: str) -> str:
    """Return the command of a program that prints what KataGo's benchmark printed, one output a call in turn."""
    script = tmp_path / "katago.py"
    script.write_text(
        "import pathlib, sys\n"
        f"outputs, asked = {outputs!r}, pathlib.Path({str(tmp_path / 'asked')!r})\n"
        "calls = asked.read_text().splitlines() if asked.exists() else []\n"
        "text = pathlib.Path(sys.argv[sys.argv.index('-sgf') + 1]).read_text()\n"
        "asked.write_text('\\n'.join([*calls, ' '.join(sys.argv[1:]) + '|' + text.replace('\\n', '')]))\n"
        "print(outputs[len(calls) % len(outputs)])\n"
    )
    return joined([sys.executable, str(script)])


def asked(tmp_path: Path, option: str) -> list[str]:
    """Return what each call of the program was told for an option, or with "sgf" the record itself."""
    lines = (tmp_path / "asked").read_text().splitlines()
    if option == "sgf":
        return [line.partition("|")[2] for line in lines]
    words = [line.partition("|")[0].split() for line in lines]
    return [each[each.index(option) + 1] for each in words]


def test_katago_searches_the_same_positions(tmp_path: Path) -> None:
    positions = searched_positions(9, 9)
    KataGo(fake_katago(tmp_path, KATAGO_OUTPUT), positions).speed(1.0)
    records = [load_sgf(text.encode()) for text in asked(tmp_path, "sgf")]
    assert len(records) == len(positions)
    for record, position in zip(records, positions, strict=True):
        assert format_diagram(diagram_of(record.game(1))) == format_diagram(diagram_of(position.game))
        assert record.game(1).to_play == position.game.to_play
        assert len(record.moves) == 1


def test_katago_is_asked_for_its_best_number_of_threads_and_then_for_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(katago, "usable_cores", lambda: 2)
    rival = KataGo(fake_katago(tmp_path, KATAGO_OUTPUT), searched_positions(9, 9)[:2])
    assert [rival.speed(2.0), rival.speed(2.0)] == [Speed(100.0, 80.0)] * 2
    assert asked(tmp_path, "-t") == ["2,4", "2,4", "2", "2"]
    assert asked(tmp_path, "-v") == ["150", "150", "200", "200"]


def test_katagos_speed_is_of_all_positions_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(katago, "usable_cores", lambda: 2)
    lines = "numSearchThreads = 2: 1 / 1 positions, visits/s = {} nnEvals/s = {} nnBatches/s = 1 (1 secs)"
    command = fake_katago(tmp_path, lines.format("100.0", "80.0"), lines.format("300.0", "300.0"))
    speed = KataGo(command, searched_positions(9, 9)[:2]).speed(1.0)
    # 300 visits and 240 evaluations in 3 s, 300 and 300 in 1 s.
    assert speed == pytest.approx((600 / 4, 540 / 4))


def test_a_katago_without_a_result_is_one_line(tmp_path: Path) -> None:
    positions = searched_positions(9, 9)[:1]
    with pytest.raises(GoError, match=r"it ended with: no such model$"):
        KataGo(fake_katago(tmp_path, "no such model"), positions).speed(1.0)
    with pytest.raises(GoError, match="no-such-katago: cannot be run"):
        KataGo("no-such-katago", positions).speed(1.0)


def test_ratios_are_of_the_same_run() -> None:
    class Rival:
        def speed(self, seconds: float) -> Speed:
            return Speed(visits=4.0, evaluations=2.0)

    by_size = ("evaluations_per_s", "visits_per_s", "visits_over_evaluations", "search_share", "bytes_per_node")
    figures: dict = {key: {"5": {}} for key in by_size}
    figures["katago"] = {key: {} for key in ("evaluations_per_s", "visits_per_s", "ratio", "visits_ratio")}
    evaluators = {("uniform", "none"): UniformEvaluator(8)}
    measure_board(Effort(runs=1, seconds=0.01), evaluators, Rival(), (5, 5), "5", figures)
    rates, visits = (figures[key]["5"]["uniform"]["none"] for key in ("evaluations_per_s", "visits_per_s"))
    assert set(rates) == {"1", "8"}
    assert (figures["katago"]["evaluations_per_s"], figures["katago"]["visits_per_s"]) == ({"5": 2}, {"5": 4})
    for batch, ratio in figures["katago"]["ratio"]["5"]["uniform"]["none"].items():
        assert ratio == pytest.approx(rates[batch] / 2, rel=0.01)
    assert figures["katago"]["visits_ratio"]["5"]["uniform"]["none"] == pytest.approx(visits / 4, rel=0.01)
    over = figures["visits_over_evaluations"]["5"]["uniform"]["none"]
    assert 1 <= over["batch"] <= 8
    assert over["ratio"] > 0


@needs_closures
def test_threads_without_python_are_measured_with_the_batch_that_the_search_used() -> None:
    figures: dict = {key: {"9": {}} for key in PER_EVALUATOR}
    evaluators = {("fake", "none"): NativeFake(2, pauses=500)}
    # Long enough for other processes not to decide what is measured.
    measure_board(Effort(runs=1, seconds=0.3), evaluators, None, (9, 9), "9", figures)
    told = {key: figures[key]["9"]["fake"]["none"] for key in PER_EVALUATOR}
    assert set(told["evaluations_per_s"]) == {"1", "4", "8"}
    over = told["visits_over_evaluations"]
    assert 1 <= over["batch"] <= 8
    # What is evaluated in a search cannot be more than without one; other visits need no evaluation. There is no lower
    # bound: where other processes have the cores, a search of two threads waits far longer than an evaluator alone.
    assert 0 < over["ratio"] < 3
    shares = told["search_share"]
    assert list(shares) == ["select", "encode", "evaluate", "backup"]
    assert 0.3 < sum(shares.values()) <= 1.02


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what memory a process holds")
def test_memory_is_what_the_process_holds(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text("held = b'x' * (100 << 20)\ninput()\nprint('= D4\\n', flush=True)\ninput()\n")
    found = resident_mib([sys.executable, str(script)])
    assert found is not None
    assert 100 < found["resident_mib"] <= found["peak_mib"] < 160


def test_an_engine_that_refuses_to_play_is_told(tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text("input()\nprint('? no\\n', flush=True)\ninput()\n")
    with pytest.raises(GoError, match=r"answered '\? no' to genmove b"):
        resident_mib([sys.executable, str(script)])


def test_start_up_is_that_of_the_network_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def seconds(player: list[str], command: str, size: str) -> float:
        started.append(" ".join(player[2:]))
        assert size == "9"
        return 1.0

    monkeypatch.setattr("engine.apps.bench.measure.seconds_to_reply", seconds)
    monkeypatch.setattr("engine.apps.bench.measure.rollouts_per_second", lambda *_: 1)
    monkeypatch.setattr("engine.apps.bench.measure.measure_board", lambda *_: None)
    run("bench", "--net", "none", "--threads", "1", "--runs", "1", "--json")
    assert started == ["gtp --threads 1 --net none"] * 3


def test_start_up_and_boards_are_those_that_the_network_can_play_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[str] = []

    def seconds(player: list[str], command: str, size: str) -> float:
        measured.append(size)
        return 1.0

    monkeypatch.setattr("engine.apps.bench.measure.seconds_to_reply", seconds)
    monkeypatch.setattr("engine.apps.bench.measure.rollouts_per_second", lambda *_: 1)
    monkeypatch.setattr("engine.apps.bench.measure.measure_board", lambda *_: None)
    network = tmp_path / "large.safetensors"
    native.write(random_spec(1, 4, ENCODERS["liberties"], 1, board_sizes=(19, 19)), network)
    found = json.loads(run("bench", "--net", str(network), "--threads", "1", "--runs", "1", "--json"))
    assert set(measured) == {"19"} == {found["startup_size"]} == set(found["rollouts_per_s"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal to interrupt itself by")
def test_a_program_that_is_measured_ends_when_the_measuring_is_interrupted(tmp_path: Path) -> None:
    script, told = tmp_path / "engine.py", tmp_path / "told"
    script.write_text(
        "import os, pathlib, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\ntime.sleep(3000)\n"
    )

    def interrupt() -> None:
        while not (told.exists() and told.read_text()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), interrupting():
        threading.Thread(target=interrupt).start()
        resident_mib([sys.executable, str(script)])
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


def test_bench_takes_sigterm_for_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    handlers: list[object] = []

    def measured(*_: object, **__: object) -> int:
        handlers.append(signal.getsignal(signal.SIGTERM))
        return 0

    monkeypatch.setattr("engine.apps.bench.measure.cli_bench", measured)
    run("bench", "--net", "none")
    assert callable(handlers[0])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--seconds", "nan"], "expected a number above 0, got 'nan'"),
        (["--seconds", "inf"], "expected a number above 0, got 'inf'"),
        (["--seconds", "0"], "expected a number above 0, got '0'"),
        (["--seconds", "-1"], "expected a number above 0, got '-1'"),
        (["--net", "x", "--katago", "katago 'x"], "No closing quotation"),
    ],
)
def test_options_that_nothing_can_be_measured_with_are_refused(options: list[str], said: str) -> None:
    result = CliRunner().invoke(keima.main, ["bench", *options])
    assert result.exit_code == 2
    assert said in result.stderr


def test_versions_of_absent_libraries_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.native.machine.VERSIONS_OF", ("numpy", "no-such-distribution"))
    assert set(versions()) == {"keima", "python", "numpy"}


def test_shapes_are_measured_beside_the_arithmetic_peak() -> None:
    quick = ["--size", "5", "--runs", "1", "--seconds", "0.01", "--backend", "torch", "--precision", "fp32"]
    found = json.loads(run("bench", "--shapes", "--shape", "b6c96", *quick, "--threads", "1", "--json"))
    (row,) = found["shapes"]
    assert [row[key] for key in ("shape", "size", "backend", "precision")] == ["b6c96", "5", "torch", "fp32"]
    assert row["evaluations_per_s"] > 0
    assert row["gflop"] == pytest.approx(2 * 25 * 1.0e6 / 1e9, rel=0.05)
    peak = found["peak_gflops"].get("fp32")
    if peak is None:
        assert row["share_of_peak"] is None
    else:
        expected = row["evaluations_per_s"] * row["gflop"] / peak
        assert row["share_of_peak"] == pytest.approx(expected, rel=0.02, abs=0.001)
    assert row["bytes_per_evaluation"] > 4 * 1.03e6 / 8
    if sys.platform == "linux":
        assert 10 < row["memory"]["resident_mib"] <= row["memory"]["peak_mib"]


def test_an_unknown_shape_is_refused_with_the_known_ones() -> None:
    result = CliRunner().invoke(keima.main, ["bench", "--shapes", "--shape", "b99"])
    assert result.exit_code == 2
    assert "unknown shape b99, expected b6c96 or b15c192" in result.stderr
