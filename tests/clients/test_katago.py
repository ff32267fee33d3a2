"""KataGo loads the networks that Keima writes for it, and evaluates them as Keima does.

KEIMA_KATAGO is the path of a KataGo program, version 1.17 or later; without it `katago` is looked for on the PATH.
"""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.apps.net.golden import EXACT, Comparison, compare
from engine.encoders import ENCODERS
from engine.evaluators.network import NetworkEvaluator
from engine.evaluators.torch_backend import TorchBackend
from engine.nets.random import random_spec
from engine.nets.spec import Activation, NetSpec, ValueKind
from tests.nets.examples import hidden_pass, stirred
from tests.weights.examples import with_all_biases
from weights import katago_writer

pytestmark = pytest.mark.clients
V7 = ENCODERS["katago-v7"]
CONFIG = """
logToStderr = false
logDir = logs
logAllGTPCommunication = false
logSearchInfo = false
allowResignation = false
resignThreshold = -0.99
resignConsecTurns = 100
rules = chinese
maxVisits = 1
numSearchThreads = 1
nnRandomize = false
nnMaxBatchSize = 8
maxBoardXSizeForNNBuffer = {width}
maxBoardYSizeForNNBuffer = {height}
requireMaxBoardSize = true
"""
POSITIONS: list[dict[str, Any]] = [
    {"size": [9, 9], "rules": "chinese", "komi": 7.5, "moves": [], "to_move": "B"},
    {"size": [9, 9], "rules": "tromp-taylor", "komi": 6.0, "moves": "B E5 W C3 B G3 W C6 B pass", "to_move": "W"},
    {"size": [9, 9], "rules": "japanese", "komi": 6.5, "moves": "B D4 W D5 B E5 W D6 B E6 W C4 B C5", "to_move": "W"},
    {"size": [19, 19], "rules": "chinese", "komi": 7.5, "moves": "B Q16 W D4 B Q3 W D17 B R5", "to_move": "W"},
]
TOLD = {
    "whiteLead": lambda spec: bool(spec.scores),
    "whiteScoreSelfplay": lambda spec: False,
    "whiteScoreSelfplaySq": lambda spec: False,
    "varTimeLeft": lambda spec: False,
    "shorttermWinlossError": lambda spec: False,
    "shorttermScoreError": lambda spec: False,
    "whiteOwnership": lambda spec: spec.has_ownership,
}
"""What KataGo tells of every network, by whether Keima tells it, too, of one of its own."""


def networks() -> dict[str, NetSpec]:
    """Return networks of the default architecture by the KataGo version that holds them and what they exercise."""
    generator = np.random.default_rng(3)

    def made(seed: int, **options: Any) -> NetSpec:
        return stirred(random_spec(4, 24, V7, seed, **options), generator)

    return {
        "8, relu and tanh": stirred(random_spec(6, 32, V7, 1), generator),
        "8, nothing but policy and value": made(2, scores=(), ownership=False, pool_every=0),
        "11, mish and softmax": made(3, activation=Activation.MISH, value=ValueKind.SOFTMAX),
        "11, silu": made(4, activation=Activation.SILU),
        "8, biases everywhere": with_all_biases(made(5), generator),
        "11, biases everywhere": with_all_biases(made(6, activation=Activation.MISH), generator),
        "15, hidden pass": hidden_pass(made(7)),
    }


NETWORKS = networks()


def katago() -> str:
    """Return the program, or skip the running test."""
    program = os.environ.get("KEIMA_KATAGO") or shutil.which("katago")
    return program or pytest.skip("KataGo is not here (set KEIMA_KATAGO)")


def records_of_katago(model: Path, folder: Path, profile: str = "") -> list[dict[str, Any]]:
    """Return golden records: the positions with what KataGo says of them. profile: of networks that imitate people."""
    records = []
    for index, position in enumerate(POSITIONS):
        width, height = position["size"]
        words = position["moves"].split() if position["moves"] else []
        moves = list(zip(words[::2], words[1::2], strict=True))
        setup = [f"boardsize {width} {height}", f"kata-set-rules {position['rules']}", f"komi {position['komi']}"]
        script = [*setup, *(f"play {color} {vertex}" for color, vertex in moves)]
        asked = [f"kata-raw-nn {symmetry} 0" for symmetry in (0, 5)]
        config = folder / f"{index}.cfg"
        people = f"humanSLProfile = {profile}\n" if profile else ""
        config.write_text(CONFIG.format(width=width, height=height) + people, encoding="ascii")
        command = [katago(), "gtp", "-model", str(model), "-config", str(config)]
        text = "\n".join([*script, *asked, "quit", ""])
        done = subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        replies = [reply for reply in done.stdout.split("\n\n") if reply.strip()]
        assert all(reply.startswith("=") for reply in replies), replies
        outputs = [parsed(reply, height) for reply in replies[len(script) : len(script) + len(asked)]]
        records.append({**position, "id": f"position {index}", "moves": moves, "outputs": outputs})
    return records


def parsed(reply: str, height: int) -> dict[str, Any]:
    """Return the numbers of one answer to kata-raw-nn as golden files have them, None for an illegal move."""
    lines = [line.split() for line in reply.removeprefix("=").splitlines()]
    output: dict[str, Any] = {}
    for index, words in enumerate(lines):
        if len(words) == 2:
            output[words[0]] = float(words[1])
        elif words in (["policy"], ["whiteOwnership"]):
            rows = lines[index + 1 : index + 1 + height]
            output[words[0]] = [[None if each == "NAN" else float(each) for each in row] for row in rows]
    return {**output, "symmetry": int(output["symmetry"]), "optimism": 0.0}


@pytest.mark.parametrize("name", NETWORKS)
def test_katago_evaluates_a_written_network_as_keima_does(name: str, tmp_path: Path) -> None:
    spec = replace(NETWORKS[name], name=name)
    katago_writer.write(spec, tmp_path / "net.bin.gz")
    records = records_of_katago(tmp_path / "net.bin.gz", tmp_path)
    for record in records:
        for output in record["outputs"]:
            for key in [key for key, reported in TOLD.items() if key in output and not reported(spec)]:
                del output[key]
    comparison = compare(NetworkEvaluator(spec, TorchBackend(spec, device="cpu")), records, Comparison(EXACT))
    for kind, difference in comparison.differences.items():
        print(f"{name}: {kind} differs by at most {difference.largest:.2g}, by {difference.mean:.2g} on average")
    assert comparison.evaluations == 2 * len(POSITIONS)
    assert comparison.wrong == []
