"""Commands that are killed: the same results as without a kill. `make test-kill` kills each of them 20 times."""

from pathlib import Path

import pytest

from tests.kill import attack, commands, finish, selfplay_words


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", ["selfplay", "train", "zero", "match", "solve", "book", "tune"])
def test_a_killed_command_goes_on_to_the_results_of_one_that_was_not(name: str, tmp_path: Path) -> None:
    if name == "train":
        pytest.importorskip("torch")
        finish(selfplay_words(tmp_path / "samples"))
    if name == "zero":
        pytest.importorskip("torch")
    if name == "tune":
        pytest.importorskip("optuna")
    known = commands(tmp_path)[name]
    (tmp_path / name).mkdir()
    _, different = attack(known, tmp_path / name, kills=3, seed=1)
    assert different == []
