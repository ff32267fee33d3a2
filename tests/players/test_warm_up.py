"""What a game needs is loaded before it, so that no move waits for a kernel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nets.kernels.lanes import needs_lanes
from weights.shipped import DEFAULT_NETWORK, SHIPPED_NETWORKS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "network",
    [(), (DEFAULT_NETWORK,), pytest.param((SHIPPED_NETWORKS / "keima-b6c96.safetensors",), marks=needs_lanes)],
    ids=["playouts", "network", "kernels"],
)
def test_no_move_and_no_score_needs_a_kernel_that_the_warm_up_did_not_load(network: tuple[Path, ...]) -> None:
    command = [sys.executable, "-m", "tests.players.games_after_warm_up", *network]
    environment = os.environ | {"NUMBA_DISABLE_JIT": "0"}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300)
    kernels = json.loads(result.stdout)
    assert len(kernels["before"]) > 15
    assert kernels["after"] == []
