"""Compares Keima and KataGo on problems: the same framed positions, the same network, the same time for each.

    python -m tests.apps.solve.beside_katago FILE.jsonl.gz --net NET --katago KATAGO --seconds 0.5 --limit 200

Both programs get JSON queries, one at a time, with the points that both sides may play, and answer with their best
move.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.apps.solve.problems import Problem, read_problems
from engine.apps.solve.solver import pose
from engine.color import BLACK, WHITE, color_letter
from engine.support.elo import wilson_interval
from engine.vertex import format_vertex, parse_vertex, points

ROOT = Path(__file__).resolve().parents[3]
ENDLESS = 1000
CONFIG = "logDir = logs\nnumAnalysisThreads = 1\nnumSearchThreadsPerAnalysisThread = {threads}\nnnMaxBatchSize = 16\n"


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


def answers(
    command: Sequence[str], problems: Sequence[Problem], seconds: float, folder: Path
) -> dict[str, tuple[int, int]]:
    """Return the best move of each problem, as a vertex, and the visits of its search."""
    found = {}
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        for problem in (problems[0], *problems):  # the first one twice: its first answer waits for the network
            program.stdin.write(json.dumps(query(problem, seconds)) + "\n")
            program.stdin.flush()
            answer = json.loads(program.stdout.readline())
            if "moveInfos" not in answer:
                raise SystemExit(f"{command[0]}: {answer}")
            best = min(answer["moveInfos"], key=lambda info: info["order"])
            found[problem.name] = (parse_vertex(best["move"], problem.size, problem.size), answer["rootInfo"]["visits"])
        program.stdin.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--net", required=True)
    parser.add_argument("--katago", required=True)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    problems = read_problems(asked.file)
    random.Random(1).shuffle(problems)
    problems = problems[: asked.limit]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "analysis.cfg").write_text(CONFIG.format(threads=asked.threads), encoding="ascii")
        net = str(Path(asked.net).resolve())
        commands = {
            "Keima": [
                sys.executable,
                str(ROOT / "keima.py"),
                "analysis",
                "--net",
                net,
                "--threads",
                str(asked.threads),
                "-analysis-threads",
                "1",
            ],
            "KataGo": [asked.katago, "analysis", "-model", net, "-config", "analysis.cfg"],
        }
        solved = {}
        for player, command in commands.items():
            found = answers(command, problems, asked.seconds, folder)
            right = {problem.name for problem in problems if found[problem.name][0] in problem.correct}
            _, low, high = wilson_interval(len(right), len(problems))
            visits = sorted(visits for _, visits in found.values())[len(found) // 2]
            solved[player] = right
            print(
                f"{player}: {len(right)} of {len(problems)} solved, {len(right) / len(problems):.1%} "
                f"({low:.1%} to {high:.1%}), {visits:,} visits in the median"
            )
        only = {
            player: len(right - solved[other])
            for (player, right), other in zip(solved.items(), [*solved][::-1], strict=True)
        }
        print("solved by one alone: " + ", ".join(f"{player} {count}" for player, count in only.items()))


if __name__ == "__main__":
    main()
