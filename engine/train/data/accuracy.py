"""Measures how well a network without search predicts recorded games: moves, results and final owners.

Each position is evaluated once, without a symmetry. `engine.train.data.accuracy_report` formats the statistics.
Positions of one game share its result, so the number of games, not of positions, decides how precise they are.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.encoders.game_positions import write_position
from engine.errors import BadSgf, GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.records.sgf import load_sgf
from engine.rules import Rules
from engine.train.data.final_scoring import FinalJudge
from engine.train.data.held_out import game_hash
from engine.train.data.records import (
    PlayedPosition,
    RecordOptions,
    Source,
    Tally,
    drawn_plies,
    filter_split,
    iterate_sources,
    play_record,
    reason_of,
)
from engine.train.data.targets import FinalResult
from engine.vertex import policy_index

LAST_BUCKET = 10
"""The last bucket, which also contains all later positions."""
# Lower bound of a probability, so that a move with probability 0 does not make the cross entropy infinite.
_LEAST_CHANCE = 1e-9
_LEAST_BATCH = 64


@dataclass(frozen=True)
class Figures:
    """Means over a set of positions; NaN where no position contributes.

    positions: count of positions with a move. top_1, top_5: share of moves that the policy ranked first, or among
    the first five. policy_loss: cross entropy of the move in nats.
    valued: count of positions with a known result. value_error: mean squared difference of value and result, both
    in [-1, 1]. value_loss: cross entropy of the result in nats. value_right: share of decided games in which the
    value favored the winner.
    owned: count of positions with known final owners. ownership_error: mean absolute difference of predicted and
    final owner, 0..2. ownership_right: share of owned points whose owner was favored. score_error: mean absolute
    difference of predicted and final score in points.
    """

    label: str
    positions: int
    top_1: float
    top_5: float
    policy_loss: float
    valued: int
    value_error: float
    value_loss: float
    value_right: float
    owned: int
    ownership_error: float
    ownership_right: float
    score_error: float


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a network. by_ply: in buckets of `bucket` moves. by_size: for each board size, as "19x19"."""

    network: str
    games: int
    seconds: float
    skipped: dict[str, int]
    total: Figures
    by_ply: tuple[Figures, ...]
    by_size: tuple[Figures, ...]
    bucket: int


_COLUMNS = ("ply", "width", "height", "rank", "chance", "value", "result", "owner_error", "owner_right", "score_error")


class _Rows:
    """A table with one row of numbers for each position."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, ...]] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, *row: float) -> None:
        self._rows.append(row)

    def table(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns by name."""
        columns = np.array(self._rows, dtype=np.float64).reshape(-1, len(_COLUMNS)).T
        return dict(zip(_COLUMNS, columns, strict=True))


@dataclass(frozen=True)
class _Queued:
    position: PlayedPosition
    result: FinalResult | None


class _EvaluationQueue:
    """Collects positions into batches of one board size and rule set, evaluates them and records the results."""

    def __init__(self, evaluator: Evaluator, rows: _Rows) -> None:
        attributes = evaluator.attributes
        self._evaluator, self._rows = evaluator, rows
        self._size = min(attributes.max_batch, max(_LEAST_BATCH, attributes.preferred_batch * attributes.concurrent))
        self._waiting: dict[tuple[int, int, Rules], list[_Queued]] = {}
        self._buffers: dict[tuple[int, int], tuple[PositionBatch, Evaluation]] = {}

    def add(self, queued: _Queued) -> None:
        """Queue a position, and evaluate the batch when it is full."""
        game = queued.position.game
        kind = game.width, game.height, game.rules
        waiting = self._waiting.setdefault(kind, [])
        waiting.append(queued)
        if len(waiting) == self._size:
            self._evaluate(self._waiting.pop(kind))

    def finish(self) -> None:
        """Evaluate the batches that are not full."""
        for queued in self._waiting.values():
            self._evaluate(queued)
        self._waiting.clear()

    def _evaluate(self, batch: Sequence[_Queued]) -> None:
        game = batch[0].position.game
        size = game.width, game.height
        if size not in self._buffers:
            self._buffers[size] = PositionBatch(self._size, *size), Evaluation(self._size, *size)
        positions, out = self._buffers[size]
        for row, queued in enumerate(batch):
            write_position(queued.position.game, queued.position.move.color, positions, row)
        self._evaluator.evaluate(positions, len(batch), out)
        for row, queued in enumerate(batch):
            self._note(queued, out, row)

    def _note(self, queued: _Queued, out: Evaluation, row: int) -> None:
        game, (color, vertex) = queued.position.game, queued.position.move
        policy = out.policy[row]
        chance = float(policy[policy_index(vertex, game.width, game.height)])
        # Moves of equal probability share their ranks; take the middle one, so that a uniform policy gains nothing.
        rank = float(np.count_nonzero(policy > chance) + (np.count_nonzero(policy == chance) - 1) / 2)
        result = owner_error = owner_right = score_error = np.nan
        attributes = self._evaluator.attributes
        if queued.result is not None and queued.result.winner is not None:
            targets = queued.result.targets(color)
            win, loss, _ = targets["outcome"]
            result = win - loss
            # An evaluator without a head returns zeros, which would count as a prediction.
            if targets["ownership"] is not None and attributes.has_ownership:
                owner, expected = targets["ownership"], out.ownership[row]
                owner_error = float(np.mean(np.abs(owner - expected)))
                owner_right = float(np.mean((owner * expected > 0)[owner != 0])) if owner.any() else np.nan
            if targets["score"] is not None and attributes.has_score:
                score = out.score_mean[row] if attributes.has_details else out.score[row]
                score_error = float(abs(score - targets["score"]))
        place = game.move_number, game.width, game.height
        self._rows.add(*place, rank, chance, float(out.value[row]), result, owner_error, owner_right, score_error)


def held_out_records(sources: Iterable[Path], games: int | None, seed: int, *, held_out: bool = True) -> list[Source]:
    """Return `games` randomly drawn held-out records of the sources, or all if None, in random order.

    held_out: False draws from all records instead. Files that cannot be read are skipped.
    """
    options = RecordOptions(held_out=True if held_out else None)
    found = list(filter_split(iterate_sources(sources, Tally()), options))
    order = np.random.default_rng(seed).permutation(len(found))
    return [found[place] for place in order[:games]]


def accuracy_of(
    evaluator: Evaluator,
    records: Sequence[Source],
    *,
    network: str,
    per_game: int | None = None,
    seed: int = 1,
    bucket: int = 30,
    board_sizes: tuple[int, int] | None = None,
    report: Callable[[int, int], None] | None = None,
) -> Accuracy:
    """Measure the accuracy of an evaluator on records.

    network: its name. per_game: positions drawn from each game, None for all. bucket: moves in one row of the report.
    board_sizes: smallest and largest side that the network supports; other records are skipped.
    report: called with the games and positions so far. Raises GoError if no record yields a position.
    """
    begun, tally, rows, judge = monotonic(), Tally(), _Rows(), FinalJudge()
    queue = _EvaluationQueue(evaluator, rows)
    for name, data in records:
        try:
            record = load_sgf(data, name=name)
            if board_sizes and not all(
                board_sizes[0] <= side <= board_sizes[1] for side in (record.width, record.height)
            ):
                tally.skip("of a board size that the network does not support", name)
                continue
            chosen = drawn_plies(per_game, seed, game_hash(data))
            played = play_record(record, chosen, judge, passes=False)
        except BadSgf as error:
            tally.skip(reason_of(error), str(error))
            continue
        for position in played.positions:
            queue.add(_Queued(position, played.result))
        tally.games += bool(played.positions)
        if report is not None:
            report(tally.games, len(rows))
    queue.finish()
    if len(rows) == 0:
        reasons = "; ".join(f"{count} {reason}" for reason, count in tally.skipped.items())
        raise GoError(f"no position in {len(records)} records: {reasons}")
    table = rows.table()
    return Accuracy(
        network=network,
        games=tally.games,
        seconds=monotonic() - begun,
        skipped=dict(tally.skipped),
        total=_figures("all", table),
        by_ply=tuple(_by_ply(table, bucket)),
        by_size=tuple(_by_size(table)),
        bucket=bucket,
    )


def _by_ply(table: dict[str, NDArray[np.float64]], bucket: int) -> Iterator[Figures]:
    place = np.minimum(table["ply"] // bucket, LAST_BUCKET)
    for index in np.unique(place).astype(int).tolist():
        end = "" if index == LAST_BUCKET else str((index + 1) * bucket)
        yield _figures(f"{index * bucket + 1}-{end}", {key: each[place == index] for key, each in table.items()})


def _by_size(table: dict[str, NDArray[np.float64]]) -> Iterator[Figures]:
    for width, height in np.unique(np.stack([table["width"], table["height"]]), axis=1).T.astype(int).tolist():
        same = (table["width"] == width) & (table["height"] == height)
        yield _figures(f"{width}x{height}", {key: each[same] for key, each in table.items()})


def _figures(label: str, table: dict[str, NDArray[np.float64]]) -> Figures:
    valued, owned = ~np.isnan(table["result"]), ~np.isnan(table["owner_error"])
    value, result = table["value"][valued], table["result"][valued]
    # In a draw no winner can be favored.
    decided = result != 0
    winning = np.clip((1 + value) / 2, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    loss = -((1 + result) / 2 * np.log(winning) + (1 - result) / 2 * np.log(1 - winning))
    scored = table["score_error"][~np.isnan(table["score_error"])]
    right = table["owner_right"][~np.isnan(table["owner_right"])]
    return Figures(
        label=label,
        positions=len(table["ply"]),
        top_1=_mean(table["rank"] < 1),
        top_5=_mean(table["rank"] < 5),
        policy_loss=_mean(-np.log(np.maximum(table["chance"], _LEAST_CHANCE))),
        valued=int(valued.sum()),
        value_error=_mean((value - result) ** 2),
        value_loss=_mean(loss),
        value_right=_mean(value[decided] * result[decided] > 0),
        owned=int(owned.sum()),
        ownership_error=_mean(table["owner_error"][owned]),
        ownership_right=_mean(right),
        score_error=_mean(scored),
    )


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")
