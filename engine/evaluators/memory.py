"""How many board sizes a network stays compiled for.

A backend compiles a network for each board size. The size in use is always kept, others only as far as they fit into
`OTHER_BOARDS`; the one used longest ago is dropped first and compiled again when it is played on.
"""

from engine.nets.blocks import AttentionBlock, all_blocks
from engine.nets.spec import NetSpec, parameters

OTHER_BOARDS = 140 * 2**20
"""Bytes for the models of board sizes that are not in use."""
_CONVOLUTIONS, _ATTENTION = 8 * 2**20, 28 * 2**20
"""What a model of OpenVINO takes beside its weights. Measured: 9 to 18 MiB a model with 3.9 MiB of weights in
convolutions, 26 to 40 MiB with 3.1 MiB in a transformer, on boards from 8x8 to 19x19 and for batches from 1 to 8."""


def openvino_model_bytes(spec: NetSpec) -> int:
    """Return about what one model takes, compiled by OpenVINO for one board size and batch."""
    attends = any(isinstance(block, AttentionBlock) for block in all_blocks(spec.blocks))
    return (_ATTENTION if attends else _CONVOLUTIONS) + 2 * 4 * parameters(spec)


def boards_kept(bytes_per_board: int) -> int:
    """Return how many board sizes to keep models for, the one in use among them."""
    return 1 + OTHER_BOARDS // bytes_per_board
