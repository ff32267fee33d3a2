"""`keima doctor` shows the machine, the network and its speed, the folders, what is missing and what does not work."""

import importlib.util
import json
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import keima
from engine.apps.doctor.findings import OPTIONAL
from engine.encoders import ENCODERS
from engine.native.cache_directory import cache_directory
from engine.nets.random import random_spec
from weights import native
from weights.shipped import SHIPPED_NETWORKS


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small network."""
    path = tmp_path_factory.mktemp("network") / "small.safetensors"
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1, head_channels=2), path)
    return path


def doctor(*arguments: str) -> tuple[str, int]:
    """Return what the command prints on stdout, and its exit status."""
    result = CliRunner().invoke(keima.main, ["doctor", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.stdout, result.exit_code


def found(*arguments: str) -> tuple[dict[str, Any], int]:
    """Return what the command finds as JSON, and its exit status."""
    text, status = doctor("--json", *arguments)
    values: dict[str, Any] = json.loads(text)
    return values, status


def test_the_network_is_measured_as_it_is_computed_here(network: Path) -> None:
    values, status = found("--net", str(network))
    assert (values["problems"], status) == ([], 0)
    assert values["network"]["file"] == str(network)
    assert values["network"]["backend"] in {"numba", "openvino", "torch"}
    assert values["network"]["precision"] in {"fp32", "bf16", "fp16", "int16", "int8"}
    assert values["network"]["evaluations_per_s"].keys() == {"9", "19"}
    assert all(rate > 0 for rate in values["network"]["evaluations_per_s"].values())


@pytest.mark.parametrize(("name", "sizes"), [("small", {"9", "19"}), ("keima-human9", {"9", "19"}), ("odd", {"13"})])
def test_a_network_is_measured_on_the_boards_that_it_has(
    network: Path, tmp_path: Path, name: str, sizes: set[str]
) -> None:
    file = network
    if name == "odd":
        file = tmp_path / "odd.safetensors"
        spec = random_spec(1, 4, ENCODERS["katago-v7"], 1, head_channels=2)
        native.write(replace(spec, board_sizes=(11, 13)), file)
    values, status = found("--net", name if name.startswith("keima") else str(file))
    assert (values["problems"], status) == ([], 0)
    assert values["network"]["evaluations_per_s"].keys() == sizes


def test_machine_versions_and_folders_are_found() -> None:
    values, status = found("--net", "none")
    assert (status, values["network"]) == (0, None)
    assert 1 <= values["machine"]["usable_cores"] <= values["machine"]["cores"]
    assert values["versions"].keys() >= {"keima", "python", "numpy", "numba", "openvino"}
    assert values["networks"].keys() == {path.stem for path in SHIPPED_NETWORKS.glob("*.safetensors")}
    assert all(size > 0 for size in values["networks"].values())
    folder = cache_directory()
    assert values["kernels"]["folder"] == (None if folder is None else str(folder))


def test_instruction_sets_that_the_environment_disables_are_not_used(
    monkeypatch: pytest.MonkeyPatch, network: Path
) -> None:
    usual = found("--net", "none")[0]["machine"]["instruction_sets"]
    assert usual
    monkeypatch.setenv("KEIMA_DISABLE_CPU_FEATURES", f"none, {usual[0]}")
    machine = found("--net", "none")[0]["machine"]
    assert (machine["instruction_sets"], machine["disabled_instruction_sets"]) == (usual[1:], usual[:1])
    monkeypatch.setenv("KEIMA_DISABLE_CPU_FEATURES", "*")
    text, status = doctor("--net", str(network))
    assert status == 0
    assert f"not used          {' '.join(usual)} (KEIMA_DISABLE_CPU_FEATURES)" in text
    assert "computed by  numba" not in text


def test_the_page_has_what_the_json_has(network: Path) -> None:
    text, status = doctor("--net", str(network))
    assert status == 0
    for part in ("Machine", "instruction sets", "computed by", "evaluations/s on 19x19", str(SHIPPED_NETWORKS)):
        assert part in text
    assert text.rstrip().endswith("printsgf FILE).")
    assert "Problems" not in text


def test_packages_that_are_not_installed_are_listed_with_their_use(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without_optional(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in OPTIONAL else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_optional)
    assert found("--net", "none")[0]["missing"] == OPTIONAL
    assert "ray" in doctor("--net", "none")[0]


def test_a_network_that_cannot_be_read_is_a_problem_and_everything_else_is_shown(tmp_path: Path) -> None:
    broken = tmp_path / "broken.bin.gz"
    broken.write_bytes(b"no network")
    values, status = found("--net", str(broken))
    assert (status, values["network"]) == (1, None)
    assert "broken.bin.gz" in values["problems"][0]
    assert values["machine"]["cores"] > 0
    text, status = doctor("--net", str(broken))
    assert status == 1
    assert "Problems\n  " in text
