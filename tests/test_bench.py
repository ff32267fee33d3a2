"""`keima bench` measures what it promises, as one JSON object or as a table."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.bench import Effort, measure_evaluations, middle_game, versions
from engine.bench_katago import KataGo
from engine.errors import GoError
from engine.evaluators.uniform import UniformEvaluator

QUICK = ["bench", "--size", "5", "--size", "6x4", "--runs", "1", "--seconds", "0.01"]


def run(*arguments: str) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(keima.main, list(arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_json_holds_every_figure() -> None:
    figures = json.loads(run(*QUICK, "--json"))
    assert 0 < figures["first_reply_s"] < figures["first_genmove_s"]
    assert figures["cold_compile_s"] is None
    for size in ("5", "6x4"):
        assert figures["rollouts_per_s"][size]["light"] > 0
        for kind in ("uniform", "rollout"):
            rates = figures["evaluations_per_s"][size][kind]["none"]
            assert {"1", "8", "16", "32"} <= set(rates)
            assert all(rate > 0 for rate in rates.values())
            assert figures["visits_per_s"][size][kind]["none"] > 0
            shares = figures["search_share"][size][kind]["none"]
            assert set(shares) == {"select", "evaluate", "backup"}
            assert all(0 < share <= 1.5 for share in shares.values())
    assert figures["machine"]["cores"] >= 1
    assert figures["versions"]["keima"] == keima.__version__


def test_the_table_shows_every_board() -> None:
    shown = run(*QUICK)
    assert "first reply" in shown
    assert all(f"│ {size} " in shown for size in ("5", "6x4"))


def test_figures_are_medians() -> None:
    values = iter([5.0, 1.0, 2.0, 100.0, 3.0])
    assert Effort(runs=5).median(lambda: next(values)) == 3.0


def test_a_middle_game_has_as_many_moves_as_asked() -> None:
    import numpy as np

    game = middle_game(7, 5, 12, np.random.default_rng(3))
    assert (game.width, game.height, game.move_number) == (7, 5, 12)


KATAGO_OUTPUT = """
Testing different numbers of threads (board size 9x9):
numSearchThreads =  2: 0 / 3 positions, visits/s = -nan (0.0 secs) \r\
numSearchThreads =  2: 3 / 3 positions, visits/s = 125.34 nnEvals/s = 119.55 nnBatches/s = 119.55 (2.4 secs)
numSearchThreads =  4: 3 / 3 positions, visits/s = 111.79 nnEvals/s = 104.20 nnBatches/s = 62.59 (2.8 secs)
"""


def fake_katago(tmp_path: Path, output: str) -> list[str]:
    """Return the command of a program that prints what KataGo's benchmark printed."""
    script = tmp_path / "katago.py"
    script.write_text(f"import sys\nprint({output!r})\nprint(*sys.argv[1:], file=open('asked', 'a'))\n")
    return [sys.executable, str(script)]


def test_katago_is_asked_for_its_best_number_of_threads_and_then_for_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    rival = KataGo(fake_katago(tmp_path, KATAGO_OUTPUT), 9, 9)
    assert [rival.evaluations_per_second(), rival.evaluations_per_second()] == [119.55, 119.55]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.partition("-boardsize 9 ")[2].split()[-1] for line in asked] == ["2,4", "2"]


def test_a_katago_without_a_result_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GoError, match=r"it ended with: no such model$"):
        KataGo(fake_katago(tmp_path, "no such model"), 9, 9).evaluations_per_second()
    with pytest.raises(GoError, match="square boards only, not 9x7"):
        KataGo(["katago"], 9, 7)
    with pytest.raises(GoError, match="no-such-katago: cannot be run"):
        KataGo(["no-such-katago"], 9, 9).evaluations_per_second()


def test_ratios_to_katago_are_of_the_same_run() -> None:
    class Rival:
        def evaluations_per_second(self) -> float:
            return 2.0

    figures: dict = {"evaluations_per_s": {"5": {}}, "katago": {"evaluations_per_s": {}, "ratio": {}}}
    evaluators = {("uniform", "none"): UniformEvaluator(8)}
    measure_evaluations(Effort(runs=1, seconds=0.01), evaluators, Rival(), (5, 5), "5", figures)
    rates = figures["evaluations_per_s"]["5"]["uniform"]["none"]
    assert set(rates) == {"1", "8"}
    assert figures["katago"]["evaluations_per_s"] == {"5": 2}
    for batch, ratio in figures["katago"]["ratio"]["5"]["uniform"]["none"].items():
        assert ratio == pytest.approx(rates[batch] / 2, rel=0.01)


def test_versions_of_absent_libraries_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.bench.VERSIONS_OF", ("numpy", "no-such-distribution"))
    assert set(versions()) == {"keima", "python", "numpy"}
