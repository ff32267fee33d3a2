"""A GTP program for tests of teachers: it lists the configured commands and answers them by rule.

genmove and reg_genmove name the first empty point from A1 on. Score answers are those of --score.
--refuse COMMANDS answers them with `?`, --crash FILE COUNT ends the program at its first COUNT questions of any
process (the file counts them), --log FILE keeps every line. --view COLOR analyzes in this color's view and refuses
any other.
"""

import argparse
import os
import sys
from pathlib import Path

BASE = "list_commands name version boardsize clear_board komi play quit"
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
QUESTIONS = {"genmove", "reg_genmove", "kata-raw-nn", "kata-search_analyze", "kata-genmove_analyze", "estimate_score"}


def network_answer(size: int, played: int) -> str:
    """Return the output of kata-raw-nn: certain of A1, White ahead by one point for each stone played."""
    rows = [["0.0"] * size for _ in range(size)]
    rows[-1][0] = "0.75"
    rows[0][0] = "NAN"
    own = "\n".join([" ".join(["-0.5"] * size)] * size)
    board = "\n".join(" ".join(row) for row in rows)
    return (
        f"symmetry 0\nwhiteWin 0.700000\nwhiteLoss 0.200000\nnoResult 0.100000\nwhiteLead 1.0\n"
        f"whiteScoreSelfplay {played}.5\nwhiteScoreSelfplaySq 9.0\nvarTimeLeft 1.0\npolicy\n{board}\n"
        f"policyPass 0.25\nwhiteOwnership\n{own}"
    )


def analysis_answer(size: int, color: str, komi: float, view: str) -> str:
    """Return an analysis: three visits for A1, one for a pass; the side to move is ahead, or Black with a low komi."""
    won = 0.625 if komi > -50 else 0.99 if color == "black" else 0.01
    sign, winrate = (1, won) if view in ("", color) else (-1, 1 - won)
    own = " ".join([str(sign * 0.25)] * size * size)
    return (
        "info move A1 visits 1 winrate 0.5 order 0 pv A1\n"
        "info move A1 visits 3 edgeVisits 3 winrate 0.6 order 0 pv A1 B1 "
        "info move pass visits 1 edgeVisits 1 winrate 0.5 order 1 pv pass "
        f"rootInfo visits 5 utility 0.1 winrate {winrate} scoreLead {sign * 2.5} scoreSelfplay 3.5 ownership {own}"
    )


def crashes(path: str, count: int) -> bool:
    """Return whether this question is one of the first `count`, and count it."""
    if not path:
        return False
    file = Path(path)
    seen = int(file.read_text(encoding="utf-8")) if file.exists() else 0
    file.write_text(str(seen + 1), encoding="utf-8")
    return seen < count


def main() -> None:
    """Answer until quit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--also", default="genmove")
    parser.add_argument("--score", default="B+3.5 (upper bound: 4.5, lower: 2.5)")
    parser.add_argument("--refuse", default="")
    parser.add_argument("--move", default="")
    parser.add_argument("--view", default="")
    parser.add_argument("--log", default="")
    parser.add_argument("--crash", nargs=2, default=["", "0"])
    options = parser.parse_args()
    listed, size, komi = [*BASE.split(), *options.also.split()], 9, 0.0
    played: list[str] = []
    for line in sys.stdin:
        command, *words = line.split()
        if options.log:
            with Path(options.log).open("a", encoding="utf-8") as file:
                file.write(line)
        free = (f"{column}{row + 1}" for row in range(size) for column in COLUMNS[:size])
        move = options.move or next((point for point in free if point not in played), "pass")
        if command in QUESTIONS and crashes(options.crash[0], int(options.crash[1])):
            sys.stderr.write("out of ideas\n")
            sys.stderr.flush()
            os._exit(3)
        text = ""
        refused = options.refuse.split() + ["kata-set-param"] * (options.view != "" and "SIDETOMOVE" in words)
        if command in refused or command not in listed:
            sys.stdout.write("? cannot\n\n")
            sys.stdout.flush()
            continue
        if command == "list_commands":
            text = "\n".join(listed)
        elif command == "boardsize":
            size = int(words[0])
        elif command == "clear_board":
            played = []
        elif command == "komi":
            komi = float(words[0])
        elif command == "play":
            played.append(words[1].upper())
        elif command in ("genmove", "reg_genmove"):
            text = move
            if command == "genmove" and move != "resign":
                played.append(move)
        elif command == "undo":
            played.pop()
        elif command in ("estimate_score", "final_score"):
            text = options.score
        elif command == "kata-raw-nn":
            text = network_answer(size, len(played))
        elif command in ("kata-search_analyze", "kata-genmove_analyze"):
            text = "\n" + analysis_answer(size, words[0], komi, options.view) + f"\nplay {move}"
            if command == "kata-genmove_analyze":
                played.append(move)
        sys.stdout.write(f"= {text}\n\n")
        sys.stdout.flush()
        if command == "quit":
            return


if __name__ == "__main__":
    main()
