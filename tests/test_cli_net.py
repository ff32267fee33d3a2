"""`keima net`: what it tells of files, what it checks, what it converts, and how it refuses."""

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import safetensors.numpy
from click.testing import CliRunner, Result

import keima
from engine.encoders import ENCODERS
from engine.nets.random import random_spec
from engine.nets.spec import parameters, tensors
from tests.nets.examples import EXAMPLES
from tests.shared import require_shared
from weights import native
from weights.registry import load

ROOT = Path(__file__).resolve().parent.parent
HEAVY = {"numba", "llvmlite", "torch", "openvino"}
GOLDEN, NETS = "golden/nn-synth.json.gz", "nets/synth-v8.bin.gz"


def invoke(*arguments: str | Path) -> Result:
    """Run `keima net` in this process."""
    return CliRunner().invoke(keima.main, ["net", *map(str, arguments)])


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Write a small random network and return its path."""
    path = tmp_path / "small.safetensors"
    native.write(random_spec(2, 8, ENCODERS["katago-v7"], 1), path)
    return path


def test_a_network_file_is_explained(network: Path) -> None:
    result = invoke("info", network)
    assert result.exit_code == 0, result.output
    facts = dict(line.split(maxsplit=1) for line in result.output.split("\n\n")[0].splitlines())
    assert facts["trunk"] == "2 blocks of 8 channels"
    assert facts["encoder"] == "katago-v7, 22 planes, 19 globals"
    assert facts["parameters"].startswith(f"{parameters(load(network)):,} ")
    assert not any(line.endswith(" ") for line in result.output.splitlines())


def test_inputs_and_arrays_are_listed_when_asked_for(network: Path) -> None:
    output = invoke("info", network, "--inputs", "--tensors").output
    inputs = [line for line in output.splitlines() if line.startswith(("plane ", "global "))]
    assert len(inputs) == 22 + 19
    arrays = [line.split()[-1].replace(",", "") for line in output.splitlines() if "]" in line and "[" in line]
    assert sum(map(int, arrays)) == parameters(load(network))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_json_of_every_architecture_is_one_object(name: str, tmp_path: Path) -> None:
    path = tmp_path / "net.safetensors"
    native.write(EXAMPLES[name], path)
    reported = json.loads(invoke("info", path, "--json", "--tensors").output)
    spec = EXAMPLES[name]
    assert (reported["name"], reported["channels"], reported["blocks"]) == (spec.name, spec.channels, len(spec.blocks))
    assert sum(part["parameters"] for part in reported["layers"]) == reported["parameters"] == parameters(spec)
    assert sum(part["multiply_adds"] for part in reported["layers"]) == reported["multiply_adds"] > 0
    assert reported["tensors"].keys() == dict(tensors(spec)).keys()
    assert all(each["meaning"] for each in reported["outputs"])


@pytest.mark.parametrize("command", ["info", "check", "convert"])
def test_what_stdout_cannot_show_is_escaped(command: str, tmp_path: Path) -> None:
    source, target = tmp_path / "grün.safetensors", tmp_path / "grün.bin.gz"
    native.write(replace(random_spec(1, 4, ENCODERS["katago-v7"], 1, board_sizes=(2, 2)), name="grün"), source)
    arguments = ["net", command, str(source), *([str(target)] if command == "convert" else [])]
    result = CliRunner(charset="ascii").invoke(keima.main, arguments)
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert "gr\\xfcn" in result.output


def test_a_drawing_is_valid_xml(network: Path, tmp_path: Path) -> None:
    drawing = tmp_path / "net.svg"
    assert invoke("info", network, "--svg", drawing).exit_code == 0
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")


def test_explaining_a_network_loads_no_framework(network: Path) -> None:
    script = f"import sys, keima; sys.argv[1:] = ['net', 'info', {str(network)!r}, '--svg', {str(network) + '.svg'!r}]"
    script += "; keima.main(standalone_mode=False); print(*sys.modules)"
    listed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert HEAVY & set(listed.stdout.split()) == set()


@pytest.mark.parametrize("command", [["info"], ["check"], ["convert"]])
def test_a_file_that_is_no_network_is_refused_in_one_line(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a network")
    for name, reason in (("text", "unknown network format"), ("absent", "cannot be read")):
        target = [tmp_path / "out.bin.gz"] if command == ["convert"] else []
        result = invoke(*command, tmp_path / name, *target)
        assert (result.exit_code, result.output.count("\n")) == (1, 1), result.output
        assert reason in result.output
    assert not (tmp_path / "out.bin.gz").exists()


def test_there_and_back_is_the_same_network(network: Path, tmp_path: Path) -> None:
    katago, back = tmp_path / "small.bin.gz", tmp_path / "back.safetensors"
    for source, target in ((network, katago), (katago, back)):
        result = invoke("convert", source, target)
        assert result.exit_code == 0, result.output
        assert "read back and equal" in result.output
    assert load(katago).format == load(back).format == "katago"
    for (path, one), (_, other) in zip(tensors(load(katago)), tensors(load(back)), strict=True):
        assert one.tobytes() == other.tobytes(), path


@pytest.mark.parametrize(("sides", "reported"), [((2, 19), True), ((7, 25), True), ((1, 25), False)])
def test_a_bound_of_boards_that_katago_does_not_know_is_reported(
    sides: tuple[int, int], reported: bool, tmp_path: Path
) -> None:
    source = tmp_path / "net.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1, board_sizes=sides), source)
    output = invoke("convert", source, tmp_path / "net.bin.gz").output
    assert (f"its boards (sides of {sides[0]} to {sides[1]})" in output) == reported


def test_the_folder_of_what_is_written_is_made(network: Path, tmp_path: Path) -> None:
    assert invoke("convert", network, tmp_path / "new" / "net.bin.gz").exit_code == 0
    assert invoke("info", network, "--svg", tmp_path / "drawn" / "net.svg").exit_code == 0
    assert (tmp_path / "new" / "net.bin.gz").is_file() and (tmp_path / "drawn" / "net.svg").is_file()


def test_a_network_can_be_renamed(network: Path, tmp_path: Path) -> None:
    target = tmp_path / "named.safetensors"
    assert invoke("convert", network, target, "--name", "joseki").exit_code == 0
    assert load(target).name == "joseki"
    assert load(target).provenance == load(network).provenance


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["small.safetensors", "small.safetensors"], "exists already: --force replaces it"),
        (["small.safetensors", "small.net"], "no format goes by this name"),
        (["small.safetensors", "small.txt", "--to", "katago"], "names that end in .bin.gz"),
        (["teaching.safetensors", "teaching.bin.gz"], "KataGo's format cannot hold this"),
        (["small.safetensors", "small.safetensors/small.bin.gz"], "small.safetensors: File exists"),
    ],
)
def test_what_cannot_be_converted_is_refused_and_leaves_nothing(
    arguments: list[str], reason: str, network: Path, tmp_path: Path
) -> None:
    native.write(random_spec(1, 4, ENCODERS["oneplane"], 1), tmp_path / "teaching.safetensors")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = invoke("convert", *(tmp_path / each if "." in each else each for each in arguments))
    assert result.exit_code == 1
    assert reason in result.output
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_force_replaces_what_exists(network: Path, tmp_path: Path) -> None:
    target = tmp_path / "old.safetensors"
    target.write_text("something else")
    assert invoke("convert", network, target, "--force").exit_code == 0
    assert load(target).name == load(network).name


def test_golden_records_are_checked(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    golden, net = require_shared(GOLDEN), require_shared(NETS)
    options = ["--golden", golden, "--no-positions", "--backend", "torch", "--precision", "fp32"]
    right = invoke("check", net, *options)
    assert (right.exit_code, "all as it should be" in right.output) == (0, True), right.output
    other = tmp_path / "synth-v8.safetensors"
    native.write(random_spec(1, 8, ENCODERS["katago-v7"], 1), other)
    wrong = invoke("check", other, *options)
    assert wrong.exit_code == 1
    assert "winrate differs by" in wrong.output


def test_golden_records_of_other_networks_are_refused(network: Path) -> None:
    pytest.importorskip("torch")
    golden = require_shared(GOLDEN)
    result = invoke("check", network, "--golden", golden, "--backend", "torch")
    assert result.exit_code == 1
    assert "no golden records of random-b2c8-1 or small" in result.output


def golden_file(path: Path, *records: object) -> Path:
    """Write golden records of the small network."""
    path.write_bytes(gzip.compress(json.dumps({"kind": "nn", "net": "small", "records": records}).encode()))
    return path


RECORD = {"size": [5, 5], "komi": 7.5, "moves": [], "to_move": "B", "outputs": [{"symmetry": 0}]}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (5, "record 2: TypeError"),
        ({}, "record 2: KeyError('outputs')"),
        ({**RECORD, "net": 5}, "record 2: AttributeError"),
        ({**RECORD, "size": [5]}, "record 2: ValueError"),
        ({**RECORD, "id": "the bad one", "to_move": "E"}, "record the bad one: KeyError('E')"),
        (RECORD, "record 2: KeyError('policy')"),
    ],
)
def test_a_malformed_golden_record_is_named(record: object, reason: str, network: Path, tmp_path: Path) -> None:
    golden = golden_file(tmp_path / "golden.json.gz", {**RECORD, "outputs": []}, record)
    result = invoke("check", network, "--golden", golden, "--no-positions")
    assert result.exit_code == 1
    assert f"Error: {golden}: no golden file: {reason}" in result.output


def test_a_damaged_golden_file_is_named(network: Path, tmp_path: Path) -> None:
    golden = golden_file(tmp_path / "golden.json.gz")
    data = golden.read_bytes()
    golden.write_bytes(data[:10] + b"\xff\xff" + data[12:])
    result = invoke("check", network, "--golden", golden, "--no-positions")
    assert f"Error: {golden}: no golden file: " in result.output


def test_a_check_of_nothing_fails(network: Path, tmp_path: Path) -> None:
    golden = golden_file(tmp_path / "golden.json.gz", {**RECORD, "outputs": []})
    for options in (["--golden", golden], []):
        result = invoke("check", network, "--no-positions", *options)
        assert result.exit_code == 1
        assert "nothing was checked" in result.output


def test_backends_and_precisions_are_those_of_the_evaluators() -> None:
    from engine.evaluators import backends
    from engine.settings.table import network

    assert (network.BACKENDS, network.PRECISIONS) == (backends.BACKENDS, backends.PRECISIONS)


def test_a_network_that_ships_is_found_by_its_name_unless_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.evaluators.finding import find_network
    from weights.shipped import DEFAULT_NETWORK

    monkeypatch.chdir(tmp_path)
    name = DEFAULT_NETWORK.stem
    assert find_network(name) == DEFAULT_NETWORK
    for path in (f"./{name}", f"../weights/{name}", str(tmp_path / name)):
        assert find_network(path) == Path(path)
    shown = CliRunner().invoke(keima.main, ["net", "info", name, "--json"])
    assert json.loads(shown.stdout)["name"] == name
    (tmp_path / name).touch()
    assert find_network(name) == Path(name)


def test_the_newest_network_of_a_folder_is_found(network: Path) -> None:
    from engine.errors import GoError
    from engine.evaluators.finding import find_network

    folder = network.parent
    (folder / "notes.txt").write_text("newer, but no network")
    (folder / "deeper").mkdir()
    newer = folder / "newer.safetensors"
    newer.write_bytes(network.read_bytes())
    os.utime(network, (1000, 1000))
    assert find_network(folder) == newer
    os.utime(newer, (500, 500))
    assert find_network(folder) == network
    assert find_network(network) == network
    with pytest.raises(GoError, match="no network file among the 0 files"):
        find_network(folder / "deeper")


def test_drafts_and_files_of_others_are_no_networks_of_a_folder(network: Path) -> None:
    from engine.evaluators.finding import find_network

    folder = network.parent
    os.utime(network, (1000, 1000))
    (folder / ".small.safetensors.0123abcd.part").write_bytes(network.read_bytes())
    (folder / "torch.safetensors").write_bytes(safetensors.numpy.save({"weight": np.zeros(2, np.float32)}))
    np.savez(folder / "samples.npz", planes=np.zeros(2))
    (folder / "dangling").symlink_to("absent")
    assert find_network(folder) == network


def test_a_file_that_goes_while_its_folder_is_read_is_passed_over(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.evaluators.finding import find_network

    there = [*network.parent.iterdir(), network.with_name("gone")]
    monkeypatch.setattr(Path, "iterdir", lambda _: iter(there))
    assert find_network(network.parent) == network


@pytest.mark.parametrize("command", ["info", "check"])
def test_an_empty_name_is_no_network(command: str, network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(network.parent)
    result = invoke(command, "")
    assert result.exit_code == 1
    assert "Error: a network's name must not be empty" in result.output
