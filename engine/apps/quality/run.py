"""Runs `keima bench --quality`: chooses positions and moves, judges them, and prints what they lose."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import IO

from engine.apps.bench.effort import name_of
from engine.apps.quality.choices import Choices, Chooser, Limit, ProgramChooser, SearchChooser, default_params
from engine.apps.quality.positions import Position, default_records, positions_of
from engine.apps.quality.reference import Reference
from engine.apps.quality.report import Measured, json_of, tables
from engine.apps.quality.settings import QualitySettings
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.evaluators.cache import CachedEvaluator
from engine.search.params import SearchParams, with_settings
from engine.support.files import claimed
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.stopping import INTERRUPTED
from engine.support.tables import print_tables

KATAGO = "KataGo"
BASE = "default"
_CACHE_MIB = 256.0
_CHUNK = 64
"""Positions that go through all searches together, few enough for their evaluations to stay in the cache."""
_MOVES_TO_JUDGE = 2.5
"""Expected number of moves of a position that are judged, for the estimate of the time left."""
_VISITS_PER_SECOND = 1000.0
"""The same for searches by time."""


def cli_quality(
    settings: QualitySettings,
    open_evaluator: Callable[[], Evaluator],
    *,
    as_json: bool = False,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Measure, print tables or JSON, and return the exit status: 0, or 130 after Ctrl-C, with what was measured so far.

    open_evaluator: called after the settings were checked. Raises GoError or BadSgf.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    records = settings.records or tuple(default_records())
    compared = _compared(settings)
    with closing(open_evaluator()) as evaluator, claimed(settings.out):
        params = _params(evaluator, settings, compared)
        bench = _Bench(settings, evaluator, params)
        interrupted = False
        with bench.open(), ProgressBar(errors) as bar:
            try:
                for size in settings.sizes:
                    count = -(-settings.positions // len(settings.sizes))
                    bar.update(f"choosing positions on {name_of(size)}")
                    bench.add(size, positions_of(records, size, count, evaluator))
                if not bench.positions:
                    raise GoError(
                        f"the records have no positions on boards of {' '.join(map(name_of, settings.sizes))}"
                    )
                bench.measure(bar)
            except KeyboardInterrupt:
                interrupted = True
    if as_json:
        screen.write(json_text(json_of(settings, bench.measured), indent=1) + "\n")
    else:
        print_tables(screen, tables(settings, bench.measured))
    return INTERRUPTED if interrupted else 0


def _compared(settings: QualitySettings) -> dict[str, dict[str, str]]:
    """Return the search parameters of each setting by its name, the base first. Raises GoError for a malformed one."""
    found = {" ".join(f"{key}={value}" for key, value in settings.base.items()) or BASE: dict(settings.base)}
    for text in settings.compared:
        pairs = [each.partition("=") for each in text.replace(",", " ").split()]
        if not pairs or not all(equals for _, equals, _ in pairs):
            raise GoError(f"--compare {text!r}: expected key=value, several separated by commas")
        found[text] = settings.base | {key: value for key, _, value in pairs}
    return found


def _params(
    evaluator: Evaluator, settings: QualitySettings, compared: Mapping[str, Mapping[str, str]]
) -> dict[str, SearchParams]:
    defaults = default_params(evaluator)
    return {name: with_settings(defaults, changes) for name, changes in compared.items()}


@dataclass
class _Bench:
    """One run. measured: by board size, the positions that are finished, with all their choices."""

    settings: QualitySettings
    evaluator: Evaluator
    params: Mapping[str, SearchParams]
    positions: dict[tuple[int, int], list[Position]] = field(default_factory=dict)
    measured: list[Measured] = field(default_factory=list)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Create the reference and what chooses moves; close them after the block."""
        has_cache = not self.evaluator.attributes.has_first_play
        cached = CachedEvaluator(self.evaluator, _CACHE_MIB) if has_cache else self.evaluator
        settings = self.settings
        self._limits = [Limit(visits=each) for each in settings.visits]
        self._limits += [Limit(seconds=each) for each in settings.seconds]
        self.reference = Reference(
            cached, default_params(self.evaluator), settings.reference_visits, settings.network, settings.out
        )
        self.choosers: dict[str, Chooser] = {
            name: SearchChooser(self.evaluator, cached, params) for name, params in self.params.items()
        }
        if settings.katago:
            self.choosers[KATAGO] = ProgramChooser(settings.katago)
        try:
            yield
        finally:
            for chooser in self.choosers.values():
                chooser.close()

    def add(self, size: tuple[int, int], positions: list[Position]) -> None:
        """Add the positions of a board size."""
        if positions:
            self.positions[size] = positions

    def measure(self, bar: ProgressBar) -> None:
        """Choose and judge moves in all positions."""
        each_limit = sum(self._work(limit) for limit in self._limits) * len(self.choosers)
        every = [each for positions in self.positions.values() for each in positions]
        deep = self.reference.visits * self.reference.missing(every, round(_MOVES_TO_JUDGE))
        self._bar, self._done, self._total = bar, 0.0, each_limit * len(every) + deep
        for size, positions in self.positions.items():
            measured = Measured(name_of(size), self.reference)
            self.measured.append(measured)
            for first in range(0, len(positions), _CHUNK):
                self._measure(measured, positions[first : first + _CHUNK])

    def _measure(self, measured: Measured, positions: Sequence[Position]) -> None:
        choices: dict[tuple[str, Limit], Choices] = {}
        for limit in self._limits:
            if limit.seconds is None:
                for name, chooser in self.choosers.items():
                    choices[name, limit] = chooser.choose(positions, limit, self._report(limit, f"{name}, {limit}"))
            else:
                self._choose_in_turns(choices, limit, positions)
        wanted = {each.key: {found[each.key].vertex for found in choices.values()} for each in positions}
        deep = Limit(visits=self.reference.visits)
        self.reference.judge(positions, wanted, self._report(deep, f"reference, {deep}"))
        measured.add(positions, choices)

    def _choose_in_turns(
        self, choices: dict[tuple[str, Limit], Choices], limit: Limit, positions: Sequence[Position]
    ) -> None:
        """Choose moves by time, all settings in one position before the next: the machine's load changes."""
        names = list(self.choosers)
        for name in names:
            choices[name, limit] = {}
        for place, position in enumerate(positions):
            for name in names if place % 2 == 0 else reversed(names):
                report = self._report(limit, f"{name}, {limit}")
                choices[name, limit] |= self.choosers[name].choose([position], limit, report)

    def _work(self, limit: Limit) -> float:
        return limit.visits if limit.visits is not None else _VISITS_PER_SECOND * (limit.seconds or 0.0)

    def _report(self, limit: Limit, text: str) -> Callable[[], None]:
        """Return a function that adds one search to the progress."""

        def report() -> None:
            self._done = min(self._done + self._work(limit), self._total)
            share = round(1000 * self._done / self._total)
            self._bar.update(text, share, 1000, line=f"{share / 10:.1f} %: {text}")

        return report
