"""Feeds damaged, odd and hostile input to everything that takes bytes from outside: `make fuzz MINUTES=5`.

Run `python -m tests.fuzz --minutes 5 --seed 1 [TARGET...]`. Each target gets an equal share of the time, or `--cases`
of its cases; its corpus in tests/fuzz/corpus is replayed first. The seed and the number of a case determine it. A case
that fails is saved in the corpus and named in the report; exits with 1 if any does.
"""

import argparse
import sys
import time

from tests.fuzz.target import names
from tests.fuzz.watch import Outcome, Watch, save


def fuzz(name: str, seed: int, first: int, cases: int | None, seconds: float | None) -> Outcome:
    """Run one target and print each failure as it is found."""

    def on_failure(label: str, why: str) -> None:
        print(f"{name}, seed {seed}, case {label} failed, see {save(name, seed, label)}:\n{why}", flush=True)

    outcome = Watch(name, seed, first).run(cases, seconds, on_failure)
    print(outcome.report(), flush=True)
    return outcome


def main() -> int:
    """Run from the command line; return 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(names())}; default: all")
    parser.add_argument("--minutes", type=float, help="of all targets together (default: 5 without --cases)")
    parser.add_argument("--cases", type=int, help="of each target, instead of a time")
    parser.add_argument("--first", type=int, default=0, help="number of the first case: continues an earlier run")
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000, help="default: from the clock")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(names()):
        parser.error(f"unknown target {', '.join(sorted(unknown))}: expected {', '.join(names())}")
    chosen = options.targets or names()
    minutes = 5.0 if options.minutes is None and options.cases is None else options.minutes
    seconds = None if minutes is None else 60 * minutes / len(chosen)
    outcomes = [fuzz(name, options.seed, options.first, options.cases, seconds) for name in chosen]
    return 1 if any(outcome.failures for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
