"""Networks with the statistics of one board size, beside that of all: net.sizes/9x9.safetensors for net.safetensors."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from zipfile import ZipFile

from engine.nets.spec import NetSpec
from engine.support.files import write_atomically
from weights import native

FOLDER_SUFFIX = ".sizes"
_SIZE = re.compile(r"[0-9]+x[0-9]+")
Size = tuple[int, int]
"""Columns and rows of a board."""


def folder_of(file: Path) -> Path:
    """Return the folder of the networks that belong to a file."""
    return file.with_suffix(FOLDER_SUFFIX)


def files_of(file: Path) -> list[Path]:
    """Return the files of networks for one board size each that are beside a file, also those of an earlier one."""
    return sorted(path for path in folder_of(file).glob(f"*x*{native.SUFFIX}") if _SIZE.fullmatch(path.stem))


def write_sized(file: Path, name: str, networks: Mapping[Size, NetSpec]) -> None:
    """Write the networks that belong to the one of a file, whose name is `name`: each is for its board size only.

    Those of an earlier network that are left are removed.
    """
    folder = folder_of(file)
    for size, spec in networks.items():
        folder.mkdir(exist_ok=True)
        own = replace(spec, name=_name(name, size), board_sizes=(min(size), max(size)))
        native.write(own, folder / f"{text_of(size)}{native.SUFFIX}")
    kept = {text_of(size) for size in networks}
    for path in files_of(file):
        if path.stem not in kept:
            path.unlink()


def read_sized(file: Path, name: str) -> dict[Size, NetSpec]:
    """Return the networks that belong to the one of a file, by board size. Raises WeightsError on a damaged one.

    Those of another network, as after the file was replaced, are left out.
    """
    found = {}
    for path in files_of(file):
        width, _, height = path.stem.partition("x")
        size, spec = (int(width), int(height)), native.read(path)
        if spec.name == _name(name, size):
            found[size] = spec
    return found


def packed(file: Path) -> bytes:
    """Return a network's file and those that belong to it, to be sent to another machine. Raises OSError."""
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        for path in (file, *files_of(file)):
            archive.write(path, path.relative_to(file.parent))
    return content.getvalue()


def write_packed(content: bytes, file: Path) -> None:
    """Write the network of `packed` as `file`, with those that belong to it and without those of an earlier one.

    The network comes after those that belong to it: until then the earlier one is whole but for sizes of both.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        network, *names = archive.namelist()
        sized = {folder_of(file) / Path(name).name: name for name in names}
        if sized:
            folder_of(file).mkdir(exist_ok=True)
        for path, name in sized.items():
            write_atomically(path, archive.read(name))
        write_atomically(file, archive.read(network))
    for path in files_of(file):
        if path not in sized:
            path.unlink()


def unpacked(content: bytes, folder: Path) -> Path:
    """Write the files of `packed` into a folder, and return the network's."""
    with ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder)
        return folder / archive.namelist()[0]


def _name(name: str, size: Size) -> str:
    return f"{name}-{text_of(size)}"


def text_of(size: Size) -> str:
    """Return a size as it stands in names: 9x9."""
    return f"{size[0]}x{size[1]}"
