"""Compares scores and dead stones of finished games with a reference: `python -m tests.scores`.

The engine is a GTP process, asked as a controller asks after two passes. Its score must always be what a literal count
gives once the stones that it lists as dead are off the board, and it must agree with 99 % of the games by area and
with 95 % of those by territory, see `tests.scores.opinions`. `--out FILE` keeps a line a game, and goes on from there.
"""

import argparse
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

from engine.support.files import append_line, whole_lines
from tests.conformity.driver import Controller
from tests.scores.games import FinishedGame, by_area, by_territory, golden_games, names, recorded_games
from tests.scores.opinions import Opinion, opinion, set_up
from tests.shared import SHARED

LEAST_AGREEING = {"area": 0.99, "territory": 0.95}
RECORDS = (("strong9", "area", by_area), ("kgs6d", "territory", by_territory), ("kgs6d", "area", by_area))
"""Files of records, and the games of each that are counted."""
_PROGRESS_EVERY = 25


@dataclass(frozen=True)
class Outcome:
    """What an engine said of one game.

    score, reference: Black minus White. dead: by the engine. agrees: with the reference, in score and, where the
    reference names them, in dead stones. literal: the count without the stones that the engine calls dead.
    confirmed: whether other programs' dead stones lead to the reference, None where none was asked.
    """

    set: str
    name: str
    rules: str
    score: float
    reference: float
    literal: float
    dead: str
    agrees: bool
    confirmed: bool | None

    @property
    def is_consistent(self) -> bool:
        """True if the engine's own dead stones lead to its own score."""
        return self.score == self.literal

    def __str__(self) -> str:
        """Return what is worth looking at."""
        doubt = "" if self.confirmed is None else ", confirmed" if self.confirmed else ", not confirmed"
        return (
            f"{self.set}: {self.name}: score {self.score:g}, literally {self.literal:g}, "
            f"reference {self.reference:g}{doubt}, dead: {self.dead or 'none'}"
        )


def finished_games(most: int, only: str) -> Iterator[tuple[str, str, Iterator[FinishedGame], Counter[str]]]:
    """Yield each set of games: its name, "area" or "territory", the games, why others were left out."""
    for rules in LEAST_AGREEING:
        if f"golden, by {rules}".startswith(only):
            yield f"golden, by {rules}", rules, golden_games(SHARED / "golden", rules), Counter()
    for name, rules, wanted in RECORDS:
        if not f"{name}, by {rules}".startswith(only):
            continue
        left_out: Counter[str] = Counter()
        games = recorded_games(SHARED / "games" / f"{name}.sgfl.bz2", wanted, left_out)
        yield f"{name}, by {rules}", rules, islice(games, most), left_out


def judge(engine: Controller, others: list[Controller], finished: FinishedGame, name: str, rules: str) -> Outcome:
    """Ask an engine for score and dead stones of one game, and others whether the reference can be right."""
    set_up(engine, finished)
    found: Opinion = opinion(engine, finished)
    agrees = found.score == finished.score and finished.dead in (None, found.dead)
    confirmed = True if finished.dead is not None else None
    if others and finished.dead is None:
        confirmed = False
        for other in others:
            set_up(other, finished)
            confirmed = confirmed or opinion(other, finished).literal == finished.score
    dead = names(finished.game, found.dead)
    return Outcome(name, finished.name, rules, found.score, finished.score, found.literal, dead, agrees, confirmed)


def outcomes(engine: Controller, others: list[Controller], most: int, only: str, out: Path | None) -> Iterator[Outcome]:
    """Yield the outcome of every game, as kept in the file or asked for now; tell what was left out."""
    lines = whole_lines(out) if out and out.exists() else []
    kept = {(line["set"], line["name"]): line for line in map(json.loads, lines)}
    for name, rules, games, left_out in finished_games(most, only):
        for number, finished in enumerate(games, 1):
            if (name, finished.name) in kept:
                yield Outcome(**kept[name, finished.name])
                continue
            outcome = judge(engine, others, finished, name, rules)
            if out:
                append_line(out, json.dumps(asdict(outcome)))
            if number % _PROGRESS_EVERY == 0:
                print(f"{name}: {number} games", file=sys.stderr, flush=True)
            yield outcome
        if left_out:
            reasons = ", ".join(f"{reason} {count}" for reason, count in left_out.most_common())
            print(f"{name}: counted games left out on the way: {reasons}", flush=True)


def report(found: list[Outcome]) -> bool:
    """Print the table, and return True if every limit is kept.

    Where other programs were asked, a game whose reference none of them can confirm is no measure of the engine.
    """
    passed = bool(found)
    print(
        f"{'set':22} {'games':>5} {'agree':>5} {'share':>8}   "
        f"{'confirmed':>9} {'agree':>5} {'share':>8} {'consistent':>11}"
    )
    groups = {name: [each for each in found if each.set == name] for name in dict.fromkeys(each.set for each in found)}
    groups |= {f"all by {rules}": [each for each in found if each.rules == rules] for rules in LEAST_AGREEING}
    for title, chosen in groups.items():
        measure = [each for each in chosen if each.confirmed is not False]
        agreeing, sure = (sum(each.agrees for each in some) for some in (chosen, measure))
        consistent = sum(each.is_consistent for each in chosen)
        share = sure / max(1, len(measure))
        print(
            f"{title:22} {len(chosen):5} {agreeing:5} {agreeing / max(1, len(chosen)):8.2%}   "
            f"{len(measure):9} {sure:5} {share:8.2%} {consistent:11}"
        )
        passed &= consistent == len(chosen)
        passed &= share >= LEAST_AGREEING.get(title.removeprefix("all by "), 0)
    return passed


def main() -> int:
    """Print every disagreement and the table; return 1 if a limit is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.scores", description="Compare scores of finished games.")
    parser.add_argument("--games", type=int, default=300, help="games of every set of records")
    parser.add_argument("--only", default="", help="how the names of the sets begin that are asked for")
    parser.add_argument("--out", type=Path, help="file of outcomes, which goes on where it ends")
    parser.add_argument("--second", action="append", default=[], help="a GTP program to confirm records by")
    parser.add_argument("engine", nargs="+", help="the command of the engine")
    asked = parser.parse_args()
    with ExitStack() as stack:
        engine = stack.enter_context(Controller(asked.engine))
        others = [stack.enter_context(Controller(shlex.split(command))) for command in asked.second]
        found = []
        for outcome in outcomes(engine, others, asked.games, asked.only, asked.out):
            found.append(outcome)
            if not (outcome.agrees and outcome.is_consistent):
                print(outcome, flush=True)
        for each in (engine, *others):
            each.ask("quit")
    return 0 if report(found) else 1


if __name__ == "__main__":
    sys.exit(main())
