"""A scripted GTP program: it plays the moves of its command line, and misbehaves where they say so.

Each genmove takes the next word of --moves, from the start again after clear_board, and passes
after the last. Words that are no moves: !crash !silent !hang (!hang outlives SIGTERM) !garbage
(text in place of an answer) !noise (a move, then text nobody asked for) !partial (an answer without
its end) !flood (lines without end) !fail (`? cannot`) !error:TEXT (`? TEXT`) !slow:SECONDS:MOVE
!meet:COUNT:MOVE (a move as soon as COUNT genmoves have begun that note it in the same --thoughts).
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

COMMANDS = "protocol_version name version list_commands boardsize clear_board komi play genmove quit"


def parsed_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", default="Fake")
    parser.add_argument("--moves", default="")
    parser.add_argument("--score", default="")
    parser.add_argument("--also", default="", help="further commands to list and to accept")
    parser.add_argument("--refuse", default="", help="commands answered with ?")
    parser.add_argument("--log", default="", help="file to append every command line to")
    parser.add_argument("--load", type=float, default=0.0, help="seconds that the first genmove takes longer")
    parser.add_argument("--thoughts", default="", help="file to append the begin and the end of every genmove to")
    parser.add_argument("--once", default="", help="file that a !crash leaves, after which it is no crash any more")
    return parser.parse_args()


def reply(text: str = "", status: str = "=") -> None:
    """Answer a command."""
    sys.stdout.write(f"{status} {text}\n\n")
    sys.stdout.flush()


def raw(text: str) -> None:
    """Write text that is no answer."""
    sys.stdout.write(text)
    sys.stdout.flush()


def wait_for_ever() -> None:
    """Hang, SIGTERM or not."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


def note(path: str, text: str) -> None:
    """Append a line to a file, if there is one."""
    if path:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(text + "\n")


def genmove(word: str, once: str) -> None:
    """Answer one genmove as the word says."""
    kind, *rest = word.split(":")
    if kind == "!crash":
        if once and Path(once).exists():
            reply("pass")
            return
        if once:
            Path(once).touch()
        sys.stderr.write("out of luck\n")
        sys.stderr.flush()
        os._exit(3)
    elif kind in ("!silent", "!hang"):
        wait_for_ever()
    elif kind == "!garbage":
        raw("Segmentation thoughts\n\n")
    elif kind == "!noise":
        reply(rest[0])
        raw("by the way\n")
    elif kind == "!partial":
        raw("= C3\n")
        wait_for_ever()
    elif kind == "!flood":
        while True:
            raw("= a line\n" * 100)
    elif kind == "!fail":
        reply("cannot", "?")
    elif kind == "!error":
        reply(rest[0], "?")
    else:
        reply(word)


def main() -> None:
    """Answer commands until quit or the end of the input."""
    options = parsed_arguments()
    answers = {"name": options.name, "version": "1", "protocol_version": "2", "final_score": options.score}
    listed = [*COMMANDS.split(), *options.also.split(), *(["final_score"] if options.score else [])]
    answers["list_commands"] = "\n".join(listed)
    script: list[str] = []
    for line in sys.stdin:
        command = line.split()[0]
        note(options.log, line.rstrip("\n"))
        if command in options.refuse.split():
            reply("refused", "?")
        elif command == "quit":
            reply()
            return
        elif command == "clear_board":
            script = options.moves.split()
            reply()
        elif command == "genmove":
            time.sleep(options.load)
            options.load = 0.0
            note(options.thoughts, "begin")
            word = script.pop(0) if script else "pass"
            if word.startswith("!slow:"):
                _, seconds, word = word.split(":")
                time.sleep(float(seconds))
            elif word.startswith("!meet:"):
                _, count, word = word.split(":")
                while Path(options.thoughts).read_text(encoding="utf-8").count("begin") < int(count):
                    time.sleep(0.01)
            note(options.thoughts, "end")
            genmove(word, options.once)
        elif command in listed:
            reply(answers.get(command, ""))
        else:
            reply("unknown command", "?")


if __name__ == "__main__":
    main()
