"""The hash of a row: equal only where every encoder sees the same."""

import random
from dataclasses import replace

import numpy as np
import pytest

from engine.color import opponent
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR, Ko, Rules, Scoring
from engine.vertex import PASS

RULE_SETS = [
    TROMP_TAYLOR,
    *(PRESETS[name] for name in ("chinese", "japanese", "aga-button")),
    replace(TROMP_TAYLOR, ko=Ko.SITUATIONAL, scoring=Scoring.TERRITORY),
]


SCRATCH = {name: encoder.new_scratch(2, 2) for name, encoder in ENCODERS.items()}


def seen_by_encoders(positions: PositionBatch) -> bytes:
    """Return all that any encoder writes of a batch of one 2x2 position, and what is legal in it."""
    seen = [positions.legal[0].tobytes()]
    for name, encoder in ENCODERS.items():
        planes = np.zeros((1, encoder.planes, positions.height, positions.width), np.float32)
        globals_ = np.zeros((1, encoder.globals), np.float32)
        encoder.encode(positions, 1, planes, globals_, SCRATCH[name])
        seen += [planes.tobytes(), globals_.tobytes()]
    return b"".join(seen)


@pytest.mark.parametrize("encore", [False, True])
@pytest.mark.parametrize("rules", RULE_SETS, ids=lambda rules: f"{rules.ko}-{rules.scoring}")
def test_positions_of_one_hash_look_the_same_to_every_encoder(rules: Rules, encore: bool) -> None:
    chance = random.Random(7)
    seen: dict[tuple[int, float], bytes] = {}
    met_again = 0
    for _ in range(40):
        game = Game(2, 2, rules=rules, encore=encore)
        for _ in range(25):
            positions = PositionBatch(1, 2, 2)
            write_position(game, game.to_play if chance.random() < 0.9 else opponent(game.to_play), positions, 0)
            key = (int(positions.hashes[0]), float(positions.white_bonus[0]))
            found = seen_by_encoders(positions)
            met_again += key in seen
            assert seen.setdefault(key, found) == found
            legal = game.legal_vertices()
            game.play(game.to_play, PASS if not legal or chance.random() < 0.2 else chance.choice(legal))
    assert met_again > 20
