"""`keima net convert`: writes a network in another format, reads it back and compares it."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from engine.errors import GoError
from engine.evaluators.finding import find_network
from engine.nets.spec import NetSpec, WeightsError, parameters, tensors
from engine.support.files import draft_of, require_writable
from weights import katago_writer, native
from weights.katago_form import katago_form
from weights.registry import format_of, load
from weights.sized import Size, folder_of, read_sized, text_of, write_sized

KEIMA, KATAGO, ONNX = "keima", "katago", "onnx"
_SUFFIXES = {native.SUFFIX: KEIMA, ".bin.gz": KATAGO, ".onnx": ONNX}
_BYTES_OF: dict[str, Callable[[NetSpec], bytes]] = {KEIMA: native.to_bytes, KATAGO: katago_writer.to_gzip}


def cli_convert(
    source: str,
    target: str,
    *,
    to: str | None = None,
    name: str | None = None,
    force: bool = False,
    size: tuple[int, int] | None = None,
    people: Mapping[str, str] | None = None,
    known_rules: str | None = None,
) -> int:
    """Write the network of one file into another and return the exit status 0.

    to: a format; None goes by the suffix of the target. name: the network's in the new file, its own if None. force:
    replace an existing target. size: (width, height) of the board of an ONNX file, None for 19x19 or the nearest square
    that the network supports. people: entries of a human network's provenance, see PEOPLE. known_rules: the rules of
    the only games that the network has seen; the new one treats all area rules as these.
    Raises GoError, WeightsError, OSError, and ModuleNotFoundError where ONNX cannot be written.
    """
    screen = sys.stdout
    path, kind = Path(target), target_kind(target, to, force=force)
    if size is not None and kind != ONNX:
        raise GoError(f"--size is for ONNX files: {target} serves every board that the network supports")
    file = find_network(source)
    spec = load(file)
    sized = read_sized(file, spec.name)
    if name is not None:
        spec = replace(spec, name=name)
    if people:
        option = f"--{next(iter(people)).replace(' ', '-')}"
        if not spec.metadata:
            raise GoError(f"{source} is not a human network: {option} does not apply")
        if kind != KEIMA:
            raise GoError(f"{option} is for files in Keima's format, not {target}")
    spec = _edited(spec, people or {}, known_rules)
    sized = {board: _edited(each, people or {}, known_rules) for board, each in sized.items()}
    if kind == ONNX:
        screen.write(_write_onnx(spec, sized, path, size))
        return 0
    try:
        if kind == KEIMA:
            # Before the network that they belong to, as in `write_packed`.
            write_sized(path, spec.name, sized)
        written = write_checked(spec, kind, path)
    except WeightsError as error:
        raise error.in_file(source) from None
    screen.write(
        f"{target}: {format_of(path).name}, {written.format} {written.version}, "
        f"{parameters(written):,} parameters, {path.stat().st_size:,} bytes, read back and equal\n"
    )
    report_changes(screen, spec, written)
    if sized:
        where = folder_of(path) if kind == KEIMA else "left out, as KataGo's format has no place for them"
        screen.write(f"{where}: the statistics of {', '.join(map(text_of, sized))}\n")
    return 0


def _write_onnx(spec: NetSpec, sized: Mapping[Size, NetSpec], path: Path, size: Size | None) -> str:
    """Write an ONNX file for a board, and return the line that says so."""
    from engine.nets.torch_modules.onnx_export import onnx_size, write_onnx

    board = onnx_size(spec, size)
    difference = write_onnx(replace(sized.get(board, spec), name=spec.name), path, board)
    return (
        f"{path}: ONNX for {text_of(board)}, {parameters(spec):,} parameters, {path.stat().st_size:,} bytes, "
        f"ONNX Runtime differs from PyTorch by {difference:.1g} at most\n"
    )


def _edited(spec: NetSpec, people: Mapping[str, str], known_rules: str | None) -> NetSpec:
    """Return a network with other entries about people, and for other rules, as in `cli_convert`."""
    edited = replace(spec, provenance={**spec.provenance, **people})
    if known_rules is None:
        return edited
    # The rules are read as a network reads them, by kernels.
    from engine.apps.net.known_rules import for_all_rules

    return for_all_rules(edited, known_rules)


def report_changes(screen: IO[str], spec: NetSpec, written: NetSpec) -> None:
    """Print what differs in the file that was written: the name, and what the format has no place for."""
    if written.name != spec.name:
        screen.write(f"name: {written.name} (KataGo's names are letters, digits, - and _)\n")
    lost = sorted(spec.provenance.keys() - written.provenance.keys())
    if written.board_sizes != spec.board_sizes:
        lost.insert(0, "its boards (sides of {} to {})".format(*spec.board_sizes))
    if lost:
        screen.write(f"left out, as KataGo's format has no place for it: {', '.join(lost)}\n")


def target_kind(target: str, to: str | None = None, *, force: bool = False) -> str:
    """Return the format, KEIMA, KATAGO or ONNX, in which a network may be written to a file. Raises GoError if none."""
    path = Path(target)
    kind = to or _kind_of(path)
    if kind == KATAGO and not path.name.endswith(".bin.gz"):
        raise GoError(f"{target}: KataGo wants names that end in .bin.gz")
    if kind == KEIMA and path.suffix != native.SUFFIX:
        # By its name a network finds those of single board sizes, in NAME.sizes.
        raise GoError(f"{target}: a network in Keima's format has a name that ends in {native.SUFFIX}")
    if path.exists() and not path.is_file():
        raise GoError(f"{target} is no file")
    if path.exists() and not force:
        raise GoError(f"{target} exists already: --force replaces it")
    return kind


def write_checked(spec: NetSpec, kind: str, path: Path) -> NetSpec:
    """Write a network beside a path, read it back, compare, and only then put it in its place; return what was read."""
    # Compared before the draft replaces the target: a writer's error must not destroy a good file.
    require_writable(path)
    with draft_of(path) as draft:
        draft.write_bytes(_BYTES_OF[kind](spec))
        written = load(draft)
        _check_same(katago_form(spec) if kind == KATAGO else spec, written, os.fspath(path))
    return written


def _kind_of(path: Path) -> str:
    """Return the format for the suffix of a file name."""
    for suffix, kind in _SUFFIXES.items():
        if path.name.endswith(suffix):
            return kind
    known = " or ".join(f"{suffix} ({kind})" for suffix, kind in _SUFFIXES.items())
    raise GoError(f"{path}: no format goes by this name: end it in {known}, or say --to")


def _check_same(wanted: NetSpec, written: NetSpec, target: str) -> None:
    """Raise GoError unless the network that was read back is equal, bit by bit."""
    expected, found = dict(tensors(wanted)), dict(tensors(written))
    if expected.keys() != found.keys():
        odd = min(expected.keys() ^ found.keys())
        raise GoError(f"{target}: what was written reads back differently: {odd}")
    for path, array in expected.items():
        if not np.array_equal(array, found[path]):
            raise GoError(f"{target}: what was written reads back differently: {path}")
    for fact in ("encoder", "version", "scores", "metadata"):
        if getattr(wanted, fact) != getattr(written, fact):
            raise GoError(f"{target}: what was written reads back differently: {fact}")
