"""What teaches a network: anything that says of positions which move is good, who wins, by how much and who owns what.

A `Teacher` labels positions of one board size and one rule set, many at a time. Here are a network at one
evaluation and a search over any evaluator; `engine.train.teaching.gtp_teacher` has programs that speak GTP.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from engine.color import for_color
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.search.move_choice import move_table
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.stoppers import VisitStopper
from engine.search.tree import ROOT
from engine.search.tree_ownership import tree_ownership
from engine.symmetry import applicable
from engine.vertex import policy_index

POLICY, OUTCOME, SCORE, OWNERSHIP = range(4)
"""Columns of `Labels.known`."""


class TeacherError(GoError):
    """A teacher that cannot be had, or that fails again and again; one line for the user."""


class TeacherBatch(NamedTuple):
    """Positions of one size and one rule set.

    games: at the position in question, their side to move to be asked; row i of `positions` holds game i.
    """

    games: Sequence[Game]
    positions: PositionBatch


@dataclass(frozen=True, eq=False)
class Labels:
    """What a teacher says of B positions, from the view of the side to move.

    policy: float32 [B, area + 1], sums 1, pass last. outcome: float32 [B, 3], P(win), P(loss), P(no result).
    score: float32 [B], the final margin in points, komi included. ownership: float32 [B, area], 1 own, -1 the
    opponent's. known: bool [B, 4] by the columns POLICY to OWNERSHIP; what is not known is 0.
    """

    policy: NDArray[np.float32]
    outcome: NDArray[np.float32]
    score: NDArray[np.float32]
    ownership: NDArray[np.float32]
    known: NDArray[np.bool_]


def no_labels(count: int, area: int) -> Labels:
    """Return labels of positions of which nothing is known, to be filled in."""
    return Labels(
        policy=np.zeros((count, area + 1), dtype=np.float32),
        outcome=np.zeros((count, 3), dtype=np.float32),
        score=np.zeros(count, dtype=np.float32),
        ownership=np.zeros((count, area), dtype=np.float32),
        known=np.zeros((count, 4), dtype=np.bool_),
    )


class Teacher(Protocol):
    """Labels positions, for one thread at a time.

    name: for the provenance of what is labelled. batch: positions a call at which it is about fastest.
    board_sizes: smallest and largest side that it knows, None for all.
    """

    name: str
    batch: int
    board_sizes: tuple[int, int] | None

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return the labels of positions; once `stop` is set, further ones stay unknown.

        Raises TeacherError when there will be none any more.
        """

    def close(self) -> None:
        """Free threads, devices and programs."""


class NetworkTeacher:
    """One evaluation of a position by a network, or the mean of several under different symmetries."""

    def __init__(
        self, evaluator: Evaluator, name: str, symmetries: int = 1, board_sizes: tuple[int, int] | None = None
    ) -> None:
        """symmetries: how many of the board's to average over, 1 to 8."""
        self.name, self.board_sizes = name, board_sizes
        self.batch = min(evaluator.attributes.max_batch, 4 * evaluator.attributes.preferred_batch)
        self._evaluator = evaluator
        self._symmetries = symmetries

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return the network's policy, outcome and, where it knows them, score and ownership."""
        positions, count = batch.positions, len(batch.games)
        out = Evaluation(count, positions.width, positions.height)
        labels = no_labels(count, positions.width * positions.height)
        attributes = self._evaluator.attributes
        turns = applicable(positions.width, positions.height)[: self._symmetries if attributes.has_symmetries else 1]
        for turn in turns:
            positions.symmetry[:count] = turn
            self._evaluator.evaluate(positions, count, out)
            labels.policy[:] += out.policy
            labels.outcome[:] += outcome_of(out.value, out.no_result)
            labels.score[:] += out.score_mean if attributes.has_details else out.score
            labels.ownership[:] += out.ownership
        positions.symmetry[:count] = 0
        for part in (labels.policy, labels.outcome, labels.score, labels.ownership):
            part /= len(turns)
        labels.known[:] = (True, True, attributes.has_score, attributes.has_ownership)
        return labels

    def close(self) -> None:
        """Free the evaluator."""
        self._evaluator.close()


class SearchTeacher:
    """A search of so many visits over an evaluator: the policy is how visits are distributed over the root's moves."""

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams,
        visits: int,
        name: str,
        board_sizes: tuple[int, int] | None = None,
    ) -> None:
        """visits: at least 2, or there is no distribution. Mirror images of a move are searched and share visits."""
        if visits < 2:
            raise ValueError(f"a search of {visits} visits, expected 2 or more")
        self.name, self.board_sizes = name, board_sizes
        self.batch = 16
        self._evaluator = evaluator
        self._search = Search(evaluator, replace(params, prunes_symmetric_moves=False))
        self._visits = visits

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return what a search of each position found, each as if it were the first."""
        positions = batch.positions
        labels = no_labels(len(batch.games), positions.width * positions.height)
        for row, game in enumerate(batch.games):
            if stop is not None and stop.is_set():
                break
            self._search.forget()
            self._search.begin(game, game.to_play, game.legal_vertices())
            self._search.run([VisitStopper(self._visits)], self._visits)
            self._read(game, labels, row)
        return labels

    def _read(self, game: Game, labels: Labels, row: int) -> None:
        tree, color = self._search.tree, game.to_play
        table = move_table(tree, self._search.root, self._search.params)
        for vertex, visits in zip(table.vertex.tolist(), table.visits.tolist(), strict=True):
            labels.policy[row, policy_index(vertex, game.width, game.height)] = visits
        total = labels.policy[row].sum()
        if total > 0:
            labels.policy[row] /= total
        root, attributes = tree.nodes[ROOT], self._evaluator.attributes
        value, no_result = for_color(float(root["value"]), color), float(root["no_result"])
        labels.outcome[row] = ((1 - no_result + value) / 2, (1 - no_result - value) / 2, no_result)
        labels.score[row] = for_color(float(root["score"]), color) if attributes.has_score else 0.0
        labels.ownership[row] = for_color(tree_ownership(tree, ROOT)[0], color)
        labels.known[row] = (total > 0, True, attributes.has_score, attributes.has_ownership)

    def close(self) -> None:
        """Stop the search's threads and free the evaluator."""
        self._search.close()
        self._evaluator.close()


def outcome_of(value: NDArray[np.float32], no_result: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return [B, 3] P(win), P(loss), P(no result) of values P(win) - P(loss) in [-1, 1], both [B]."""
    decided = 1.0 - no_result
    return np.stack([(decided + value) / 2, (decided - value) / 2, no_result], axis=1).astype(np.float32)
