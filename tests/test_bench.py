"""`keima bench` measures what it promises, as one JSON object or as a table."""

import json

import pytest
from click.testing import CliRunner

import keima
from engine.bench import Effort, middle_game, versions

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
            assert figures["evaluations_per_s"][size][kind]["per_s"] > 0
            assert figures["visits_per_s"][size][kind] > 0
            shares = figures["search_share"][size][kind]
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


def test_versions_of_absent_libraries_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.bench.VERSIONS_OF", ("numpy", "no-such-distribution"))
    assert set(versions()) == {"keima", "python", "numpy"}
