"""Makes samples of positions in game records and a teacher's labels.

A target comes from the teacher if it has a label, else from the record, else it is masked out. The policy target can
mix the teacher's policy with the move that was played.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.records.sgf import Record, load_sgf
from engine.rules import Rules
from engine.train.data.final_scoring import FinalJudge
from engine.train.data.held_out import game_hash
from engine.train.data.records import drawn_plies, play_record
from engine.train.data.samples import TARGETS, Samples, empty_samples, packed_inputs
from engine.train.data.targets import OWNERSHIP_SCALE, FinalResult, one_hot
from engine.train.teaching.hints import shaped_outcome
from engine.train.teaching.teacher import OUTCOME, OWNERSHIP, POLICY, SCORE, Labels, TeacherBatch

# Columns of `Samples.weights`.
_POLICY, _REPLY, _OUTCOME, _SCORE, _OWNERSHIP = map(TARGETS.index, ("policy", "reply", "outcome", "score", "ownership"))


@dataclass(frozen=True, eq=False)
class Position:
    """A position of a record to be labelled: the game at that point and the move played.

    reply: the opponent's next move. result: of the game. None if unknown.
    """

    game: Game
    move: int
    reply: int | None
    result: FinalResult | None
    game_hash: int

    @property
    def kind(self) -> tuple[int, int, Rules]:
        """Width, height and rules, which are equal for all positions of a batch."""
        return self.game.width, self.game.height, self.game.rules


@dataclass(frozen=True)
class Mixture:
    """Shares of the record in the targets.

    own_move: of the played move in the policy target. shaping: see `engine.train.teaching.hints`.
    """

    own_move: float = 0.0
    shaping: float = 0.0


class GameReader:
    """Reads the positions of game records. Not thread-safe."""

    def __init__(self, per_game: int | None = None, seed: int = 1) -> None:
        """per_game: positions of each game, drawn by seed and game; None for all positions with a move."""
        self._per_game, self._seed = per_game, seed
        self._judge = FinalJudge()

    def read(self, text: bytes, name: str) -> list[Position]:
        """Return the positions of an SGF text, see `engine.train.data.records`. Raises BadSgf."""
        return self.positions(load_sgf(text, name=name), game_hash(text))

    def positions(self, record: Record, key: int) -> list[Position]:
        """Return the positions of a record; `key` becomes the game hash of its samples. Raises BadSgf."""
        played = play_record(record, drawn_plies(self._per_game, self._seed, key), self._judge, passes=True)
        return [
            Position(each.game, each.move.vertex, None if each.reply is None else each.reply.vertex, played.result, key)
            for each in played.positions
        ]


def batches(positions: Iterable[Position], size: int) -> Iterator[list[Position]]:
    """Group positions of one kind into lists of at most `size`, keeping the order within each game."""
    # The order matters to GTP teachers: the next position of a game needs only the moves in between.
    waiting: dict[tuple[int, int, Rules], list[Position]] = {}
    for position in positions:
        batch = waiting.setdefault(position.kind, [])
        batch.append(position)
        if len(batch) == size:
            yield waiting.pop(position.kind)
    yield from waiting.values()


def teacher_batch(positions: Sequence[Position]) -> TeacherBatch:
    """Return positions of one kind as a teacher's batch."""
    width, height, _ = positions[0].kind
    batch = PositionBatch(len(positions), width, height)
    for row, position in enumerate(positions):
        write_position(position.game, position.game.to_play, batch, row)
    return TeacherBatch([position.game for position in positions], batch)


class SampleMaker:
    """Makes samples for one encoder."""

    def __init__(self, encoder: str) -> None:
        """Raise BadSamples on an unknown encoder."""
        # Fails here, before hours of labelling, and not at the first batch.
        empty_samples(encoder, 2, 2)
        self._format = ENCODERS[encoder]

    def samples(
        self, positions: Sequence[Position], question: TeacherBatch, labels: Labels, mixture: Mixture
    ) -> Samples:
        """Make the samples of labelled positions; positions without a policy are skipped."""
        width, height, _ = positions[0].kind
        samples = empty_samples(self._format.name, width, height, len(positions))
        self._encode(question, samples)
        _write_policies(positions, labels, mixture.own_move, samples)
        _write_ends(positions, labels, mixture.shaping, samples)
        samples.ply[:] = [position.game.move_number for position in positions]
        samples.game[:] = [position.game_hash for position in positions]
        useful = samples.weights[:, _POLICY] > 0
        return samples if useful.all() else samples[useful]

    def _encode(self, question: TeacherBatch, samples: Samples) -> None:
        count = len(samples)
        planes = np.zeros((count, self._format.planes, samples.height, samples.width), dtype=np.float32)
        scratch = self._format.new_scratch(samples.width, samples.height)
        self._format.encode(question.positions, count, planes, samples.globals, scratch)
        samples.planes[:] = packed_inputs(self._format, planes)


def _write_policies(positions: Sequence[Position], labels: Labels, own_move: float, samples: Samples) -> None:
    """Write the policy and reply targets with their weights."""
    for row, position in enumerate(positions):
        game = position.game
        played = one_hot(position.move, game.width, game.height).astype(np.float32)
        if labels.known[row, POLICY]:
            samples.policy[row] = (1 - own_move) * labels.policy[row] + own_move * played
            samples.weights[row, _POLICY] = 1.0
        elif own_move > 0:
            # The played move keeps the small weight that it would have had in a mixture.
            samples.policy[row], samples.weights[row, _POLICY] = played, own_move
        if position.reply is not None:
            samples.reply[row] = one_hot(position.reply, game.width, game.height)
            samples.weights[row, _REPLY] = 1.0


def _write_ends(positions: Sequence[Position], labels: Labels, shaping: float, samples: Samples) -> None:
    """Write the outcome, score and ownership targets with their weights."""
    labelled, outcome = labels.known[:, OUTCOME], samples.outcome
    has_result = np.zeros(len(positions), dtype=np.bool_)
    for row, position in enumerate(positions):
        given = {} if position.result is None else position.result.targets(position.game.to_play)
        if given:
            outcome[row], has_result[row] = given["outcome"], True
        score = float(labels.score[row]) if labels.known[row, SCORE] else given.get("score")
        owner = labels.ownership[row] if labels.known[row, OWNERSHIP] else given.get("ownership")
        if score is not None:
            samples.score[row], samples.weights[row, _SCORE] = score, 1.0
        if owner is not None:
            samples.ownership[row] = np.rint(np.clip(owner, -1, 1) * OWNERSHIP_SCALE)
            samples.weights[row, _OWNERSHIP] = 1.0
    outcome[labelled] = labels.outcome[labelled]
    if labels.searched:
        foreseen = labelled & labels.known[:, SCORE]
        samples.later[foreseen] = np.column_stack((labels.outcome, labels.score))[foreseen, np.newaxis]
    # A teacher with a winrate needs no estimate from the score.
    estimated = labels.known[:, SCORE] & has_result & ~labelled
    outcome[:] = shaped_outcome(outcome, labels.score, estimated, shaping)
    samples.weights[:, _OUTCOME] = labelled | has_result
