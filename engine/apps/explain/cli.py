"""Runs `keima explain`: searches a position of a record, and prints the facts about it and its last move."""

import queue
import sys
from contextlib import closing
from pathlib import Path
from typing import IO

from engine.apps.analysis_server.pool import AnalysisPool, default_threads
from engine.apps.analysis_server.task import Report, Task
from engine.apps.explain.searches import Explanation, ExplanationSearch, explanation_object
from engine.apps.review.games import load_game
from engine.color import BLACK
from engine.errors import GoError
from engine.evaluation.evaluator import Evaluator
from engine.explain.words import move_text, position_text
from engine.game import Game
from engine.search.params import SearchParams
from engine.support.json_text import json_text
from engine.support.progress import ProgressBar
from engine.support.stopping import WAIT_SECONDS
from engine.vertex import parse_vertex


def position_of(record: Path, move: int | None, play: str | None) -> tuple[Game, int, int]:
    """Return the position to explain, the side to move, and how many moves of the record come before the game's first.

    Stones that are set up between moves start a new game. The move before them is not explained; stderr says so.

    move: the number of the record's last move to play, None for all. play: a move that follows, instead of the
    record's. Raises GoError for a number or a move that the record does not have or allow.
    """
    loaded = load_game(record.name, record)
    moves = loaded.record.moves
    turn = len(moves) if move is None else move
    if turn > len(moves):
        raise GoError(f"{record}: expected a move from 0 to {len(moves)}, got {move}")
    game = next(position for number, position in enumerate(loaded.positions()) if number == turn).copy()
    color, earlier = moves[turn].color if turn < len(moves) else game.to_play, turn - len(game.moves)
    if play is not None:
        game.play(color, parse_vertex(play, game.width, game.height))
        color = game.to_play
    elif turn > 0 and not game.moves:
        sys.stderr.write(f"{record}: stones are set up after move {turn}: only the position is explained\n")
    return game, color, earlier


def explain(
    position: tuple[Game, int, int],
    evaluator: Evaluator,
    params: SearchParams,
    visits: int | None,
    seconds: float | None,
) -> Explanation:
    """Search a position of `position_of` and the ones beside it; return the facts. Raises GoError if a search fails."""
    found: queue.SimpleQueue[Explanation | GoError | None] = queue.SimpleQueue()
    game, color, earlier = position
    search = ExplanationSearch(game, color, found.put, earlier)
    like = Task(game, color, BLACK, params, _ignore, visits=visits, seconds=seconds)
    tasks = search.tasks(like)
    pool = AnalysisPool(evaluator, min(len(tasks), default_threads(evaluator)), params.max_memory_mib)
    try:
        # Or the time to load kernels would be taken for time to think.
        pool.warm_up(game.width, game.height, params)
        pool.submit(tasks)
        with ProgressBar(sys.stderr if sys.stderr.isatty() else None, len(tasks)) as bar:
            while True:
                bar.update("searches", len(tasks) - search.missing)
                try:
                    explanation = found.get(timeout=WAIT_SECONDS)
                    break
                except queue.Empty:
                    continue
    finally:
        pool.close(wait=False)
    if isinstance(explanation, GoError):
        raise explanation
    if explanation is None:
        raise GoError("the search was cancelled")
    return explanation


def _ignore(task: Task, report: Report) -> None:
    """Ignore a report; each search has its own callback."""


def cli_explain(
    position: tuple[Game, int, int],
    evaluator: Evaluator,
    params: SearchParams,
    *,
    visits: int | None,
    seconds: float | None,
    as_json: bool = False,
    stdout: IO[str] | None = None,
) -> int:
    """Explain a position and print its facts, as text or as one JSON object; return the exit status 0."""
    screen = stdout or sys.stdout
    with closing(evaluator):
        explanation = explain(position, evaluator, params, visits, seconds)
    if as_json:
        screen.write(json_text(explanation_object(explanation), indent=1) + "\n")
        return 0
    blocks = [] if explanation.move is None else [move_text(explanation.move)]
    blocks.append(position_text(explanation.position))
    screen.write("\n\n".join("\n".join(lines) for lines in blocks) + "\n")
    return 0
