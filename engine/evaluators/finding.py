"""From what the user named to a network file. Imports nothing that could evaluate it."""

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
    """Return a file itself, the newest network file of a folder, others passed over, or a network that ships, by name.

    Raises GoError where a folder has none, and on an empty name.
    """
    if not os.fspath(path):
        raise GoError("a network's name must not be empty")
    place = Path(path)
    shipped = SHIPPED_NETWORKS / (place.name + SUFFIX)
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
            _LOG.debug("passed over: %s", error)
        else:
            _LOG.info("%s is the newest network of %s: %s", each.name, place, kind)
            return each
    raise GoError(f"{place}: no network file among the {len(newest_first)} files of this folder")


def _newest_first(folder: Path) -> list[Path]:
    """Return the files of a folder but drafts, whose names begin with a dot. Raises OSError if it cannot be read."""
    found: list[tuple[int, str, Path]] = []
    for each in folder.iterdir():
        # What another process has removed since, or put where nobody may look, is passed over.
        with suppress(OSError):
            status = each.stat()
            if stat.S_ISREG(status.st_mode) and not each.name.startswith("."):
                found.append((status.st_mtime_ns, each.name, each))
    return [each for _, _, each in sorted(found, reverse=True)]
