"""A GTP program that analyzes: it says the same of the first empty point, again and again, until it hears a line.

kata-analyze and lz-analyze go on; kata-genmove_analyze tells three lines and plays, kata-search_analyze_cancellable
tells --lines of them unless it hears something, and does not play. --command WORDS are listed besides,
--refuse WORDS answered with `?`; --dead POINTS are the dead stones; --deaf goes on analyzing for ever, --silent says no
more than one line of an analysis, --delay SECONDS before the first line, --mute NUMBER none after so many moves,
--crash ends at the first genmove, --log FILE keeps every line, --pid FILE the number of the process.
"""

import argparse
import os
import queue
import sys
import threading
import time
from pathlib import Path

BASE = "protocol_version list_commands name version boardsize clear_board komi play undo genmove final_score quit"
COLUMNS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
SECONDS = 0.02
"""Between two lines of an analysis."""


def info(size: int, move: str, visits: int) -> str:
    """Return a line of an analysis: all points are said to be half Black's."""
    own = " ".join(["0.5"] * size * size)
    move_info = f"info move {move} visits {visits} winrate 0.6 scoreLead 1.5 prior 0.5 order 0 pv {move}"
    return f"{move_info} rootInfo visits {visits} winrate 0.6 scoreLead 1.5 ownership {own}"


def say(text: str) -> None:
    """Write at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def heard_lines() -> "queue.Queue[str]":
    """Return the lines of stdin as they come, and an empty one for its end."""
    heard: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            heard.put(line)
        heard.put("")

    threading.Thread(target=listen, daemon=True).start()
    return heard


def main() -> None:
    """Answer until quit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", default="kata-analyze kata-genmove_analyze")
    parser.add_argument("--refuse", default="")
    parser.add_argument("--log", default="")
    parser.add_argument("--pid", default="")
    parser.add_argument("--lines", type=int, default=3)
    parser.add_argument("--dead", default="")
    parser.add_argument("--resign-at", type=int, default=1000)
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--silent", action="store_true")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--mute", type=int, default=-1)
    parser.add_argument("--crash", action="store_true")
    options = parser.parse_args()
    if options.pid:
        Path(options.pid).write_text(str(os.getpid()))
    listed, size, heard = [*BASE.split(), *options.command.split()], 9, heard_lines()
    played: list[str] = []
    while line := heard.get():
        command, *words = line.split()
        if options.log:
            with Path(options.log).open("a", encoding="utf-8") as file:
                file.write(line)
        if command not in listed or command in options.refuse.split():
            say("? cannot\n\n")
            continue
        free = (f"{column}{row + 1}" for row in range(size) for column in COLUMNS[:size])
        move = next((point for point in free if point not in played), "pass")
        if len(played) >= options.resign_at:
            move = "resign"
        if "genmove" in command and options.crash:
            sys.stderr.write("out of ideas\n")
            sys.exit(3)
        say("=")
        if command == "list_commands":
            say(" " + "\n".join(listed))
        elif command == "boardsize":
            size = int(words[0])
        elif command == "clear_board":
            played = []
        elif command == "play":
            played.append(words[1].upper())
        elif command == "undo":
            played.pop()
        elif command == "final_score":
            say(" B+2.5")
        elif command == "final_status_list":
            say(f" {options.dead}")
        elif command == "kata-get-param":
            say({"maxTime": " 5", "maxVisits": f" {1 << 50}"}[words[0]])
        elif command == "name":
            say(" Analyst")
        elif command == "genmove":
            say(f" {move}")
            played.append(move)
        elif command.endswith("genmove_analyze"):
            for visits in (1, 2, 3):
                say("\n" + info(size, move, visits))
            say(f"\nplay {move}")
            played.append(move)
        elif command.endswith("cancellable"):
            for visits in range(1, options.lines + 1):
                say("\n" + info(size, move, visits))
                time.sleep(SECONDS)
                if not heard.empty():
                    move = "cancelled"
                    break
            say(f"\nplay {move}")
        elif command.endswith("analyze"):
            say("\n")
            visits, first = 1, time.monotonic() + options.delay
            while heard.empty() or options.deaf:
                is_early = time.monotonic() < first
                if not is_early and len(played) != options.mute and (not options.silent or visits == 1):
                    say(info(size, move, visits) + "\n")
                visits += not is_early
                time.sleep(SECONDS)
        say("\n\n")
        if command == "quit":
            return


if __name__ == "__main__":
    main()
