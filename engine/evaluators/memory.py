"""How many board sizes a network stays compiled for, and how --max-memory is divided.

A backend compiles a network for each board size. The size in use is always kept, others only as far as they fit into
`OTHER_BOARDS`; the one used longest ago is dropped first and compiled again when it is played on.
"""

from typing import NamedTuple

from engine.errors import GoError
from engine.nets.blocks import AttentionBlock, all_blocks
from engine.nets.spec import NetSpec, parameters

OTHER_BOARDS = 140 * 2**20
"""Bytes for the models of board sizes that are not in use."""
CACHE_MIB = 64
"""MiB of cached evaluations, if there is memory for them."""
HUMAN_CACHE_MIB = 16
"""MiB of the cached evaluations of a human network, which evaluates roots and, if asked to, trees."""
_CACHE_SHARE = 4
"""The cache takes at most the fourth part of what the network leaves."""
_LEAST_MIB = 16
"""MiB for cache and tree that a network must leave."""
_MEBIBYTE = 1 << 20
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


class MemoryShares(NamedTuple):
    """MiB of the evaluation cache and of the search tree."""

    cache: int
    tree: int


def shares_of(memory_mib: int, model_bytes: int) -> MemoryShares:
    """Divide what the models of a network leave of a memory limit.

    memory_mib: the value of --max-memory. model_bytes: see `Backend.model_bytes`.
    Raises GoError with the least limit that works if the models leave too little.
    """
    models = -(-model_bytes // _MEBIBYTE)
    left = memory_mib - models
    if left < _LEAST_MIB:
        raise GoError(
            f"--max-memory {memory_mib} is too small: at least {models + _LEAST_MIB}, {models} for the network"
        )
    cache = min(CACHE_MIB, left // _CACHE_SHARE)
    return MemoryShares(cache, left - cache)
