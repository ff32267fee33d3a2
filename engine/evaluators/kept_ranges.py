"""The files with the measured ranges of networks, for int8, in a folder of the user's cache."""

import io
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from engine.nets.rounding import Range
from engine.support.files import write_atomically
from engine.support.installation import user_cache
from weights.npz import DAMAGED_NPZ

_LOG = logging.getLogger(__name__)
WORTH_KEEPING = 1.0
"""Minimum seconds of a measurement for its result to be stored."""
MOST_FILES = 32
"""Number of files to keep."""
_LOSS = "loss"
"""Name of the loss in a file; the names of ranges are their numbers."""


def file_of_ranges(digest: str) -> Path | None:
    """Return the path of the file for a network and positions, given their digest; None if the user has no cache."""
    folder = user_cache()
    return None if folder is None else folder / "ranges" / f"{digest[:32]}.npz"


def write_ranges(file: Path, ranges: Sequence[Range], loss: tuple[float, float] | None) -> None:
    """Write a file and remove those that were not used for longest; errors are ignored."""
    arrays = {str(index): np.stack([each.lowest, each.largest, each.mean]) for index, each in enumerate(ranges)}
    if loss is not None:
        arrays[_LOSS] = np.array(loss)
    content = io.BytesIO()
    np.savez(content, **arrays)  # type: ignore[arg-type]  # no array has the name of an option
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue())
        files = sorted(file.parent.glob("*.npz"), key=lambda path: path.stat().st_mtime)
        for path in files[:-MOST_FILES]:
            path.unlink(missing_ok=True)


def read_ranges(
    file: Path | None, channels: Sequence[int] | None = None
) -> tuple[list[Range], tuple[float, float] | None] | None:
    """Read ranges and loss from a file; return None if there is no file, or it was damaged and removed.

    channels: number of channels of each range, for checking; None where it is not known.
    """
    if file is None:
        return None
    try:
        with file.open("rb") as stream, np.load(stream) as arrays:
            loss = None
            if _LOSS in arrays:
                winrate, policy = arrays[_LOSS].tolist()
                loss = winrate, policy
            found = [arrays[name] for name in arrays if name != _LOSS]
        expected = [len(array.T) for array in found] if channels is None else channels
        if [array.shape for array in found] != [(3, count) for count in expected]:
            raise ValueError("the ranges are not of the network's inputs")
        with suppress(OSError):
            os.utime(file)  # those that are used longest ago are removed
        return [Range(*array) for array in found], loss
    except FileNotFoundError:
        return None
    except DAMAGED_NPZ as error:
        _LOG.warning("%s is damaged, the network is measured again: %s", file, error)
        with suppress(OSError):
            file.unlink()
        return None
