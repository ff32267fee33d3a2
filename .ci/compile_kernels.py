"""Fill a cache directory with every kernel that the program can need, by playing with it.

Usage: compile_kernels.py KEIMA DIRECTORY. `make binary` ships what this compiles; what it misses is
found by tests/binary, which fails when the frozen program compiles anything.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.encoders import ENCODERS
from engine.nets.kernels.operands import lanes_here
from engine.nets.random import random_spec
from weights import native

OPTIONS = ["gtp", "--set", "resign_threshold=0"]
BENCH = ["bench", "--size", "5", "--runs", "1", "--seconds", "0.01", "--json"]


def games() -> Iterator[str]:
    """Yield the commands of games under every kind of rules: to the end on a small board, begun on a large one."""
    yield "showboard"
    for rules in ("tromp-taylor", "japanese", "aga-button", "stone-scoring", "chinese-kgs"):
        yield from (f"kata-set-rules {rules}", "rectangular_boardsize 6 5", "clear_board")
        yield from ("genmove b", "genmove w") * 25
        yield from ("keima-rank 8k", "genmove b", "genmove w", "keima-rank full")
        yield from ("undo", "genmove b", "final_score", "final_status_list dead", "final_status_list seki")
        yield from ("clear_board", "set_free_handicap B2 E4", "play w C3", "play w pass", "genmove b", "final_score")
        yield from ("kata-genmove_analyze b 1 ownership true movesOwnership true", "kata-search w", "kata-benchmark 40")
        yield from ("keima-ladders", "keima-pass_alive", "keima-policy_heat_map b", "keima-score b", "final_status a1")
        yield from ("unconditional_status a1", "cgos-genmove_analyze w", "estimate_score", "restricted_genmove b a1")
        yield from ("boardsize 9", "fixed_handicap 3", "genmove w", "genmove b", "reg_genmove w", "showboard")
        yield from ("boardsize 19", "place_free_handicap 2", "genmove w", "genmove b")
        yield from ("kata-set-param useEvalCache true", "genmove w", "kata-set-param useEvalCache false")
    yield "boardsize 9"
    yield from (f"play b {point}" for point in ("A8", "B8", "C8", "D8", "E8"))
    yield from (f"play w {point}" for point in ("A7", "B7", "C9", "C7", "D7", "E9", "E7", "F8", "F7"))
    yield "keima-prove b"


def reflex_games() -> Iterator[str]:
    """Yield the commands of a game by reflex."""
    yield "boardsize 6"
    yield from ("genmove b", "genmove w") * 10


def human_games() -> Iterator[str]:
    """Yield the commands of a game with a human network beside the playing one."""
    yield "boardsize 6"
    yield from ("genmove b", "genmove w") * 4
    yield "kata-raw-human-nn 0"


HUMAN = ["human_root_weightful=0.5", "human_own_weightless=0.5", "human_move_share=0.5"]
HUMAN += ["repeated_shape_penalty=0.01", "policy_temperature=1.1"]


def networks(folder: Path) -> Iterator[Path]:
    """Write a tiny network for each encoder and yield the files."""
    for encoder in ENCODERS.values():
        path = folder / encoder.name
        native.write(random_spec(1, 4, encoder, 1, head_channels=2), path)
        yield path


def play(keima: str, environment: dict[str, str], commands: Iterator[str], *options: str) -> bool:
    """Send commands to a player of some options; say what was refused and return whether nothing was."""
    script = "".join(f"{command}\n" for command in commands)
    command = [keima, *OPTIONS, *options]
    played = subprocess.run(command, input=script, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    refused = [line for line in played.stdout.splitlines() if line.startswith("?")]
    sys.stderr.write("".join(f"{line}\n" for line in refused))
    return not refused


def main() -> int:
    """Play, measure, and return 1 if anything was refused."""
    keima, directory = sys.argv[1:]
    environment = {**os.environ, "KEIMA_CACHE": directory}
    is_complete = play(keima, environment, games(), "--visits", "40")
    is_complete &= play(keima, environment, reflex_games(), "--reflexes")
    with tempfile.TemporaryDirectory() as folder:
        for network in networks(Path(folder)):
            is_complete &= play(keima, environment, games(), "--visits", "4", "--net", str(network))
        model = f"{folder}/katago-v7"
        settings = [word for text in HUMAN for word in ("--set", text)]
        human = ["--visits", "8", "--net", model, "--human-model", model, *settings]
        is_complete &= play(keima, environment, human_games(), *human)
        if lanes_here():
            of_network = ["--net", f"{folder}/katago-v7", "--backend", "numba"]
            commands = ("boardsize 6", "genmove b", "time_settings 0 1 1", "genmove w")
            is_complete &= play(keima, environment, iter(commands), *of_network)
            subprocess.run([keima, *BENCH, *of_network], env=environment, stdout=subprocess.DEVNULL, check=True)
        selfplay = ["selfplay", f"{folder}/games", "--net", "none", "--size", "7", "--games", "4", "--processes", "1"]
        selfplay += ["--set", "full_visits=100"]  # so many fill the table of biases, which is then made anew
        subprocess.run([keima, *selfplay], env=environment, stdout=subprocess.DEVNULL, check=True)
        record = Path(folder) / "game.sgf"
        record.write_text("(;SZ[5];B[cc];W[bc];B[bd];W[ab];B[cd])", encoding="ascii")
        explain = ["explain", str(record), "--net", "none", "--visits", "4"]
        solve = ["book", "solve", f"{folder}/3x2.book", "--size", "3x2"]
        prove = ["book", "solve", f"{folder}/6x3.book", "--size", "6x3", "--rules", "chinese-kgs", "--moves", "2"]
        for command in (explain, solve, prove):
            subprocess.run([keima, *command], env=environment, stdout=subprocess.DEVNULL, check=True)
    subprocess.run([keima, *BENCH], env=environment, stdout=subprocess.DEVNULL, check=True)
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
