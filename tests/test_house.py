"""What every file of the project keeps to: its length, one version, and no trace of one machine."""

import ast
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import engine
from tests.source_trees import tree_of

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 450
"""Lines of a Python file; the aim is 400."""
LONGEST_FUNCTION, MOST_PARAMETERS = 60, 8
MOST_EXCEPTIONS = 24
"""Functions beyond these limits, each with its reason in the comment above it. The number may only fall."""
CLOCKS = {"monotonic", "perf_counter", "process_time", "thread_time", "time"}
CLOCKS |= {f"{clock}_ns" for clock in CLOCKS}
ARITHMETIC = {"abs", "float", "max", "min", "round", "sorted", "statistics.median", "sum"}
MOST_PRIVATE = 10
"""Tests that may use private names of what they test."""
NOT_PRIVATE = {"_replace", "_asdict", "_fields", "_make", "_exit"}
"""Documented names of named tuples and of `os`."""
MACHINE_PATHS = re.compile(r"(?<![\w./~])/(?:home|Users|root|work|opt)/\w+")


def tracked_files() -> list[Path]:
    """Return every file under version control that is text."""
    try:
        listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this is no checkout: {error}")
    paths = [ROOT / name for name in listing.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:4096]]


def test_no_file_is_too_long() -> None:
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in tracked_files() if path.suffix == ".py"}
    assert len(lengths) > 20
    assert {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_no_file_names_a_path_of_one_machine() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in tracked_files()
        for match in MACHINE_PATHS.finditer(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert found == set()


def test_the_changelog_knows_the_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.split("## [Unreleased]")[1].split("\n## ")[0]
    assert f"## [{engine.__version__}]" in changelog or engine.__version__ in unreleased


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    pinned = {name.lower().replace("_", "-") for name in pins}
    wanted = project["dependencies"] + [each for extra in project["optional-dependencies"].values() for each in extra]
    assert {re.split(r"[<>=]", each)[0] for each in wanted} <= pinned


@pytest.mark.parametrize(
    "name", ["numba", "llvmlite", "numpy", "openvino", "safetensors", "sgfmill", "click", "websockets"]
)
def test_what_private_parts_or_formats_are_used_of_has_an_upper_bound_that_the_pin_keeps(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    [wanted] = [each for each in map(Requirement, project["dependencies"]) if each.name == name]
    assert any(each.operator == "<" for each in wanted.specifier)
    assert pins[name] in wanted.specifier


def test_the_makefile_lists_every_target_that_is_no_file() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert declared
    explained = re.findall(r"^([a-z-]+):.*## \S", makefile, re.MULTILINE)
    assert sorted(explained) == sorted(declared.group(1).split())


@pytest.mark.parametrize("document", [".ci/run", ".github/workflows/ci.yml"])
def test_make_targets_in_documents_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    reported = set(re.findall(r"(?:^\s*|`|run: )make ([a-z-]+)", text, re.MULTILINE))
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert reported
    assert reported <= known


@cache
def functions_of_tests() -> list[tuple[str, ast.AST]]:
    """Return the functions and module bodies under tests/, each with its file and name."""
    found: list[tuple[str, ast.AST]] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for node in tree_of(path).body:
            parts = node.body if isinstance(node, ast.ClassDef) else [node]
            for part in parts:
                name = getattr(part, "name", "module")
                found.append((f"{path.relative_to(ROOT).as_posix()}::{name}", part))
    return found


def is_time(node: ast.expr, times: set[str]) -> bool:
    """Return whether an expression is a clock's time, or made of one by arithmetic. times: variables that hold some."""
    if isinstance(node, ast.Name | ast.Attribute):
        return ast.unparse(node) in times
    if isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        is_clock = called.removeprefix("time.") in CLOCKS and called.startswith("time.")
        return is_clock or (called in ARITHMETIC and any(is_time(each, times) for each in node.args))
    if isinstance(node, ast.BinOp):
        return is_time(node.left, times) or is_time(node.right, times)
    if isinstance(node, ast.List | ast.Tuple):
        return any(is_time(each, times) for each in node.elts)
    return isinstance(node, ast.Subscript) and is_time(node.value, times)


def times_in(function: ast.AST) -> set[str]:
    """Return the variables of a function that hold, or collect, what a clock said."""
    flows: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                flows += zip(target.elts, node.value.elts, strict=False) if both else [(target, node.value)]
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            flows.append((node.target, node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            flows += [(node.func.value, argument) for argument in node.args]
    times: set[str] = set()
    while found := {ast.unparse(target) for target, value in flows if is_time(value, times)} - times:
        times |= found
    return times


def times_asserted(function: ast.AST) -> list[str]:
    """Return the assertions of a function that compare times."""
    if not any(isinstance(node, ast.Attribute) and node.attr in CLOCKS for node in ast.walk(function)):
        return []
    times = times_in(function)
    return [
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Assert)
        and any(
            is_time(side, times)
            for each in ast.walk(node.test)
            if isinstance(each, ast.Compare)
            for side in (each.left, *each.comparators)
        )
    ]


def private_names(function: ast.AST) -> set[str]:
    """Return the private names of others that a function reads, imports or replaces."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute):
            if node.attr.startswith("_") and ast.unparse(node.value) not in ("self", "cls", "super()"):
                found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("setattr", "getattr", "delattr"):
            texts = [each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            found |= {text.split(".")[-1] for text in texts}
    return {name for name in found if re.match("_[^_]", name)} - NOT_PRIVATE


@pytest.mark.parametrize(
    "body",
    [
        "start = time.monotonic()\nassert time.monotonic() - start < 5",
        "start = time.perf_counter()\nelapsed = time.perf_counter() - start\nassert elapsed <= 2.0",
        "seconds.append(time.monotonic() - start)\nassert sorted(seconds)[1] < 0.05",
        "while True:\n    assert time.monotonic() < 3, 'too late'",
    ],
)
def test_an_assertion_on_elapsed_time_is_recognized(body: str) -> None:
    assert times_asserted(ast.parse(body)) != []
    assert times_asserted(ast.parse("start = time.monotonic()\nassert stats.visits >= 100\nassert clock() < 3")) == []


def test_no_test_asserts_how_long_something_takes() -> None:
    """Speed belongs to `keima bench` and to `make stress`: a test is run on slow and on busy machines."""
    found = {name: asserted for name, function in functions_of_tests() if (asserted := times_asserted(function))}
    assert found == {}


def test_few_tests_use_private_names() -> None:
    found = {name: names for name, function in functions_of_tests() if (names := private_names(function))}
    assert len(found) <= MOST_PRIVATE, found


def test_json_is_written_by_json_text_alone() -> None:
    """`json_text` never writes NaN or Infinity, which are no JSON; the server below only checks that it can encode."""
    writers = {
        path.relative_to(ROOT).as_posix()
        for path in tracked_files()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] in ("engine", "gtp", "keima.py")
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) in ("json.dump", "json.dumps"))
        or (isinstance(node, ast.ImportFrom) and node.module == "json")
    }
    assert writers == {"engine/support/json_text.py", "gtp/json_analysis/server.py"}


def functions_over_the_limits() -> dict[str, str]:
    """Return the line above each function of more than 60 lines or 8 parameters, by its place."""
    found = {}
    for path in tracked_files():
        if path.suffix != ".py" or path.relative_to(ROOT).parts[0] in ("tests", ".ci"):
            continue
        source = path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, ast.FunctionDef):
                continue
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            # Those of a GPU's kernel that are known when it is compiled are its shape.
            is_shape = {
                each.arg for each in given if each.annotation and ast.unparse(each.annotation) == "tl.constexpr"
            }
            names = [each.arg for each in given if each.arg not in is_shape]
            parameters = len(names) - (names[:1] in (["self"], ["cls"]))
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > LONGEST_FUNCTION or parameters > MOST_PARAMETERS:
                first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
                found[f"{path.relative_to(ROOT)}: {node.name}"] = source.splitlines()[first - 2].strip()
    return found


def test_a_function_of_more_than_60_lines_or_8_parameters_gives_its_reason() -> None:
    found = functions_over_the_limits()
    assert [place for place, above in found.items() if not above.startswith("# ")] == []
    assert len(found) <= MOST_EXCEPTIONS
