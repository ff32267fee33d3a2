"""`keima net info`: everything that a network file contains about itself, as JSON, as tables, or as a drawing.

Imports numpy, and nothing that could evaluate the network: any file is explained on any machine.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from engine.evaluators.finding import find_network
from engine.nets.constant_inputs import inputs_without_effect
from engine.nets.drawing import largest_board, sides_of, svg
from engine.nets.spec import NetSpec, WeightsError, describe, parameters
from engine.nets.summary import Part, folded, gflop, multiply_adds, outputs, parts
from engine.support.files import require_writable, write_atomically
from engine.support.json_text import json_text
from engine.support.tables import print_tables
from weights.registry import format_of, load

if TYPE_CHECKING:
    from rich.table import Table

_INDENT = "  "


def cli_info(
    file: str,
    *,
    inputs: bool = False,
    tensors: bool = False,
    as_json: bool = False,
    drawing: str | Path | None = None,
    stdout: IO[str] | None = None,
) -> int:
    """Print what a file is and return the exit status 0. Raises WeightsError, OSError.

    inputs: also the names of planes and globals. tensors: also every array. drawing: a file for the SVG.
    """
    screen = stdout or sys.stdout
    path = find_network(file)
    spec = load(path)
    if drawing is not None:
        require_writable(Path(drawing))
        write_atomically(Path(drawing), svg(spec, input_lines(spec)))
    if as_json:
        screen.write(json_text(facts(spec, path, inputs=inputs, tensors=tensors), indent=1) + "\n")
    else:
        _print(screen, spec, path, inputs=inputs, tensors=tensors)
    return 0


def facts(spec: NetSpec, file: Path, *, inputs: bool = False, tensors: bool = False) -> dict[str, Any]:
    """Return everything there is to say, as JSON values."""
    width, height = largest_board(spec)
    found: dict[str, Any] = {
        "name": spec.name,
        "file": {"path": str(file), "bytes": file.stat().st_size, "format": format_of(file).name},
        "format": spec.format,
        "version": spec.version,
        "encoder": {
            "name": spec.encoder,
            "planes": spec.planes,
            "globals": spec.globals,
            "metadata": spec.metadata,
        },
        "board_sizes": list(spec.board_sizes),
        "blocks": len(spec.blocks),
        "channels": spec.channels,
        "parameters": parameters(spec),
        "parameter_bytes": 4 * parameters(spec),
        "gflop": {f"{side}x{side}": round(gflop(spec, side, side), 6) for side in sides_of(spec)},
        "multiply_adds": multiply_adds(spec, width, height),
        "multiply_adds_on": f"{width}x{height}",
        "layers": [asdict(part) for part in parts(spec, width, height)],
        "outputs": [asdict(output) for output in outputs(spec)],
        "provenance": dict(spec.provenance),
    }
    if inputs:
        found["encoder"]["inputs"] = dict(zip(("planes", "globals"), _input_names(spec), strict=True))
        found["encoder"]["globals_without_effect"] = inputs_without_effect(spec)
    if tensors:
        found["tensors"] = {path: list(shape) for path, shape, _ in describe(spec)}
    return found


def input_lines(spec: NetSpec) -> list[str]:
    """Return what the network is given, a line each."""
    lines = [f"{spec.encoder}: {spec.planes} planes [height, width]"]
    if spec.globals:
        lines.append(f"{spec.globals} globals")
    if spec.metadata:
        lines.append(f"{spec.metadata} numbers about the players")
    return lines


def _input_names(spec: NetSpec) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of planes and of globals. Raises WeightsError for an encoder that Keima has not."""
    # Encoders are kernels; nothing else here needs the compiler.
    from engine.encoders import ENCODERS

    encoder = ENCODERS.get(spec.encoder)
    if encoder is None:
        known = " ".join(sorted(ENCODERS))
        raise WeightsError("unknown encoder", layer="encoder", expected=known, got=spec.encoder)
    return encoder.plane_names, encoder.global_names


def _print(screen: IO[str], spec: NetSpec, file: Path, *, inputs: bool, tensors: bool) -> None:
    """Print tables on a terminal, and the same as plain lines into a pipe."""
    apart = [each for table in _tables(spec, file, inputs=inputs, tensors=tensors) for each in ("", table)]
    print_tables(screen, apart[1:])


def _tables(spec: NetSpec, file: Path, *, inputs: bool, tensors: bool) -> "Iterator[Table]":
    width, height = largest_board(spec)
    yield _table(("", ""), _fact_rows(spec, file))
    yield _table(("layer", "kind", "shapes", "parameters", f"share on {width}x{height}"), _layer_rows(spec), numbers=2)
    yield _table(("output", "numbers", "meaning"), [(each.name, each.size, each.meaning) for each in outputs(spec)])
    if inputs:
        planes, globals_ = _input_names(spec)
        rows = [("plane", str(index), name) for index, name in enumerate(planes)]
        notes = dict.fromkeys(inputs_without_effect(spec), ", without effect")
        rows += [("global", str(index), name + notes.get(index, "")) for index, name in enumerate(globals_)]
        yield _table(("input", "", "meaning"), rows)
    if tensors:
        rows = [(path, str(list(shape)), f"{math.prod(shape):,}") for path, shape, _ in describe(spec)]
        yield _table(("array", "shape", "numbers"), rows, numbers=1)


def _table(names: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0) -> "Table":
    """Return a table without lines; the last `numbers` columns are flush right."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=any(names), header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for index, name in enumerate(names):
        table.add_column(name, justify="right" if index >= len(names) - numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _fact_rows(spec: NetSpec, file: Path) -> list[tuple[str, str]]:
    smallest, largest = spec.board_sizes
    size = file.stat().st_size
    work = ", ".join(f"{gflop(spec, side, side):.3g} GFLOP on {side}x{side}" for side in sides_of(spec))
    inputs = f"{spec.planes} planes, {spec.globals} globals" + (f", {spec.metadata} metadata" if spec.metadata else "")
    return [
        ("name", spec.name),
        ("file", f"{format_of(file).name}, {size:,} bytes"),
        ("format", f"{spec.format} {spec.version}"),
        ("encoder", f"{spec.encoder}, {inputs}"),
        ("boards", f"{smallest}x{smallest} to {largest}x{largest}" if smallest < largest else f"{largest}x{largest}"),
        ("trunk", f"{len(spec.blocks)} blocks of {spec.channels} channels"),
        ("parameters", f"{parameters(spec):,} ({4 * parameters(spec) / 1e6:.3g} MB)"),
        ("evaluation", work),
        *spec.provenance.items(),
    ]


def _layer_rows(spec: NetSpec) -> list[tuple[str, ...]]:
    row = parts(spec, *largest_board(spec))
    total = max(1, sum(part.multiply_adds for part in row))
    return list(_rows(row, total, 0))


def _rows(row: Sequence[Part], total: int, depth: int) -> Iterator[tuple[str, ...]]:
    """Yield a line a part, those inside it below it, parts that repeat folded."""
    for run in folded(row):
        is_pattern = len(run.parts) > 1 and run.count > 1
        if is_pattern:
            work = run.count * sum(part.multiply_adds for part in run.parts)
            numbers = run.count * sum(part.parameters for part in run.parts)
            length = run.count * len(run.parts)
            name = _span(run.parts[0].path, length)
            text = f"{run.count} times these {len(run.parts)}:"
            yield _INDENT * depth + name, "", text, f"{numbers:,}", f"{work / total:.1%}"
            yield from _rows(run.parts, total, depth + 1)
            continue
        part, count = run.parts[0], run.count
        kind = part.kind if count == 1 else f"{part.kind} x {count}"
        name = part.path if count == 1 else _span(part.path, count)
        share = f"{count * part.multiply_adds / total:.1%}"
        yield _INDENT * depth + name, kind, part.text, f"{count * part.parameters:,}", share
        yield from _rows(part.children, total, depth + 1)


def _span(path: str, count: int) -> str:
    """Return "blocks.3" as "blocks.3-8" for six of them."""
    start, _, index = path.rpartition(".")
    return f"{start}.{index}-{int(index) + count - 1}"
