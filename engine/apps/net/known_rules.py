"""Makes a network that learned from games under one rule set answer as under these rules, whatever a game's are."""

import numpy as np

from engine.color import BLACK
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.encoders.katago import RULE_GLOBALS
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.nets.constant_inputs import without_inputs
from engine.nets.spec import NetSpec
from engine.rules import parse_rules

_ONES = "on board"


def for_all_rules(spec: NetSpec, known: str) -> NetSpec:
    """Return a network whose answers do not depend on the rules: those that the given one has under `known`.

    known: area rules, a preset or JSON. Raises GoError if they score territory, whose games have phases, or if the
    network is not told the rules.
    """
    encoder, rules = ENCODERS[spec.encoder], parse_rules(known)
    names = [name for name in encoder.global_names if name in RULE_GLOBALS]
    if not names or _ONES not in encoder.plane_names:
        raise GoError(f"{spec.name} is not told the rules: --known-rules does not apply to inputs {spec.encoder}")
    if not rules.is_area:
        raise GoError("--known-rules: expected rules with area scoring, under which a game has one phase")
    side = spec.board_sizes[0]
    positions = PositionBatch(1, side, side)
    write_position(Game(side, side, rules=rules), BLACK, positions, 0)
    planes = np.zeros((1, encoder.planes, side, side), np.float32)
    globals_ = np.zeros((1, encoder.globals), np.float32)
    encoder.encode(positions, 1, planes, globals_)
    values = {index: float(globals_[0, index]) for index, name in enumerate(encoder.global_names) if name in names}
    return without_inputs(spec, values, encoder.plane_names.index(_ONES))
