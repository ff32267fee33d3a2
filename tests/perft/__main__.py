"""The long run: every known count, then 200,000 positions of random games.

python -m tests.perft [--positions N] [--seed N]
"""

import argparse
import sys
import time

from tests.perft.legal_positions import KNOWN, count_legal_positions
from tests.perft.random_games import Figures, run


def main() -> int:
    """Count and compare; return 1 at the first difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.perft")
    parser.add_argument("--positions", type=int, default=200_000, help="positions of random games to compare")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for (width, height), expected in KNOWN.items():
        start = time.perf_counter()
        found = count_legal_positions(width, height)
        verdict = "ok" if found == expected else f"WRONG, expected {expected}"
        print(f"{width}x{height}: {found} legal positions, {time.perf_counter() - start:.1f} s, {verdict}", flush=True)
        if found != expected:
            return 1
    return compare_games(options.positions, options.seed)


def compare_games(positions: int, seed: int) -> int:
    """Compare random games, telling the progress; return 1 at the first difference."""
    start = said = time.perf_counter()
    figures = Figures()
    try:
        for figures in run(positions, seed):
            now = time.perf_counter()
            if now - said > 10:
                said = now
                print(f"{figures.positions} of {positions} positions, {now - start:.0f} s", flush=True)
    except AssertionError as error:
        print(f"seed {seed}: {error}", file=sys.stderr)
        return 1
    print(f"{figures}; {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
