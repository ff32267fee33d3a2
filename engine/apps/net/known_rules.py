"""Makes a network that learned from games under one rule set treat all area rules as these."""

from dataclasses import replace

import numpy as np

from engine.color import BLACK
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.encoders.katago import ON_BOARD, RULE_GLOBALS
from engine.errors import GoError
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.nets.constant_inputs import without_inputs
from engine.nets.spec import NetSpec
from engine.rules import parse_rules

KNOWN_RULES = "known rules"
"""The entry of a network's provenance that names the rules."""


def for_all_rules(spec: NetSpec, known: str) -> NetSpec:
    """Return a network for which the inputs that name the rules have no effect: it answers as if they said `known`.

    Other inputs can still depend on the rules: the areas, the parity of komi, and passes, which some rules hide.
    known: area rules, a preset or JSON. Raises GoError if they score territory, whose games have phases, or have a
    button, which a pass takes, or if the network is not told the rules.
    """
    encoder, rules = ENCODERS[spec.encoder], parse_rules(known)
    names = [name for name in encoder.global_names if name in RULE_GLOBALS]
    if not names or ON_BOARD not in encoder.plane_names:
        raise GoError(f"{spec.name} is not told the rules: --known-rules does not apply to inputs {spec.encoder}")
    if not rules.is_area or rules.button:
        raise GoError(f"--known-rules: expected rules with area scoring and no button, got {known}")
    side = spec.board_sizes[0]
    positions = PositionBatch(1, side, side)
    write_position(Game(side, side, rules=rules), BLACK, positions, 0)
    planes = np.zeros((1, encoder.planes, side, side), np.float32)
    globals_ = np.zeros((1, encoder.globals), np.float32)
    encoder.encode(positions, 1, planes, globals_)
    values = {index: float(globals_[0, index]) for index, name in enumerate(encoder.global_names) if name in names}
    mended = without_inputs(spec, values, encoder.plane_names.index(ON_BOARD))
    return replace(mended, provenance={**spec.provenance, KNOWN_RULES: known})
