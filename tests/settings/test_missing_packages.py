"""Commands whose optional packages are missing: one line that says what to install, and exit status 1."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from engine.settings.command import OPTIONAL_PACKAGES

ROOT = Path(__file__).resolve().parents[2]
RECORD = "(;GM[1]SZ[9]RU[Chinese]KM[7];B[ee];W[cc];B[gg])"


@pytest.mark.parametrize("command", [("train", "run"), ("zero",)])
def test_training_without_torch_says_in_one_line_what_to_install(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "torch.py").write_text("raise ModuleNotFoundError('No module named torch', name='torch')\n")
    (tmp_path / "game.sgf").write_text(RECORD)
    options = ["--preset", "tiny"] if command == ("zero",) else ["--records", "game.sgf"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "keima.py"), *command, "run", *options],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "absent")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    name = " ".join(("keima", *command))
    message = f"Error: {name} needs torch: make install EXTRAS=train, or pip install 'keima[train]'"
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if "compiling kernels" not in line] == [message]


def test_tuning_without_optuna_says_in_one_line_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "optuna.py").write_text("raise ModuleNotFoundError('No module named optuna', name='optuna')")
    done = subprocess.run(
        [sys.executable, str(ROOT / "keima.py"), "tune", "--set", "c_puct", "--out", "out"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "absent")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    message = "Error: keima tune needs optuna: make install EXTRAS=tune, or pip install 'keima[tune]'"
    assert done.stderr.splitlines() == [message]
    assert not (tmp_path / "out").exists()


def test_every_extra_that_is_named_is_one_of_the_distribution() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in OPTIONAL_PACKAGES.items():
        assert any(requirement.startswith(package) for requirement in extras[extra]), package
