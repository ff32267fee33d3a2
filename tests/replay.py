"""Replays collections of real games: every move must be legal.

    python -m tests.replay [--games N] [NAME ...]

Games are read by `engine.records.sgf` and played by `engine.game` under the rules of each record; as in any
record, superko and multi-stone suicide are accepted, an occupied point or a retaken ko is not.
"""

import argparse
import itertools
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import BadSgf
from engine.records.sgf import iterate_sgfl, load_sgf
from engine.vertex import PASS
from tests.shared import SHARED

WHOLE = {"strong9", "small13", "ogs9_10k_plus"}
"""Collections that are replayed to their end; of the others, all on 19x19, the first so many games."""
_SHOWN = 5


@dataclass
class Replayed:
    """What the replay of one collection has met."""

    games: int = 0
    positions: int = 0
    passes: int = 0
    resigned: int = 0
    warnings: int = 0
    refused: list[str] = field(default_factory=list)

    def add(self, text: bytes, name: str) -> None:
        """Replay one game and count."""
        self.games += 1
        try:
            record = load_sgf(text, name=name)
            game = record.game()
        except BadSgf as error:
            self.refused.append(str(error))
            return
        self.positions += game.move_number
        self.passes += sum(move.vertex == PASS for move in game.moves)
        self.resigned += record.result.upper().endswith(("+R", "+RESIGN"))
        self.warnings += bool(record.warnings)


def collections() -> list[Path]:
    """Return the collections of games at hand."""
    return sorted((SHARED / "games").glob("*.sgfl.bz2"))


def replay(path: Path, limit: int | None = None) -> Replayed:
    """Replay the first `limit` games of a collection, or all of them."""
    result = Replayed()
    for number, text in enumerate(itertools.islice(iterate_sgfl(path), limit), 1):
        result.add(text, f"{path.name}: line {number}")
    return result


def main() -> int:
    """Replay and print figures by collection; return 1 if a game cannot be replayed or there is none."""
    parser = argparse.ArgumentParser(prog="python -m tests.replay")
    parser.add_argument("names", nargs="*", help="collections such as pro19; all by default")
    parser.add_argument("--games", type=int, default=2_500, help="games of each 19x19 collection")
    options = parser.parse_args()
    games = refused = 0
    for path in collections():
        name = path.name.split(".")[0]
        if options.names and name not in options.names:
            continue
        start = time.perf_counter()
        found = replay(path, None if name in WHOLE else options.games)
        seconds = time.perf_counter() - start
        games += found.games
        refused += len(found.refused)
        print(
            f"{name}: {found.games} games, {found.positions} positions ({found.passes} passes, "
            f"{found.resigned} games resigned), {found.positions / seconds:.0f} positions/s, "
            f"{len(found.refused)} refused",
            flush=True,
        )
        for line in found.refused[:_SHOWN]:
            print(f"  {line}")
    if not games:
        print(f"no games in {SHARED / 'games'}", file=sys.stderr)
    return 1 if refused or not games else 0


if __name__ == "__main__":
    sys.exit(main())
