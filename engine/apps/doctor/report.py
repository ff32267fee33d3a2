"""The findings of `keima doctor` as a page for a person, to read and to paste into a report."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.native.processor import DISABLED
from engine.support.command_line import joined

REPORT = """\
How to report a problem
  Open an issue with this page, the command that you ran, and what it printed with --log-level debug; for a wrong move
  or score, the game as SGF (GTP: printsgf FILE)."""


def page(found: Mapping[str, Any]) -> str:
    """Return the page."""
    return "\n\n".join("\n".join(lines) for lines in _sections(found)) + "\n"


def _sections(found: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the lines of each section."""
    versions = found["versions"] or {}
    yield ["Keima", *_lines({"program": joined(found["program"]), **versions})]
    if found["machine"]:
        yield ["Machine", *_lines(_machine(found["machine"]))]
    if found["network"]:
        yield ["Network", *_lines(_network(found["network"]))]
    yield ["Folders", *_lines(_folders(found))]
    if found["missing"]:
        yield ["Not installed, and needed only for", *_lines(found["missing"])]
    if found["problems"]:
        yield ["Problems", *(f"  {each}" for each in found["problems"])]
    yield [REPORT]


def _lines(pairs: Mapping[str, str]) -> list[str]:
    """Return one line for each pair, the values below each other."""
    width = max(map(len, pairs)) + 2
    return [f"  {name:<{width}}{value}" for name, value in pairs.items()]


def _machine(machine: Mapping[str, Any]) -> dict[str, str]:
    memory, disabled = machine["memory_mib"], machine["disabled_instruction_sets"]
    return {
        "system": machine["system"],
        "processor": f"{machine['processor']} ({machine['architecture']})",
        "instruction sets": " ".join(machine["instruction_sets"]) or "none that Keima uses",
        **({"not used": f"{' '.join(disabled)} ({DISABLED})"} if disabled else {}),
        "cores": f"{machine['cores']}, {machine['usable_cores']} of them usable by this program",
        "memory": "unknown" if memory is None else f"{memory:,} MiB",
        "GPU": "yes, by PyTorch" if machine["gpu"] else "none that PyTorch uses",
    }


def _network(network: Mapping[str, Any]) -> dict[str, str]:
    speeds = network["evaluations_per_s"].items()
    return {
        "name": network["name"],
        "file": network["file"],
        "computed by": f"{network['backend']} in {network['precision']} (change: --backend, --precision)",
        "speed": ", ".join(f"{rate:,} evaluations/s on {size}x{size}" for size, rate in speeds),
    }


def _folders(found: Mapping[str, Any]) -> dict[str, str]:
    """Return where networks and compiled kernels are, with their sizes."""
    networks = ", ".join(f"{name} {mib} MiB" for name, mib in found["networks"].items())
    lines = {"networks": f"{found['networks_folder']} ({networks})"}
    kernels = found["kernels"]
    if kernels:
        folder = kernels["folder"] or "none: there is no home folder, and KEIMA_CACHE is not set"
        origin = "shipped with the program" if kernels["shipped"] else "change: KEIMA_CACHE"
        lines["compiled kernels"] = f"{folder} ({kernels['files']} files, {kernels['mib']} MiB; {origin})"
    return lines
