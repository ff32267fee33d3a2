"""Every kernel that more than one function uses is compared with a slow twin, by a test that names both.

Kernels whose names begin with an underscore serve one file, and are tested with the public kernels of that file.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TWINS = {
    "tests/apps/book/test_exact.py": {"after_move": "naive_exact.NaiveExact"},
    "tests/board/test_area.py": {
        "area": "naive_area.area_map",
        "pass_alive": "naive_area.area_map",
        "independent_life": "naive_area.independent_life",
    },
    "tests/board/test_ladders.py": {"find_ladders": "naive_ladders.NaiveLadders"},
    "tests/board/test_twins.py": {
        **dict.fromkeys(("add_stone", "remove_chain", "take_back"), "naive_board.NaiveBoard"),
        **dict.fromkeys(("is_suicide", "place", "play", "put_stone", "try_stone"), "naive_board.NaiveBoard"),
        "is_legal": "naive_board.NaiveGame",
        **dict.fromkeys(("copy_board", "copy_row"), "numpy.array_equal"),
        **{
            name: f"naive_tactics.{name}"
            for name in ("attacks_two", "breathes_after", "chain_size_after", "hash_after")
        },
        **{name: f"naive_tactics.{name}" for name in ("is_eye", "last_liberty", "nakade_point", "neighbor_offset")},
        **{name: f"naive_tactics.{name}" for name in ("neighborhood", "position_hash", "puts_in_atari", "reflex_at")},
        **{name: f"naive_tactics.{name}" for name in ("rescues", "saves", "takes", "zobrist")},
        "counter_capture": "naive_tactics.counter_captures",
    },
    "tests/encoders/test_katago.py": {"encode_katago": "naive_encoder.NaiveInputs"},
    "tests/evaluators/test_postprocess.py": {
        "softplus": "naive_evaluation.evaluate",
        "turn_planes": "numpy.array_equal",
    },
    "tests/evaluators/test_network.py": {"write_evaluation": "naive_evaluation.evaluate"},
    "tests/evaluators/test_twins.py": {
        **{name: f"naive_evaluation.{name}" for name in ("black_value", "outcome_value")},
        **{name: f"naive_random.{name}" for name in ("row_hash", "seed_generator")},
        **dict.fromkeys(("random_below", "random_bits"), "naive_random.Generator"),
        **{name: f"naive_rollouts.{name}" for name in ("owner_sign", "uniform_policy")},
        **dict.fromkeys(("claim", "find"), "naive_cache.NaiveTable"),
        **dict.fromkeys(("copy_rows", "store_rows"), "numpy.array_equal"),
    },
    "tests/search/test_twins.py": {
        **dict.fromkeys(("add_node", "put_in_index"), "naive_search.stored"),
        "bias_slot": "naive_search.BiasTable",
        "decoded_prior": "naive_search.decoded_prior",
        "mark_subtree": "naive_search.marks_of",
        "mixed": "naive_random.mixed",
        **dict.fromkeys(("node_key", "plant"), "naive_search.node_key"),
        "playouts_without_evaluation": "numpy.sum",
        **dict.fromkeys(("in_set", "put_in_set"), "naive_search.stored"),
        "random_unit": "naive_random.random_unit",
        "shape_key": "naive_search.shape",
        "visits_made": "numpy.sum",
    },
    "tests/search/test_tree_twins.py": {
        **{name: f"naive_tree.{name}" for name in ("back_up", "reopen", "withdraw", "write_human_priors")},
        **dict.fromkeys(("back_up_expanded", "expand_leaves"), "naive_tree.back_up"),
        "temper": "naive_tree.tempered",
        "finish_batch": "naive_tree.back_up_rows",
        **{name: f"naive_tree.{name}" for name in ("corrected", "recompute", "set_own_value")},
        "recompute_nodes": "naive_tree.recompute_tree",
        "order_nodes": "naive_tree.nodes_below",
    },
    "tests/search/test_memory.py": {
        **{name: f"naive_memory.{name}" for name in ("find_entry", "pull", "utility_of")},
        "score_utility": "naive_tree.score_utility",
    },
    "tests/search/test_mirror.py": {
        **{name: f"naive_mirror.{name}" for name in ("center_of", "mirror_of", "mirror_prior")},
    },
    "tests/nets/kernels/test_products.py": {"multiply_operands": "numpy.matmul"},
    "tests/search/test_values.py": {"scaling": "naive_values.scaling"},
}
"""By test file: the kernel's name and its twin, in tests.oracle or in numpy."""
OTHERWISE = {
    "acquire": ("tests/native/test_locks.py", "a lock: what it does shows between threads only"),
    "release": ("tests/native/test_locks.py", "a lock, as above"),
    "invoke": ("tests/native/test_closures.py", "calls compiled code at an address"),
    "infer_rows": (
        "tests/evaluators/test_kernel_backend.py",
        "a network: its backend is compared with naive_net",
    ),
    "panel_bounds": ("tests/nets/kernels/test_products.py", "compared with `packing.bounds_of`"),
    **dict.fromkeys(
        (
            "are_integers",
            "chunk_of",
            "floats_of",
            "function_numbers",
            "is_paired",
            "multiply_matrix",
            "normalize_position",
            "panels_of",
            "round_points",
            "rounding_of",
            "use_tiles",
            "whole_tiles",
            "written_numbers",
        ),
        ("tests/nets/kernels/test_transformers.py", "a part of blocks, which are compared with naive_net"),
    ),
    **dict.fromkeys(
        ("grown", "pass_alive_stones", "spread"),
        ("tests/apps/book/test_whole_board.py", "pass-alive chains, as `engine.board.area` finds them"),
    ),
    "is_taken": ("tests/apps/book/test_whole_board.py", "the goal of proofs, which hold by `Exact`"),
    "size_of": ("tests/apps/book/test_whole_board.py", "Python's own count of bits"),
    "key_of": ("tests/apps/book/test_proof_table.py", "one for all images of a position"),
    **dict.fromkeys(("known_of", "store"), ("tests/apps/book/test_proof_table.py", "a dictionary")),
    "breathless": ("tests/apps/book/test_exact.py", "part of `after_move`"),
    "build_board": ("tests/board/test_setup.py", "boards that were played on"),
    "evaluate_rows": ("tests/evaluators/test_rollout.py", "random playouts: settled boards and played-out ones"),
    "ticks_now": ("engine/search/driver.py", "the CPU's clock"),
    "pass_repeats": ("tests/search/test_leaves.py", "part of `collect`, as below"),
    "write_facts": ("tests/search/test_leaves.py", "part of `collect`, as below"),
    "collect": ("tests/search/test_leaves.py", "walks: each leaf is compared with the game played out to it"),
    "collect_rows": (
        "tests/search/test_batched_search.py",
        "`collect` for several trees, compared with their searches alone",
    ),
}
"""Kernels without a twin: the test of what they do together with others, or where they are used, and the reason."""


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax trees of the program by module."""
    files = [path for room in ("engine", "gtp", "weights") for path in (ROOT / room).rglob("*.py")]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in files
    }


def is_kernel(function: ast.AST) -> bool:
    """Return whether a function's decorator is `kernel`, with or without arguments."""
    decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else []
    return any(
        isinstance(each, ast.Name) and each.id == "kernel"
        for each in (decorator.func if isinstance(decorator, ast.Call) else decorator for decorator in decorators)
    )


def names_of(module: str) -> dict[str, str]:
    """Return what the names at the top of a module stand for: a module, or a name in one, both dotted."""
    names = {}
    for node in ast.walk(trees()[module]):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {each.asname or each.name: f"{node.module}.{each.name}" for each in node.names}
    return {node.name: f"{module}.{node.name}" for node in trees()[module].body if hasattr(node, "name")} | names


def uses_in(module: str) -> Iterator[tuple[str, str]]:
    """Yield (dotted name, function that uses it) of what a module's functions and its top level use."""
    names = names_of(module)
    for part in trees()[module].body:
        user = f"{module}.{getattr(part, 'name', '')}"
        # Of a class, each method is a user.
        for function in part.body if isinstance(part, ast.ClassDef) else [part]:
            for node in ast.walk(function):
                if isinstance(node, ast.Name) and node.id in names:
                    yield names[node.id], f"{user}.{getattr(function, 'name', '')}"
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                    yield f"{names[node.value.id]}.{node.attr}", f"{user}.{getattr(function, 'name', '')}"


def shared_kernels() -> set[str]:
    """Return the public kernels that two functions or more use, dotted."""
    kernels = {
        f"{module}.{node.name}"
        for module, tree in trees().items()
        for node in tree.body
        if is_kernel(node) and not node.name.startswith("_")
    }
    users: dict[str, set[str]] = {kernel: set() for kernel in kernels}
    for module in trees():
        for name, user in uses_in(module):
            if name in kernels and user != f"{name}.{name.rsplit('.', 1)[1]}":
                users[name].add(user)
    return {kernel for kernel, found in users.items() if len(found) > 1}


def test_every_shared_kernel_has_a_twin() -> None:
    named = {kernel for kernels in TWINS.values() for kernel in kernels}
    assert {kernel.rsplit(".", 1)[1] for kernel in shared_kernels()} == named | set(OTHERWISE)


@pytest.mark.parametrize("file", TWINS)
def test_the_test_names_the_kernel_and_the_twin(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    for kernel, twin in TWINS[file].items():
        module, name = twin.split(".")
        assert re.search(rf"\b{kernel}\b", text), kernel
        assert re.search(rf"\b{name}\b", text), twin
        if module != "numpy":
            oracle = ast.parse((ROOT / "tests" / "oracle" / f"{module}.py").read_text(encoding="utf-8"))
            assert name in {getattr(node, "name", None) for node in oracle.body}, twin


def test_kernels_without_a_twin_are_tested_with_others() -> None:
    assert [file for file, _ in OTHERWISE.values() if not (ROOT / file).is_file()] == []
