"""Finds the network file that the user named. Imports no backend."""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from engine.errors import GoError
from engine.nets.spec import WeightsError
from weights.native import SUFFIX
from weights.registry import format_of
from weights.shipped import SHIPPED_NETWORKS

_LOG = logging.getLogger(__name__)


def find_network(path: str | os.PathLike[str]) -> Path:
    """Return the path of a network: a file itself, the newest network in a directory, or a shipped network by name.

    Other files in the directory are ignored. Raises GoError for a directory without networks and for an empty name.
    """
    if not os.fspath(path):
        raise GoError("a network's name must not be empty")
    place = Path(path)
    shipped = SHIPPED_NETWORKS / (place.name.removesuffix(SUFFIX) + SUFFIX)
    if not place.exists() and place.name == os.fspath(path) and shipped.is_file():
        return shipped
    if not place.is_dir():
        return place
    try:
        newest_first = _newest_first(place)
    except OSError as error:
        raise GoError(f"{place}: cannot be read: {error.strerror or error}") from None
    for each in newest_first:
        try:
            kind = format_of(each).name
        except WeightsError as error:
            _LOG.debug("skipped: %s", error)
        else:
            _LOG.info("newest network in %s: %s (%s)", place, each.name, kind)
            return each
    raise GoError(f"{place}: no network file among the {len(newest_first)} files of this folder")


def _newest_first(folder: Path) -> list[Path]:
    """Return the files of a folder, newest first, without drafts, whose names begin with a dot. Raises OSError."""
    found: list[tuple[int, str, Path]] = []
    for each in folder.iterdir():
        # Ignores files that another process has just removed, and those that cannot be read.
        with suppress(OSError):
            status = each.stat()
            if stat.S_ISREG(status.st_mode) and not each.name.startswith("."):
                found.append((status.st_mtime_ns, each.name, each))
    return [each for _, _, each in sorted(found, reverse=True)]
