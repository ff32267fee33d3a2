"""What an encoder is: a name, a number of planes and globals, and a kernel that writes them.

Knows no particular format. A name, once networks were trained on it, keeps its exact meaning; a
changed format is a new name.
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
    """Stand for working memory where none is needed."""


@dataclass(frozen=True)
class Encoder:
    """One input format.

    plane_names, global_names: one name an input, in order.
    write: the format's own function; call `encode` instead, which checks the buffers.
    new_scratch: makes the working memory of `write` for boards of a width and height, None for formats that need none.
    signed: planes hold -1 besides 0 and 1.
    closure: makes the closure that writes so many first rows and returns their number, of positions, planes, globals
        and working memory, which it uses while it holds a lock; None for formats that no closure writes.
    """

    name: str
    plane_names: tuple[str, ...]
    global_names: tuple[str, ...]
    write: Callable[[PositionBatch, int, Inputs, Inputs, Any], None]
    new_scratch: Callable[[int, int], object] = _no_scratch
    signed: bool = False
    closure: Callable[[PositionBatch, Inputs, Inputs, Any, NDArray[np.int64]], Closure] | None = None

    @property
    def planes(self) -> int:
        """Input planes a position."""
        return len(self.plane_names)

    @property
    def globals(self) -> int:
        """Global inputs a position."""
        return len(self.global_names)

    def encode(
        self, positions: PositionBatch, count: int, planes: Inputs, globals_: Inputs, scratch: object = None
    ) -> None:
        """Write the inputs of rows 0..count-1; other rows stay as they are.

        planes: [B, planes, height, width] float32, C-contiguous, row 0 the top row, B >= count.
        globals_: [B, globals] float32.
        scratch: what `new_scratch` made for this board size. It remembers what was read on earlier boards,
            and serves one call at a time; without it each call starts from nothing.
        Raises ValueError on buffers of another shape or type. Points of view are the side to move's.
        """
        shape = (self.planes, positions.height, positions.width)
        if not (
            planes.shape[1:] == shape
            and globals_.shape[1:] == (self.globals,)
            and count <= min(positions.capacity, len(planes), len(globals_))
            and planes.dtype == globals_.dtype == np.float32
            and planes.flags.c_contiguous
        ):
            raise ValueError(
                f"encoder {self.name}: {count} positions need float32 planes [>= {count}, "
                f"{', '.join(map(str, shape))}] and globals [>= {count}, {self.globals}], "
                f"got {planes.dtype} {list(planes.shape)} and {globals_.dtype} {list(globals_.shape)}"
            )
        self.write(positions, count, planes, globals_, scratch)
