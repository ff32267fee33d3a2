"""Positions to learn from how large a network's numbers become, for arithmetic in few bits.

Owns which positions: of random games, from the first moves to a board that is two thirds full. They take no
network to make and say as much of the ranges as games that it plays itself. The same ones every time.
"""

import numpy as np

from engine.encoders.human import human_metadata
from engine.evaluators.base import PositionBatch, write_position
from engine.evaluators.network import encoder_for
from engine.game import Game
from engine.nets.spec import Array, NetSpec
from engine.vertex import points

POSITIONS = 64
_PER_GAME = 8
_FULL = 2 / 3
_SEED = 1
_PROFILE = "rank_1d"
"""Whom a network that imitates people is asked to imitate."""


def calibration_inputs(spec: NetSpec, width: int, height: int) -> tuple[Array, Array]:
    """Return planes [POSITIONS, planes, height, width] and globals [POSITIONS, globals + metadata], float32."""
    encoder, positions = encoder_for(spec), _positions(width, height)
    planes = np.zeros((POSITIONS, spec.planes, height, width), dtype=np.float32)
    globals_ = np.zeros((POSITIONS, spec.globals), dtype=np.float32)
    encoder.encode(positions, POSITIONS, planes, globals_, encoder.new_scratch(width, height))
    if not spec.metadata:
        return planes, globals_
    metadata = human_metadata(_PROFILE, width, height)[positions.to_play - 1]
    return planes, np.concatenate([globals_, metadata], axis=1)


def _positions(width: int, height: int) -> PositionBatch:
    """Return positions of random games, evenly spaced."""
    generator = np.random.default_rng(_SEED)
    positions = PositionBatch(POSITIONS, width, height)
    moves = max(1, round(width * height * _FULL / _PER_GAME))
    for row in range(POSITIONS):
        if row % _PER_GAME == 0:
            game = Game(width, height)
        write_position(game, game.to_play, positions, row)
        for _ in range(moves):
            _play_anywhere(game, generator)
    return positions


def _play_anywhere(game: Game, generator: np.random.Generator) -> None:
    """Play a random legal move, or none where only a pass is legal."""
    for vertex in generator.permutation(points(game.width, game.height)):
        if game.is_legal(game.to_play, int(vertex)):
            game.play(game.to_play, int(vertex))
            return
