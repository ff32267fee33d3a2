"""OpenMP threads spin briefly in every command, whether it loads torch itself or in a worker."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

import keima
from engine.errors import GoError
from engine.support.openmp import SPINS, limit_spinning
from engine.train.generations.ray_workers import Worker


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set and deleted, so that the value which a test sets is undone.
    monkeypatch.setenv("GOMP_SPINCOUNT", "")
    monkeypatch.delenv("GOMP_SPINCOUNT")


@pytest.mark.parametrize("name", keima.LOADED_LATE)
def test_every_command_limits_spinning_before_it_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def command() -> None:
        click.echo(os.environ.get("GOMP_SPINCOUNT", "unset"))

    monkeypatch.setattr(keima, "load_command", {name: command}.get)
    assert CliRunner().invoke(keima.main, [name]).output == f"{SPINS}\n"


def test_a_worker_of_a_cluster_limits_it_before_it_makes_its_player(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str | None] = []

    def make(_number: int, _on_gpu: bool = False) -> Any:
        found.append(os.environ.get("GOMP_SPINCOUNT"))
        raise GoError("no player")

    context = SimpleNamespace(get_node_id=lambda: "node")
    errors = SimpleNamespace(RayError=LookupError, RayTaskError=KeyError)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(get_runtime_context=lambda: context, exceptions=errors))
    assert Worker(0, make, None).run() == ("node", "GoError: no player")
    assert found == [SPINS]


def test_a_value_of_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOMP_SPINCOUNT", "7")
    limit_spinning()
    assert os.environ["GOMP_SPINCOUNT"] == "7"
