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
from engine.encoders.human import human_metadata
from engine.errors import BadSgf, GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.records.sgf import Record, load_sgf
from engine.rules import Rules
from engine.train.data.final_scoring import FinalJudge
from engine.train.data.held_out import game_hash
from engine.train.data.players import PROFESSIONAL, UNKNOWN, group_of, players_of
from engine.train.data.records import (
    NO_RANKS,
    PlayedPosition,
    RecordOptions,
    Source,
    Tally,
    drawn_plies,
    filter_split,
    iterate_sources,
    play_record,
    profile_of,
    reason_of,
)
from engine.train.data.targets import FinalResult
from engine.vertex import MAX_SIZE, policy_index

LAST_BUCKET = 10
"""The last bucket, which also contains all later positions."""
# Lower bound of a probability, so that a move with probability 0 does not make the cross entropy infinite.
_LEAST_CHANCE = 1e-9
_LEAST_BATCH = 64
_RESAMPLINGS = 2000


@dataclass(frozen=True)
class Means:
    """Means over a set of positions; NaN where no position contributes.

    positions: count of positions with a move. top_1, top_5: share of moves that the policy ranked first, or among
    the first five. policy_loss: cross entropy of the move in nats.
    valued: count of positions with a known result. value_error: mean squared difference of value and result, both
    in [-1, 1]. value_loss: cross entropy of the result in nats. value_right: share of decided games in which the
    value favored the winner.
    owned: count of positions with known final owners. ownership_error: mean absolute difference of predicted and
    final owner, 0..2. ownership_right: share of owned points whose owner was favored. score_error: mean absolute
    difference of predicted and final score in points.
    gain: top_1 less that of the other network on the same positions; gain_low, gain_high: its 95 % interval, by drawing
    games with replacement.
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
    gain: float
    gain_low: float
    gain_high: float


@dataclass(frozen=True)
class Predictor:
    """A network to test. board_sizes: smallest and largest side that it supports; other records are skipped."""

    name: str
    evaluator: Evaluator
    board_sizes: tuple[int, int] | None = None


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a network. by_ply: in buckets of `bucket` moves. by_size: for each board size, as "19x19".

    by_rank: by the rank of the side to move, see `engine.train.data.players.group_of`. against: the other network's
    name, "" for none.
    """

    network: str
    games: int
    seconds: float
    skipped: dict[str, int]
    total: Means
    by_ply: tuple[Means, ...]
    by_size: tuple[Means, ...]
    by_rank: tuple[Means, ...]
    bucket: int
    against: str = ""


_PLACE = ("game", "own", "kind", "ply", "width", "height")
_FOUND = ("rank", "other_rank", "chance", "value", "result", "owner_error", "owner_right", "score_error")
_COLUMNS = (*_PLACE, *_FOUND)


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
    game: int
    profile: str | None
    position: PlayedPosition
    result: FinalResult | None


class _EvaluationQueue:
    """Collects positions into batches of one board size and rule set, evaluates them and records the results.

    Networks that imitate people get batches of one profile. other: evaluates the same positions.
    """

    def __init__(self, evaluator: Evaluator, rows: _Rows, other: Evaluator | None) -> None:
        attributes = evaluator.attributes
        self._evaluator, self._rows, self._other = evaluator, rows, other
        self._size = min(attributes.max_batch, max(_LEAST_BATCH, attributes.preferred_batch * attributes.concurrent))
        self._needs_profile = attributes.needs_profile
        if other is not None:
            self._size = min(self._size, other.attributes.max_batch)
            self._needs_profile |= other.attributes.needs_profile
        self._waiting: dict[tuple[int, int, Rules, str | None], list[_Queued]] = {}
        self._buffers: dict[tuple[int, int], tuple[PositionBatch, Evaluation, Evaluation]] = {}

    def add(self, queued: _Queued) -> None:
        """Queue a position, and evaluate the batch when it is full."""
        game = queued.position.game
        kind = game.width, game.height, game.rules, queued.profile if self._needs_profile else None
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
            first, second = (Evaluation(self._size, *size) for _ in range(2))
            self._buffers[size] = PositionBatch(self._size, *size), first, second
        positions, out, others = self._buffers[size]
        profile = batch[0].profile
        if self._needs_profile and profile is not None:
            positions.metadata = human_metadata(profile, *size)
        for row, queued in enumerate(batch):
            write_position(queued.position.game, queued.position.move.color, positions, row)
        self._evaluator.evaluate(positions, len(batch), out)
        if self._other is not None:
            self._other.evaluate(positions, len(batch), others)
        for row, queued in enumerate(batch):
            self._note(queued, out, row, np.nan if self._other is None else _rank(queued, others, row))

    def _note(self, queued: _Queued, out: Evaluation, row: int, other_rank: float) -> None:
        game, (color, vertex) = queued.position.game, queued.position.move
        chance = float(out.policy[row, policy_index(vertex, game.width, game.height)])
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
        own, _, kind = (0, 0, 0) if queued.profile is None else players_of(queued.profile, color)
        place = queued.game, own, kind, game.move_number, game.width, game.height
        found = _rank(queued, out, row), other_rank, chance, float(out.value[row])
        self._rows.add(*place, *found, result, owner_error, owner_right, score_error)


def _rank(queued: _Queued, out: Evaluation, row: int) -> float:
    """Return how many moves the policy in a row of evaluations prefers to the one that was played."""
    game, policy = queued.position.game, out.policy[row]
    chance = policy[policy_index(queued.position.move.vertex, game.width, game.height)]
    # Moves of equal probability share their ranks; take the middle one, so that a uniform policy gains nothing.
    return float(np.count_nonzero(policy > chance) + (np.count_nonzero(policy == chance) - 1) / 2)


def held_out_records(
    sources: Iterable[Path], games: int | None, seed: int, *, held_out: bool = True, tally: Tally | None = None
) -> list[Source]:
    """Return `games` randomly drawn held-out records of the sources, or all if None, in random order.

    held_out: False draws from all records instead. tally: counts the files that cannot be read.
    """
    options = RecordOptions(held_out=True if held_out else None)
    found = list(filter_split(iterate_sources(sources, Tally() if tally is None else tally), options))
    order = np.random.default_rng(seed).permutation(len(found))
    return [found[place] for place in order[:games]]


def accuracy_of(
    tested: Predictor,
    records: Sequence[Source],
    *,
    other: Predictor | None = None,
    per_game: int | None = None,
    seed: int = 1,
    bucket: int = 30,
    report: Callable[[int, int], None] | None = None,
    tally: Tally | None = None,
) -> Accuracy:
    """Measure the accuracy of a network on records.

    other: a network to compare with on the same positions. per_game: positions drawn from each game, None for all.
    bucket: moves in one row of the report.
    report: called with the games and positions so far. tally: of reading the records, to which it is added.
    A network that imitates people is asked for the players of each record; those without ranks are skipped, unless the
    evaluator has a profile. Raises GoError if no record yields a position.
    """
    begun, tally, rows, judge = monotonic(), tally or Tally(), _Rows(), FinalJudge()
    queue = _EvaluationQueue(tested.evaluator, rows, None if other is None else other.evaluator)
    both = [tested] if other is None else [tested, other]
    for number, (name, data) in enumerate(records):
        try:
            record = load_sgf(data, name=name)
            if not all(_supports(each, record) for each in both):
                tally.skip("of a board size that the network does not support", name)
                continue
            profile = profile_of(record)
            if profile is None and any(each.evaluator.attributes.needs_profile for each in both):
                tally.skip(NO_RANKS, name)
                continue
            chosen = drawn_plies(per_game, seed, game_hash(data))
            played = play_record(record, chosen, judge, passes=False)
        except BadSgf as error:
            tally.skip(reason_of(error), str(error))
            continue
        for position in played.positions:
            queue.add(_Queued(number, profile, position, played.result))
        tally.games += bool(played.positions)
        if report is not None:
            report(tally.games, len(rows))
    queue.finish()
    if len(rows) == 0:
        raise GoError(f"no position in {len(records)} records: {tally.reasons}")
    table = rows.table()
    return Accuracy(
        network=tested.name,
        games=tally.games,
        seconds=monotonic() - begun,
        skipped=dict(tally.skipped),
        total=_figures("all", table),
        by_ply=tuple(_by_ply(table, bucket)),
        by_size=tuple(_by_size(table)),
        by_rank=tuple(_by_rank(table)),
        bucket=bucket,
        against="" if other is None else other.name,
    )


def _supports(tested: Predictor, record: Record) -> bool:
    smallest, largest = tested.board_sizes or (0, MAX_SIZE)
    return all(smallest <= side <= largest for side in (record.width, record.height))


def _by_ply(table: dict[str, NDArray[np.float64]], bucket: int) -> Iterator[Means]:
    place = np.minimum(table["ply"] // bucket, LAST_BUCKET)
    for index in np.unique(place).astype(int).tolist():
        end = "" if index == LAST_BUCKET else str((index + 1) * bucket)
        yield _figures(f"{index * bucket + 1}-{end}", {key: each[place == index] for key, each in table.items()})


def _by_size(table: dict[str, NDArray[np.float64]]) -> Iterator[Means]:
    for width, height in np.unique(np.stack([table["width"], table["height"]]), axis=1).T.astype(int).tolist():
        same = (table["width"] == width) & (table["height"] == height)
        yield _figures(f"{width}x{height}", {key: each[same] for key, each in table.items()})


def _by_rank(table: dict[str, NDArray[np.float64]]) -> Iterator[Means]:
    pairs = zip(table["own"].astype(int).tolist(), table["kind"].astype(int).tolist(), strict=True)
    groups = np.array([group_of(*pair) for pair in pairs])
    strongest = {group: int(table["own"][groups == group].min()) for group in set(groups.tolist())}
    # Professionals first, although their number is that of 9 dan; those of unknown rank last.
    for group in sorted(strongest, key=lambda each: (each == UNKNOWN, each != PROFESSIONAL, strongest[each])):
        yield _figures(group, {key: each[groups == group] for key, each in table.items()})


def _figures(label: str, table: dict[str, NDArray[np.float64]]) -> Means:
    valued, owned = ~np.isnan(table["result"]), ~np.isnan(table["owner_error"])
    value, result = table["value"][valued], table["result"][valued]
    # In a draw no winner can be favored.
    decided = result != 0
    winning = np.clip((1 + value) / 2, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    loss = -((1 + result) / 2 * np.log(winning) + (1 - result) / 2 * np.log(1 - winning))
    scored = table["score_error"][~np.isnan(table["score_error"])]
    right = table["owner_right"][~np.isnan(table["owner_right"])]
    gain, low, high = _gain(table)
    return Means(
        label=label,
        positions=len(table["ply"]),
        gain=gain,
        gain_low=low,
        gain_high=high,
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


def _gain(table: dict[str, NDArray[np.float64]]) -> tuple[float, float, float]:
    """Return how much more often the first network is right, and the 95 % interval of that; NaN without another one."""
    if np.isnan(table["other_rank"]).any():
        return (float("nan"),) * 3
    gain = (table["rank"] < 1).astype(float) - (table["other_rank"] < 1)
    # Positions of a game are alike, so whole games are drawn.
    games, place = np.unique(table["game"], return_inverse=True)
    gains, sizes = (np.bincount(place, each, len(games)) for each in (gain, np.ones_like(gain)))
    times = np.random.default_rng(1).multinomial(len(games), np.full(len(games), 1 / len(games)), _RESAMPLINGS)
    low, high = np.quantile((times @ gains) / (times @ sizes), (0.025, 0.975))
    return _mean(gain), float(low), float(high)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean()) if len(values) else float("nan")
