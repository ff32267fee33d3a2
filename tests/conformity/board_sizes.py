"""An engine whose board size changes again and again, its memory and its threads measured.

Run `python -m tests.conformity.board_sizes --changes 1000 -- COMMAND...`. Each change is followed by `genmove`. Prints
the resident memory and the number of threads now and then; exits with 1 if memory grows beyond the use of the first
size by more than `--most` MiB.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from tests.conformity.driver import Controller
from tests.soak.figures import usage

_SECONDS = 900.0
_REPORTS = 20
_PAUSE = 5.0


class Use(NamedTuple):
    """What an engine used after a change: memory in MiB, and threads."""

    width: int
    height: int
    memory: float
    threads: int


def changes(engine: Controller, count: int, sides: tuple[int, int], seed: int) -> Iterator[Use]:
    """Change the board size `count` times and have a move generated each time. Raises ValueError on an error reply."""
    chance = random.Random(seed)
    for number in range(count):
        width, height = (19, 19) if number == 0 else (chance.randint(*sides), chance.randint(*sides))
        for command in (f"boardsize {width} {height}", "clear_board", "genmove b"):
            reply = engine.ask(command, _SECONDS)
            if not reply.startswith("="):
                raise ValueError(f"{command} was answered {reply!r}")
        pid = engine.process.pid
        if number == 0:
            _settle(pid)
        memory, threads, _ = usage(pid)
        yield Use(width, height, memory, threads)


def _settle(pid: int) -> None:
    """Wait until memory no longer grows: models for larger batches are compiled in the background."""
    before = 0.0
    while (now := usage(pid)[0]) > before + 1:
        before = now
        time.sleep(_PAUSE)


def main() -> int:
    """Run from the command line; return 1 if memory grew."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=1000)
    parser.add_argument("--sides", default="5,19", help="smallest and largest side")
    parser.add_argument("--most", type=float, default=150.0, help="MiB more than after the first size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+", help="the engine")
    options = parser.parse_args()
    smallest, largest = (int(side) for side in options.sides.split(","))
    uses: list[Use] = []
    with Controller(options.command) as engine:
        for use in changes(engine, options.changes, (smallest, largest), options.seed):
            uses.append(use)
            if len(uses) == 1 or len(uses) % max(1, options.changes // _REPORTS) == 0:
                print(
                    f"{len(uses):5}: {use.width}x{use.height}, {use.memory:.0f} MiB, {use.threads} threads", flush=True
                )
    first, most = uses[0].memory, max(use.memory for use in uses)
    print(f"first {first:.0f} MiB, most {most:.0f} MiB, threads at most {max(use.threads for use in uses)}")
    return int(most > first + options.most)


if __name__ == "__main__":
    sys.exit(main())
