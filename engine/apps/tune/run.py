"""Runs `keima tune`: measures the default, tries sets, compares the best one on other positions, and in games."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from statistics import fmean
from typing import IO

from engine.apps.quality.choices import default_params
from engine.apps.quality.positions import Position, default_records, positions_of
from engine.apps.quality.reference import Reference
from engine.apps.quality.statistics import Regrets, regrets
from engine.apps.tune.confirm import Confirmation, confirm
from engine.apps.tune.journal import Journal, Trial
from engine.apps.tune.measuring import Chosen, Measuring, with_cache
from engine.apps.tune.optimizer import Finished, propose
from engine.apps.tune.ranges import Set, as_texts
from engine.apps.tune.report import json_of, tables, write_report
from engine.apps.tune.results import Tuned
from engine.apps.tune.settings import POINTS, WINRATE, TuneSettings
from engine.apps.tune.workers import Workplace, in_processes
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.search.params import SearchParams, with_settings
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.run_kinds import TUNE, claimed_run
from engine.support.stopping import INTERRUPTED
from engine.support.tables import print_tables

_MOVES_TO_JUDGE = 2
"""Expected number of moves of a position that are judged, for the estimate of the time left."""


def cli_tune(
    settings: TuneSettings,
    open_evaluator: Callable[[], Evaluator],
    *,
    as_json: bool = False,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Tune, print tables or JSON, and return the exit status: 0, or 130 after Ctrl-C, with what was found so far.

    open_evaluator: picklable; called after the settings were checked, in each process. Raises GoError or BadSgf.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    records = settings.records or tuple(default_records())
    tuned = Tuned(settings)
    with (
        claimed_run(settings.out, TUNE),
        closing(with_cache(open_evaluator())) as evaluator,
        ProgressBar(errors) as bar,
    ):
        params = default_params(evaluator)
        with_settings(params, settings.fixed)  # raises GoError now, not in another process
        bar.update("choosing positions")
        chosen = positions_of(records, settings.size, settings.positions + settings.held, evaluator)
        reference = Reference(evaluator, params, settings.reference_visits, settings.network, settings.out)
        workplace = Workplace(
            open_evaluator, settings.fixed, settings.visits, settings.reference_visits, settings.network
        )
        with _measuring(settings, workplace, reference, evaluator) as measuring:
            run = Run(tuned, params, measuring, reference, _divided(chosen, settings), bar)
            try:
                run.tune()
                interrupted = False
            except KeyboardInterrupt:
                interrupted = True
    if as_json:
        screen.write(json_text(json_of(tuned), indent=1) + "\n")
    else:
        print_tables(screen, tables(tuned))
    write_report(tuned, errors)
    return INTERRUPTED if interrupted else 0


@contextmanager
def _measuring(
    settings: TuneSettings, workplace: Workplace, reference: Reference, evaluator: Evaluator
) -> Iterator[Measuring]:
    """Yield what measures: this process, or others."""
    if settings.jobs == 1:
        yield workplace.measuring(reference, evaluator)
    else:
        with in_processes(workplace, reference, settings.jobs) as measuring:
            yield measuring


def _divided(found: Sequence[Position], settings: TuneSettings) -> tuple[Sequence[Position], Sequence[Position]]:
    """Return the positions to tune on and the held ones. Raises GoError if there are not enough."""
    wanted = settings.positions + settings.held
    if len(found) < wanted:
        raise GoError(
            f"the records have {len(found)} positions on {'x'.join(map(str, settings.size))}, "
            f"--positions and --held ask for {wanted}"
        )
    return found[: settings.positions], found[settings.positions :]


@dataclass
class Run:
    """One run.

    defaults: of the searches. positions: those to tune on, and the held ones. tuned: receives the results.
    """

    tuned: Tuned
    defaults: SearchParams
    measuring: Measuring
    reference: Reference
    positions: tuple[Sequence[Position], Sequence[Position]]
    bar: ProgressBar

    def tune(self) -> None:
        """Try the sets that are missing, then compare the best one with the default."""
        settings, (tuned_on, held) = self.tuned.settings, self.positions
        keys = " ".join(each.key for each in (*tuned_on, *held))
        journal = Journal(settings.out, settings, hashlib.sha256(keys.encode()).hexdigest()[:16])
        self.tuned.trials = journal.trials
        default = self._choose(tuned_on, {}, "the default")
        self.tuned.default = self._regrets(tuned_on, default)
        self._try_sets(journal, default)
        self.tuned.default = self._regrets(tuned_on, default)  # the trials may have found better moves
        best = self.tuned.best
        if best is None:
            return
        if held:
            moves = [self._choose(held, values, "held positions") for values in ({}, best.values)]
            self.tuned.held = [self._regrets(held, each) for each in moves]
        if settings.confirm:
            self.tuned.confirmed = confirm(settings, self.measuring, best.values, self._show_games)

    def _try_sets(self, journal: Journal, default: Chosen) -> None:
        """Try sets until the journal has as many trials as are wanted."""
        settings, begun, before = self.tuned.settings, time.monotonic(), len(journal.trials)
        params = with_settings(self.defaults, settings.fixed)
        # The default is the first set that the optimizer knows; it loses nothing beside itself.
        first = Finished({each.name: getattr(params, each.name) for each in settings.ranges}, 0.0)
        while (done := len(journal.trials)) < settings.trials:
            values = propose(settings.ranges, [first, *journal.finished], settings.seed)
            best = self.tuned.best
            found = "" if best is None else f"; best {best.loss:+.5f} ({as_texts(best.values)})"
            text = f"trial {done + 1} of {settings.trials}: {as_texts(values)}{found}"
            if done > before:
                left = (time.monotonic() - begun) / (done - before) * (settings.trials - done)
                self.bar.update(text, done, settings.trials, left=left)
            else:
                self.bar.update(text)
            journal.add(self._trial(done + 1, values, default))

    def _trial(self, number: int, values: Set, default: Chosen) -> Trial:
        """Measure a set beside the default."""
        tuned_on, objective = self.positions[0], self.tuned.settings.objective
        chosen = self.measuring.choose(tuned_on, values, lambda _: None)
        # Both by the moves that are judged now: in the difference, the best of them cancels out.
        found, before = self._regrets(tuned_on, chosen), self._regrets(tuned_on, default)
        lost = {
            unit: {
                visits: float((getattr(found[visits], unit) - getattr(before[visits], unit)).mean()) for visits in found
            }
            for unit in (WINRATE, POINTS)
        }
        return Trial(number, values, fmean(lost[objective].values()), lost[WINRATE], lost[POINTS])

    def _choose(self, positions: Sequence[Position], values: Set, text: str) -> Chosen:
        """Choose and judge moves, and show how far that is."""
        settings, done, begun = self.tuned.settings, 0, time.monotonic()
        deep = self.reference.visits * self.reference.missing(positions, _MOVES_TO_JUDGE)
        total = len(positions) * sum(settings.visits) + deep

        def report(visits: int) -> None:
            nonlocal done
            done = min(done + visits, total)
            share, left = round(1000 * done / total), (time.monotonic() - begun) * (total - done) / done
            self.bar.update(text, share, 1000, left=left, line=f"{text}: {share / 10:.1f} %")

        self.bar.update(text)
        return self.measuring.choose(positions, values, report)

    def _regrets(self, positions: Sequence[Position], chosen: Chosen) -> dict[int, Regrets]:
        return {visits: regrets(self.reference, positions, choices) for visits, choices in chosen.items()}

    def _show_games(self, confirmed: list[Confirmation]) -> None:
        self.tuned.confirmed = confirmed
        played = sum(len(each.points) for each in confirmed)
        text = "; ".join(
            f"{each.visits} visits: {len(each.points)} games, {each.share.value:.1%}" for each in confirmed
        )
        self.bar.update(f"games, {text}", played, len(confirmed) * self.tuned.settings.confirm)
