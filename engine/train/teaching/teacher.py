"""Teachers: sources of policy, outcome, score and ownership labels for positions.

A `Teacher` labels batches of positions of one board size and one rule set. This file has a network without search and
a search over any evaluator; `engine.train.teaching.gtp_teacher` has GTP programs.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
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
from engine.search.position import Root
from engine.search.side_by_side import Extent, search_all, searches_at_once
from engine.search.tree import ROOT, Tree
from engine.search.tree_ownership import tree_ownership
from engine.symmetry import applicable
from engine.vertex import policy_index

POLICY, OUTCOME, SCORE, OWNERSHIP = range(4)
"""Columns of `Labels.known`."""


class TeacherError(GoError):
    """Raised if a teacher cannot be started or fails repeatedly; the text is one line for the user."""


class TeacherBatch(NamedTuple):
    """Positions of one board size and one rule set.

    games: each at the position to be labelled for its side to move; row i of `positions` is game i.
    """

    games: Sequence[Game]
    positions: PositionBatch


@dataclass(frozen=True, eq=False)
class Labels:
    """A teacher's labels of B positions, from the point of view of the side to move.

    policy: float32 [B, area + 1], sums 1, pass last. outcome: float32 [B, 3], P(win), P(loss), P(no result).
    score: float32 [B], the final margin in points, komi included. ownership: float32 [B, area], 1 own, -1 the
    opponent's. known: bool [B, 4] with the columns POLICY to OWNERSHIP; unknown labels are 0. searched: whether they
    come of a search, so that outcome and score are those of the near future, too.
    """

    policy: NDArray[np.float32]
    outcome: NDArray[np.float32]
    score: NDArray[np.float32]
    ownership: NDArray[np.float32]
    known: NDArray[np.bool_]
    searched: bool = False


def no_labels(count: int, area: int, *, searched: bool = False) -> Labels:
    """Return labels that are all unknown, to be filled in."""
    return Labels(
        policy=np.zeros((count, area + 1), dtype=np.float32),
        outcome=np.zeros((count, 3), dtype=np.float32),
        score=np.zeros(count, dtype=np.float32),
        ownership=np.zeros((count, area), dtype=np.float32),
        known=np.zeros((count, 4), dtype=np.bool_),
        searched=searched,
    )


class Teacher(Protocol):
    """Labels positions. Not thread-safe.

    name: for the provenance of samples. batch: preferred number of positions in a call.
    board_sizes: smallest and largest supported side, None for all.
    """

    name: str
    batch: int
    board_sizes: tuple[int, int] | None

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return the labels of a batch; positions not reached when `stop` is set stay unknown.

        Raises TeacherError if the teacher cannot label any more positions.
        """

    def close(self) -> None:
        """Release threads, devices and programs."""


class NetworkTeacher:
    """Labels a position with one evaluation of a network, or with the mean over several symmetries."""

    def __init__(
        self, evaluator: Evaluator, name: str, symmetries: int = 1, board_sizes: tuple[int, int] | None = None
    ) -> None:
        """symmetries: number of board symmetries to average over, 1 to 8."""
        self.name, self.board_sizes = name, board_sizes
        self.batch = min(evaluator.attributes.max_batch, 4 * evaluator.attributes.preferred_batch)
        self._evaluator = evaluator
        self._symmetries = symmetries

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Return the network's policy and outcome, and score and ownership if it has those heads."""
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
    """Labels a position by a search with `visits` visits; the policy is the distribution of the root's visits."""

    def __init__(
        self,
        evaluator: Evaluator,
        params: SearchParams,
        visits: int,
        name: str,
        board_sizes: tuple[int, int] | None = None,
    ) -> None:
        """visits: at least 2, because the first one only evaluates the root."""
        if visits < 2:
            raise ValueError(f"visits: expected 2 or more, got {visits}")
        self.name, self.board_sizes, self.batch = name, board_sizes, searches_at_once(evaluator.attributes)
        self._evaluator, self._params, self._visits = evaluator, params, visits

    def label(self, batch: TeacherBatch, stop: threading.Event | None = None) -> Labels:
        """Search the positions side by side, each with an empty tree and sequentially, and return the results."""
        positions = batch.positions
        labels = no_labels(len(batch.games), positions.width * positions.height, searched=True)
        search_all(
            self._evaluator,
            batch.games,
            self._params,
            Extent(self._visits, ownership=self._evaluator.attributes.has_ownership),
            Game.legal_vertices,
            lambda place, tree, root: self._read(batch.games[place], tree, root, labels, place),
            (stop or threading.Event()).is_set,
        )
        return labels

    def _read(self, game: Game, tree: Tree, root: Root, labels: Labels, row: int) -> None:
        color = game.to_play
        table = move_table(tree, root, self._params)
        for vertex, visits in zip(table.vertex.tolist(), table.visits.tolist(), strict=True):
            labels.policy[row, policy_index(vertex, game.width, game.height)] = visits
        total = labels.policy[row].sum()
        if total > 0:
            labels.policy[row] /= total
        node, attributes = tree.nodes[ROOT], self._evaluator.attributes
        value, no_result = for_color(float(node["value"]), color), float(node["no_result"])
        labels.outcome[row] = ((1 - no_result + value) / 2, (1 - no_result - value) / 2, no_result)
        labels.score[row] = for_color(float(node["score"]), color) if attributes.has_score else 0.0
        labels.ownership[row] = for_color(tree_ownership(tree, ROOT)[0], color)
        labels.known[row] = (total > 0, True, attributes.has_score, attributes.has_ownership)

    def close(self) -> None:
        """Release the evaluator."""
        self._evaluator.close()


def outcome_of(value: NDArray[np.float32], no_result: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return [B, 3] P(win), P(loss), P(no result) for values P(win) - P(loss) in [-1, 1]; both inputs are [B]."""
    decided = 1.0 - no_result
    return np.stack([(decided + value) / 2, (decided - value) / 2, no_result], axis=1).astype(np.float32)
