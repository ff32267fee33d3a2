"""What every network evaluator needs of a spec besides its arithmetic: encoder, board size, rules."""

from engine.encoders import ENCODERS, Encoder
from engine.nets.spec import NetSpec, WeightsError, validate
from engine.rules import Ko, Rules


def encoder_for(spec: NetSpec) -> Encoder:
    """Return the encoder a network was made for.

    Raises WeightsError when the network is inconsistent, when there is no encoder of that name, or
    when its numbers of planes and globals differ from the network's.
    """
    validate(spec)
    encoder = ENCODERS.get(spec.encoder)
    if encoder is None:
        raise WeightsError(
            f"network {spec.name} needs an unknown encoder",
            layer="encoder",
            expected=f"one of {' '.join(sorted(ENCODERS))}",
            got=spec.encoder,
        )
    for layer, inputs, wanted in (
        ("stem.conv", spec.planes, encoder.planes),
        ("stem.globals", spec.globals, encoder.globals),
    ):
        if inputs != wanted:
            raise WeightsError(
                f"wrong number of inputs for encoder {encoder.name}", layer=layer, expected=wanted, got=inputs
            )
    return encoder


def check_board(spec: NetSpec, width: int, height: int) -> None:
    """Raise WeightsError unless the network was made for boards of this size."""
    smallest, largest = spec.board_sizes
    if not (smallest <= min(width, height) and max(width, height) <= largest):
        raise WeightsError(
            f"network {spec.name} knows no such board",
            expected=f"sides of {smallest} to {largest}",
            got=f"{width}x{height}",
        )


def can_end_without_result(rules: Rules) -> bool:
    """True if a game can end in no result; where it cannot, a network's third value logit is ignored."""
    return rules.ko is Ko.SIMPLE or not rules.is_area
