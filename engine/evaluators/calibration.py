"""Calibration positions: inputs for measuring the ranges of a network's activations, for int8.

They are from random games, from the first moves to a board that is two thirds full, under random komi; in half of the
games one side passes often, so that ranges of won and lost positions are covered, too. Random games need no network and
give as good ranges as games that the network plays. The positions are the same every time.
"""

import math

import numpy as np

from engine.color import BLACK, WHITE
from engine.encoders.game_positions import write_position
from engine.encoders.human import human_metadata
from engine.evaluation.positions import PositionBatch
from engine.evaluators.network import encoder_for
from engine.game import Game
from engine.nets.spec import Array, NetSpec
from engine.records.human_profiles import MEASURED_PROFILE
from engine.vertex import PASS, points

_PER_GAME = 8
_PASSES = ((BLACK, 0.0),) * 4 + ((BLACK, 0.5), (WHITE, 0.5), (BLACK, 0.9), (WHITE, 0.9))
"""For each game, the side that passes at random, and the probability."""
POSITIONS = _PER_GAME * len(_PASSES)
_FULL = 2 / 3
_SEED = 1


def calibration_inputs(spec: NetSpec, width: int, height: int) -> tuple[Array, Array]:
    """Return planes [POSITIONS, planes, height, width] and globals [POSITIONS, globals + metadata], float32."""
    encoder, positions = encoder_for(spec), _positions(width, height)
    planes = np.zeros((POSITIONS, spec.planes, height, width), dtype=np.float32)
    globals_ = np.zeros((POSITIONS, spec.globals), dtype=np.float32)
    encoder.encode(positions, POSITIONS, planes, globals_, encoder.new_scratch(width, height))
    if not spec.metadata:
        return planes, globals_
    metadata = human_metadata(MEASURED_PROFILE, width, height)[positions.to_play - 1]
    return planes, np.concatenate([globals_, metadata], axis=1)


def _positions(width: int, height: int) -> PositionBatch:
    """Return positions at equal distances in random games."""
    generator, area = np.random.default_rng(_SEED), width * height
    positions = PositionBatch(POSITIONS, width, height)
    moves = max(1, round(area * _FULL / _PER_GAME))
    for number, (lazy, chance) in enumerate(_PASSES):
        game = Game(width, height)
        for row in range(number * _PER_GAME, (number + 1) * _PER_GAME):
            write_position(game, game.to_play, positions, row)
            for _ in range(moves):
                _play_anywhere(game, chance if game.to_play == lazy else 0.0, generator)
    positions.white_bonus += generator.normal(0.0, math.sqrt(area), POSITIONS).round().astype(np.float32)
    return positions


def _play_anywhere(game: Game, passing: float, generator: np.random.Generator) -> None:
    """Pass with probability `passing`, else play a random legal point; do nothing if only a pass is legal."""
    if generator.random() < passing:
        game.play(game.to_play, PASS)
        return
    for vertex in generator.permutation(points(game.width, game.height)):
        if game.is_legal(game.to_play, int(vertex)):
            game.play(game.to_play, int(vertex))
            return
