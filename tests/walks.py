"""The walks of docs/architecture.md: the tables of files and functions, and whether those functions are called."""

import ast
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
_SOURCES = ("engine/", "gtp/", "weights/", "keima.py")
_ROW = re.compile(r"^\| \d+ \| `([^`]+)` \| (.*?) \|", re.MULTILINE)


class Step(NamedTuple):
    """A row of a walk. functions: qualified names within the file."""

    file: str
    functions: tuple[str, ...]


class Function(NamedTuple):
    """A function of the project. name: qualified within its file."""

    file: str
    name: str


def walk_of(heading: str) -> list[Step]:
    """Return the rows of the table below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [Step(file, tuple(re.findall(r"`([^`]+)`", functions))) for file, functions in _ROW.findall(section)]


def called_by(work: Callable[[], object]) -> set[Function]:
    """Return the functions of the project that are called while `work` runs, in threads that it starts, too."""
    codes: dict[object, tuple[str, str]] = {}

    def profile(frame: object, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code  # type: ignore[attr-defined]
            codes[code] = code.co_filename, code.co_qualname

    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    called = {
        Function(file.removeprefix(f"{ROOT}{os.sep}").replace(os.sep, "/"), name) for file, name in codes.values()
    }
    return {each for each in called if each.file.startswith(_SOURCES)}


def kernels_below(called: set[Function]) -> set[Function]:
    """Return the kernels that called functions name, and those that these kernels name: no profiler sees them run."""
    found: set[Function] = set()
    waiting = list(called)
    while waiting:
        function = waiting.pop()
        for each in _names_in(function):
            if each not in found and _is_kernel(each):
                found.add(each)
                waiting.append(each)
    return found


_trees: dict[str, dict[str, ast.AST]] = {}
_imports: dict[str, dict[str, Function]] = {}


def _read(file: str) -> None:
    """Note the functions of a file by their qualified names, and where the names that it imports come from."""
    functions: dict[str, ast.AST] = {}
    imports: dict[str, Function] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                functions[prefix + child.name] = child
                inner = "." if isinstance(child, ast.ClassDef) else ".<locals>."
                visit(child, f"{prefix}{child.name}{inner}")
            else:
                visit(child, prefix)

    path = ROOT / file
    if file.startswith(_SOURCES) and path.is_file():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        visit(tree, "")
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                source = node.module.replace(".", "/") + ".py"
                imports |= {each.asname or each.name: Function(source, each.name) for each in node.names}
    _trees[file], _imports[file] = functions, imports


def _node(function: Function) -> ast.AST | None:
    if function.file not in _trees:
        _read(function.file)
    return _trees[function.file].get(function.name)


def _names_in(function: Function) -> set[Function]:
    """Return the functions at the top of a file that a function's code names."""
    node = _node(function)
    if node is None:
        return set()
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return {_imports[function.file].get(name, Function(function.file, name)) for name in names}


def _is_kernel(function: Function) -> bool:
    """Return whether a function is compiled: its decorator is `kernel`, with or without arguments."""
    node = _node(function)
    if not isinstance(node, ast.FunctionDef):
        return False
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(isinstance(each, ast.Name) and each.id == "kernel" for each in decorators)
