"""Runs `keima solve`: reads problems, shows progress on stderr, prints tables or JSON on stdout."""

import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from engine.apps.solve.problems import Problem, read_problems
from engine.apps.solve.report import progress_text, proofs_text, summary, tables
from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Answer, Solver
from engine.apps.solve.store import Store
from engine.evaluators.named import NamedEvaluator
from engine.search.params import SearchParams
from engine.support.files import write_atomically
from engine.support.json_text import json_text
from engine.support.plots import NoMatplotlib
from engine.support.progress import ProgressBar
from engine.support.run_kinds import SOLVE, claimed_run
from engine.support.stopping import INTERRUPTED
from engine.support.tables import print_tables


def cli_solve(
    settings: SolveSettings,
    open_evaluator: Callable[[], NamedEvaluator],
    params: SearchParams,
    *,
    out: Path | None = None,
    as_json: bool = False,
    stdout: IO[str] | None = None,
    stderr: IO[str] | None = None,
) -> int:
    """Solve the problems of a file and return the exit status: 0, or 130 after Ctrl-C.

    open_evaluator: called after the file was read, so that a bad file is reported before a network is loaded.
    Problems on boards that the evaluator does not support are skipped.
    out: the folder of the run; a run with the same settings in it is continued.
    Raises ProblemError for a file that cannot be read, GoError for a folder of a run with other settings.
    """
    screen, errors = stdout or sys.stdout, stderr or sys.stderr
    problems = read_problems(settings.file)
    opened = open_evaluator()
    settings = replace(settings, network=opened.name, identity=opened.identity)
    if opened.tree_mib is not None:
        params = replace(params, max_memory_mib=opened.tree_mib)
    interrupted = False
    with closing(opened.evaluator), claimed_run(out, SOLVE):
        chosen = chosen_problems(_supported(problems, opened.board_sizes, errors), settings)
        store = Store(settings, out)
        solver = Solver(opened.evaluator, params, settings.visits, framed=settings.framed, proves=settings.prove)
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
    """Return the problems of a run in random order by the seed, at most `settings.limit`.

    The order makes an unfinished run a random sample, and a larger limit a superset of a smaller one.
    """
    order = np.random.default_rng(settings.seed).permutation(len(problems))
    return [problems[place] for place in order[: settings.limit]]


def _supported(problems: list[Problem], board_sizes: tuple[int, int], errors: IO[str]) -> list[Problem]:
    """Return the problems on boards that the evaluator supports; report how many were skipped."""
    smallest, largest = board_sizes
    supported = [problem for problem in problems if smallest <= problem.size <= largest]
    if len(supported) < len(problems):
        errors.write(
            f"keima solve: skipped {len(problems) - len(supported)} problems: the network supports boards "
            f"from {smallest}x{smallest} to {largest}x{largest}\n"
        )
    return supported


def _solve(problems: Sequence[Problem], store: Store, solver: Solver, bar: ProgressBar) -> None:
    """Solve the problems whose answers are not in the store, and store the answers."""
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
    print_tables(screen, tables(answers, f"{len(answers)} of {wanted} problems searched: {_title(settings)}"))
    if settings.prove:
        screen.write(proofs_text(answers) + "\n")


def _write(out: Path, answers: list[Answer], settings: SolveSettings, errors: IO[str]) -> None:
    """Write summary.json and, where matplotlib is installed, solved.png."""
    write_atomically(out / "summary.json", json_text(summary(answers, settings), indent=1) + "\n")
    if not answers:
        return
    from engine.apps.solve.plot import plot

    try:
        picture = plot(answers, _title(settings))
    except NoMatplotlib as error:
        errors.write(f"keima solve: {error}\n")
    else:
        write_atomically(out / "solved.png", picture)
