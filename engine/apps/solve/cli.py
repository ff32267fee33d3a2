"""`keima solve`: problems in, progress on stderr, tables or JSON on stdout, an exit status."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np

from engine.apps.solve.problems import Problem, read_problems
from engine.apps.solve.report import progress_text, summary, tables
from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Answer, Solver
from engine.apps.solve.store import Store
from engine.evaluation.evaluator import Evaluator
from engine.search.params import SearchParams
from engine.support.files import claimed, write_atomically
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.stopping import INTERRUPTED
from engine.vertex import MAX_SIZE


@dataclass(frozen=True)
class Judge:
    """What judges positions, by the name that the figures are kept under, and the sides of the boards it knows."""

    name: str
    evaluator: Evaluator
    board_sizes: tuple[int, int] = (1, MAX_SIZE)


def cli_solve(
    settings: SolveSettings,
    open_judge: Callable[[], Judge],
    params: SearchParams,
    *,
    out: Path | None = None,
    as_json: bool = False,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Solve the problems of a file and return the exit status: 0, or 130 after Ctrl-C.

    open_judge: is called after the file was read; problems on boards that the judge does not know are passed over.
    out: the folder of the run; one with the same settings goes on.
    Raises ProblemError for a file that cannot be read, GoError for a folder of another run.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    problems = read_problems(settings.file)
    judge = open_judge()
    settings = replace(settings, network=judge.name)
    interrupted = False
    with closing(judge.evaluator), claimed(out):
        chosen = chosen_problems(_known(problems, judge.board_sizes, errors), settings)
        store = Store(settings, out)
        solver = Solver(judge.evaluator, params, settings.visits, framed=settings.framed)
        try:
            with closing(solver), ProgressBar(errors, len(chosen), every=0.0) as bar:
                _solve(chosen, store, solver, bar)
        except KeyboardInterrupt:
            interrupted = True
        answers = [store.answers[problem.name] for problem in chosen if problem.name in store.answers]
        if out is not None:
            _write(out, answers, settings, errors)
    if as_json:
        screen.write(json_text(summary(answers, settings)) + "\n")
    elif answers:
        _show(screen, answers, len(chosen), settings)
    return INTERRUPTED if interrupted else 0


def chosen_problems(problems: Sequence[Problem], settings: SolveSettings) -> list[Problem]:
    """Return the problems that a run is to solve, in an order drawn by the seed.

    So the figures of an unfinished run are those of a sample, and a larger limit adds problems to a smaller one.
    """
    order = np.random.default_rng(settings.seed).permutation(len(problems))
    return [problems[place] for place in order[: settings.limit]]


def _known(problems: list[Problem], board_sizes: tuple[int, int], errors: IO[str]) -> list[Problem]:
    smallest, largest = board_sizes
    known = [problem for problem in problems if smallest <= problem.size <= largest]
    if len(known) < len(problems):
        errors.write(
            f"keima solve: {len(problems) - len(known)} problems are passed over: the network knows boards "
            f"from {smallest}x{smallest} to {largest}x{largest}\n"
        )
    return known


def _solve(problems: Sequence[Problem], store: Store, solver: Solver, bar: ProgressBar) -> None:
    """Solve what the store lacks."""
    answers = [store.answers[problem.name] for problem in problems if problem.name in store.answers]
    bar.update(progress_text(answers, len(problems)), len(answers))
    for problem in problems:
        if problem.name not in store.answers:
            answer = solver.solve(problem)
            store.add(answer)
            answers.append(answer)
            bar.update(progress_text(answers, len(problems)), len(answers))


def _title(settings: SolveSettings) -> str:
    return f"{settings.file.name}, {settings.network}, {'with' if settings.framed else 'without'} frame"


def _show(screen: IO[str], answers: list[Answer], wanted: int, settings: SolveSettings) -> None:
    from rich.console import Console

    console = Console(file=screen, width=None if screen.isatty() else 140, markup=False, emoji=False)
    for table in tables(answers, f"{len(answers)} of {wanted} problems searched: {_title(settings)}"):
        console.print(table)


def _write(out: Path, answers: list[Answer], settings: SolveSettings, errors: IO[str]) -> None:
    """Write summary.json and, where matplotlib is installed, solved.png."""
    write_atomically(out / "summary.json", json_text(summary(answers, settings), indent=1) + "\n")
    if not answers:
        return
    from engine.apps.solve.plot import plot

    try:
        picture = plot(answers, _title(settings))
    except ImportError as error:
        errors.write(f"keima solve: no plot, for want of matplotlib (pip install 'keima[plot]'): {error}\n")
    else:
        write_atomically(out / "solved.png", picture)
