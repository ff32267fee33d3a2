"""Makes a network that learned from games under one rule set take a game's area rules for these."""

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
    """Return a network to which all rules are what `known` are to the given one, but for what they do to other inputs.

    Those are the areas, the parity of komi, and passes, which some rules hide; under rules that score areas all but
    the last are alike.
    known: area rules, a preset or JSON. Raises GoError if they score territory, whose games have phases, or have a
    button, which a pass takes, or if the network is not told the rules.
    """
    encoder, rules = ENCODERS[spec.encoder], parse_rules(known)
    names = [name for name in encoder.global_names if name in RULE_GLOBALS]
    if not names or ON_BOARD not in encoder.plane_names:
        raise GoError(f"{spec.name} is not told the rules: --known-rules does not apply to inputs {spec.encoder}")
    if not rules.is_area or rules.button:
        raise GoError("--known-rules: expected rules with area scoring and no button, under which a game has one phase")
    side = spec.board_sizes[0]
    positions = PositionBatch(1, side, side)
    write_position(Game(side, side, rules=rules), BLACK, positions, 0)
    planes = np.zeros((1, encoder.planes, side, side), np.float32)
    globals_ = np.zeros((1, encoder.globals), np.float32)
    encoder.encode(positions, 1, planes, globals_)
    values = {index: float(globals_[0, index]) for index, name in enumerate(encoder.global_names) if name in names}
    mended = without_inputs(spec, values, encoder.plane_names.index(ON_BOARD))
    return replace(mended, provenance={**spec.provenance, KNOWN_RULES: known})
