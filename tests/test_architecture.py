"""The import arrows of the design: every module stands in one layer and imports only from it or from below."""

import ast
from collections.abc import Iterable
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.source_trees import tree_of

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    {"engine.errors"},
    {"engine.support", "weights.shipped"},
    {"engine.native"},
    {"engine.color", "engine.vertex", "engine.rules", "engine.clock", "engine.board.facts"}
    | {"engine.records.human_profiles"},
    {"engine.settings.levels", "engine.settings.setting"},
    {"engine.board", "engine.symmetry", "engine.handicap"},
    {"engine.nets.spec", "engine.nets.layers", "engine.nets.blocks", "engine.nets.heads"},
    {"engine.history", "engine.game", "engine.scoring"},
    {"engine.records"},
    {"engine.evaluation"},
    {"engine.encoders", "weights"},
    {"engine.nets"},
    {"engine.evaluators"},
    {"engine.search"},
    {"engine.players", "engine.programs"},
    {"engine.book"},
    {"engine.explain"},
    {"engine.settings"},
    {"engine.match"},
    {"engine.api"},
    {"engine.train.toml_settings", "engine.train.run_status"},
    {"engine.train.data"},
    {"engine.train.teaching"},
    {"engine.train.games", "engine.train.learning"},
    {"engine.train.generations", "engine.train.study", "engine.train.fine_tuning"},
    {"engine.train"},
    {"engine.apps.picture"},
    {"engine.apps"},
    {"gtp"},
    {"keima"},
]
"""Rooms from the lowest to the highest: each imports only from its own and from those before it."""
TRAINS_WITH_TORCH = {
    "network",
    "optimism",
    "loss",
    "device_batch",
    "learner",
    "step_metrics",
    "checkpoint",
    "devices",
    "metrics",
}
TRAINS_WITH_TORCH |= {"train", "bench", "auxiliary", "size_statistics", "input_ranges"}
NATIVE_ROOM = {"engine.native"}
NUMBA_INTERNALS = "engine.native.numba_internals"
DOCUMENTED_NUMBA = {"cgutils", "event", "intrinsic", "overload", "typeof", "types"}
"""What other files than `NUMBA_INTERNALS` import from numba; numba's documentation has all of it."""
TORCH_MODULES = (
    "blocks",
    "layers",
    "model",
    "one_pass",
    "onnx_export",
    "pointwise",
    "triton_kernels",
    "triton_products",
)
ONLY_IMPORTER = {
    "matplotlib": {"engine.support.plots"},
    "numba": NATIVE_ROOM,
    "llvmlite": NATIVE_ROOM,
    "openvino": {"engine.nets.openvino_graph.runtime"},
    "websockets": {"gtp.remote.websocket"},
    "tensorboard": set(),  # only through torch.utils.tensorboard
    "optuna": {"engine.apps.tune.optimizer"},
    "onnx": {"engine.nets.torch_modules.onnx_export"},
    "onnxruntime": {"engine.nets.torch_modules.onnx_export"},
    "triton": {"engine.nets.torch_modules.triton_kernels", "engine.nets.torch_modules.triton_products"},
    "torch": {f"engine.nets.torch_modules.{name}" for name in TORCH_MODULES}
    | {"engine.evaluators.torch_backend", "engine.evaluators.cuda_graphs"}
    | {"engine.train.study.dqn", *(f"engine.train.learning.{name}" for name in TRAINS_WITH_TORCH)},
}
WEIGHTS_MAY_IMPORT = {"engine.nets.spec", "engine.errors", "engine.support.files"}


def modules() -> dict[str, ast.Module]:
    """Return the syntax tree of every module of the program by its dotted name."""
    paths = [ROOT / "keima.py", *(path for top in ("engine", "gtp", "weights") for path in (ROOT / top).rglob("*.py"))]
    trees = {}
    for path in sorted(paths):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        trees[name] = tree_of(path)
    return trees


TREES = modules()


@cache
def imports(name: str) -> frozenset[str]:
    """Return what a module imports anywhere: submodules by their full names."""
    return frozenset(imports_of(name, ast.walk(TREES[name])))


def imports_of(name: str, nodes: Iterable[ast.AST]) -> set[str]:
    """Return what some nodes of a module import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {each for each in full if each in TREES} or {str(node.module)}
    return found


def layer(name: str) -> int:
    """Return the place of a module in LAYERS, by the longest name that covers it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        for index, names in enumerate(LAYERS):
            if prefix in names:
                return index
    raise AssertionError(f"{name} stands in no layer: say in LAYERS where it belongs")


@pytest.mark.parametrize("name", sorted(TREES.keys() - {"engine"}))
def test_imports_point_down(name: str) -> None:
    internal = {each for each in imports(name) if each in TREES and each != "engine"}
    assert [each for each in internal if layer(each) > layer(name)] == []


def test_loose_files_of_the_engine_are_the_vocabulary_of_go() -> None:
    vocabulary = {"vertex", "color", "rules", "game", "history", "scoring", "handicap", "symmetry", "clock", "errors"}
    assert {path.stem for path in (ROOT / "engine").glob("*.py")} - {"__init__"} == vocabulary


def test_no_import_cycle() -> None:
    graph = {name: {each for each in imports(name) if each in TREES and each != name} for name in TREES}
    TopologicalSorter(graph).prepare()  # raises CycleError with the cycle


def test_only_one_module_imports_a_numerical_library() -> None:
    for library, allowed in ONLY_IMPORTER.items():
        found = {name for name in TREES if any(each.split(".")[0] == library for each in imports(name))}
        rooms = {
            "engine.native" if allowed is NATIVE_ROOM and name.startswith("engine.native.") else name for name in found
        }
        assert rooms == allowed


def test_one_file_imports_private_names_of_numba() -> None:
    for name, tree in TREES.items():
        froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names = {each.name for node in froms if str(node.module).split(".")[0] == "numba" for each in node.names}
        assert names <= DOCUMENTED_NUMBA or name == NUMBA_INTERNALS, name


@pytest.mark.parametrize("name", [name for name in TREES if name.split(".")[0] == "gtp"])
def test_gtp_imports_no_numerical_library(name: str) -> None:
    libraries = {each.split(".")[0] for each in imports(name)}
    assert not libraries & {"torch", "openvino", "numba"}
    at_once = {each.split(".")[0] for each in imports_of(name, TREES[name].body)}
    assert "numpy" not in at_once, "numpy may be imported only in functions that run after the handshake"


def test_the_search_knows_evaluators_by_their_interface_only() -> None:
    for name in TREES:
        if name.startswith("engine.search"):
            assert not {each for each in imports(name) if each.startswith(("engine.evaluators", "engine.nets"))}, name


def test_encoders_and_search_know_no_evaluator_and_the_interface_knows_neither() -> None:
    for name in TREES:
        if name.startswith("engine.encoders"):
            assert not {each for each in imports(name) if each.startswith("engine.evaluators")}, name
        if name.startswith("engine.evaluation."):
            rooms = ("engine.evaluators", "engine.encoders", "engine.search", "engine.nets")
            assert not {each for each in imports(name) if each.startswith(rooms)}, name


def test_weights_know_only_the_specification_of_a_network() -> None:
    for name in TREES:
        if name.split(".")[0] == "weights":
            known = {each for each in imports(name) if each.split(".")[0] in {"engine", "gtp", "keima"}}
            assert known <= WEIGHTS_MAY_IMPORT, name


def test_the_library_does_not_import_applications() -> None:
    for name in TREES:
        if name != "keima" and not name.startswith(("engine.apps", "gtp")):
            assert {each for each in imports(name) if each.startswith("engine.apps")} == set(), name
