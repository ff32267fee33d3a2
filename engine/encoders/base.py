"""Defines an encoder: a name, names of planes and globals, and a kernel that writes them.

Does not know any format. Once networks were trained with a name, it keeps its exact meaning; a changed format gets a
new name.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.positions import PositionBatch
from engine.native.closures import Closure

Inputs: TypeAlias = NDArray[np.float32]


def _no_scratch(width: int, height: int) -> None:
    """Placeholder of formats without working memory."""


@dataclass(frozen=True)
class Encoder:
    """One input format.

    plane_names, global_names: one name for each input, in order.
    write: the format's own function; call `encode` instead, which checks the buffers.
    new_scratch: allocates the working memory of `write` for boards of a width and height, None if the format needs
    none.
    signed: planes also contain -1; else they are of 0 and 1 alone, which samples store as bits.
    sees_color: the inputs tell Black from White; else a position with the colors exchanged has the same.
    closure: builds a closure that encodes the first `count` rows and returns `count`, from positions, planes, globals,
    working memory and the lock that guards this memory; None if the format has none.
    """

    name: str
    plane_names: tuple[str, ...]
    global_names: tuple[str, ...]
    write: Callable[[PositionBatch, int, Inputs, Inputs, Any], None]
    new_scratch: Callable[[int, int], object] = _no_scratch
    signed: bool = False
    sees_color: bool = False
    closure: Callable[[PositionBatch, Inputs, Inputs, Any, NDArray[np.int64]], Closure] | None = None

    @property
    def planes(self) -> int:
        """Number of input planes."""
        return len(self.plane_names)

    @property
    def globals(self) -> int:
        """Number of global inputs."""
        return len(self.global_names)

    def encode(
        self, positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: object = None
    ) -> None:
        """Write the inputs of rows 0..count-1, from the side to move's point of view; other rows are not changed.

        planes: [B, planes, height, width] float32, C-contiguous, row 0 the top row, B >= count.
        globals_: [B, globals] float32.
        scratch: from `new_scratch` for this board size, for one call at a time. It caches ladders of earlier boards;
        without it, each call starts with an empty cache.
        Raises ValueError for buffers of another shape or type.
        """
        shape = (self.planes, positions.height, positions.width)
        if not (
            planes.shape[1:] == shape
            and globals_.shape[1:] == (self.globals,)
            and count <= min(positions.capacity, len(planes), len(globals_))
            and planes.dtype == globals_.dtype == np.float32
            # Checked here, once a batch: a kernel would silently read wrong memory or compile again for other layouts.
            and planes.flags.c_contiguous
        ):
            raise ValueError(
                f"encoder {self.name}: {count} positions need float32 planes [>= {count}, "
                f"{', '.join(map(str, shape))}] and globals [>= {count}, {self.globals}], "
                f"got {planes.dtype} {list(planes.shape)} and {globals_.dtype} {list(globals_.shape)}"
            )
        self.write(positions, count, planes, globals_, scratch)
