"""Compares Keima and KataGo on problems: the same framed positions, the same network, the same time for each.

    python -m tests.apps.solve.beside_katago FILE.jsonl.gz --net NET --katago KATAGO --seconds 0.5 --limit 200

Both programs get JSON queries with the points that both sides may play, and answer with their best move. They are asked
in turn, problem by problem, so that other work on the machine slows down both. With --out the answers are kept in a
file, and the same command goes on where it was stopped; --for stops it after some seconds.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from engine.apps.solve.problems import Problem, read_problems
from engine.apps.solve.solver import pose
from engine.color import BLACK, WHITE, color_letter
from engine.support.elo import wilson_interval
from engine.vertex import format_sgf, format_vertex, parse_sgf, parse_vertex, points

ROOT = Path(__file__).resolve().parents[3]
ENDLESS = 1000
CONFIG = "logDir = logs\nnumAnalysisThreads = 1\nnumSearchThreadsPerAnalysisThread = {threads}\nnnMaxBatchSize = 16\n"
Answers = dict[str, dict[str, list[Any]]]
"""By problem and program: the best move in SGF letters, and the visits of its search."""


def query(problem: Problem, seconds: float) -> dict[str, Any]:
    """Return the problem as a query of KataGo's analysis engine."""
    posed = pose(problem, framed=True)
    side = problem.size
    inside = [format_vertex(vertex, side, side) for vertex in posed.region]
    stones = [
        [color_letter(color), format_vertex(vertex, side, side)]
        for color in (BLACK, WHITE)
        for vertex in points(side, side)
        if posed.game.color_at(vertex) == color
    ]
    allowed = [
        {
            "player": color_letter(color),
            "moves": [*inside, *([] if color == problem.to_play else ["pass"])],
            "untilDepth": ENDLESS,
        }
        for color in (BLACK, WHITE)
    ]
    return {
        "id": problem.name,
        "initialStones": stones,
        "initialPlayer": color_letter(problem.to_play),
        "moves": [],
        "rules": "chinese",
        "komi": posed.game.komi,
        "boardXSize": side,
        "boardYSize": side,
        "allowMoves": allowed,
        "maxVisits": 1_000_000,
        "overrideSettings": {"maxTime": seconds},
    }


class Asked:
    """A program that answers queries of KataGo's analysis engine, one at a time."""

    def __init__(self, command: Sequence[str], folder: Path, seconds: float) -> None:
        self._seconds = seconds
        self._program = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> "Asked":
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()
        self._program.wait()

    def answer(self, problem: Problem) -> tuple[int, int]:
        """Return the best move, as a vertex, and the visits of the search."""
        assert self._program.stdin is not None and self._program.stdout is not None
        self._program.stdin.write(json.dumps(query(problem, self._seconds)) + "\n")
        self._program.stdin.flush()
        answer = json.loads(self._program.stdout.readline())
        if "moveInfos" not in answer:
            raise SystemExit(f"{self._program.args}: {answer}")
        best = min(answer["moveInfos"], key=lambda info: info["order"])
        return parse_vertex(best["move"], problem.size, problem.size), answer["rootInfo"]["visits"]


def ask(commands: dict[str, list[str]], problems: Sequence[Problem], options: argparse.Namespace) -> Answers:
    """Return the answers to the problems, those of earlier runs among them."""
    found: Answers = {}
    if options.out and options.out.exists():
        found = {entry["problem"]: entry["answers"] for entry in map(json.loads, options.out.open(encoding="ascii"))}
    left = [problem for problem in problems if problem.name not in found]
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        (folder / "analysis.cfg").write_text(CONFIG.format(threads=options.threads), encoding="ascii")
        programs = {
            player: stack.enter_context(Asked(command, folder, options.seconds)) for player, command in commands.items()
        }
        for program in programs.values() if left else ():
            program.answer(left[0])  # the first answer waits for the network
        end = time.monotonic() + options.lasting
        for problem in left:
            if time.monotonic() > end:
                break
            answers = {}
            for player, program in programs.items():
                vertex, visits = program.answer(problem)
                answers[player] = [format_sgf(vertex, problem.size), visits]
            found[problem.name] = answers
            if options.out:
                with options.out.open("a", encoding="ascii") as file:
                    file.write(json.dumps({"problem": problem.name, "answers": answers}) + "\n")
    return found


def show(found: Answers, problems: Sequence[Problem]) -> None:
    """Print the share solved by each program, and what only one of them solved."""
    asked = [problem for problem in problems if problem.name in found]
    players = list(found[asked[0].name])
    solved = {}
    for player in players:
        answers = {problem.name: found[problem.name][player] for problem in asked}
        right = {
            problem.name
            for problem in asked
            if parse_sgf(answers[problem.name][0], problem.size, problem.size) in problem.correct
        }
        solved[player] = right
        _, low, high = wilson_interval(len(right), len(asked))
        visits = statistics.median(visits for _, visits in answers.values())
        print(
            f"{player}: {len(right)} of {len(asked)} solved, {len(right) / len(asked):.1%} "
            f"({low:.1%} to {high:.1%}), {visits:,.0f} visits in the median"
        )
    only = {player: len(solved[player] - solved[other]) for player, other in zip(players, players[::-1], strict=True)}
    print("solved by one alone: " + ", ".join(f"{player} {count}" for player, count in only.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--net", required=True)
    parser.add_argument("--katago", required=True)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--for", dest="lasting", type=float, default=float("inf"), metavar="SECONDS")
    options = parser.parse_args()
    problems = read_problems(options.file)
    random.Random(1).shuffle(problems)
    problems = problems[: options.limit]
    net = str(Path(options.net).resolve())
    keima = [sys.executable, str(ROOT / "keima.py"), "analysis", "--net", net, "-analysis-threads", "1"]
    commands = {
        "Keima": [*keima, "--threads", str(options.threads)],
        "KataGo": [options.katago, "analysis", "-model", net, "-config", "analysis.cfg"],
    }
    show(ask(commands, problems, options), problems)


if __name__ == "__main__":
    main()
