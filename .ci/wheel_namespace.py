"""Hatch build hook: puts the packages of the repository into one package `keima` in the wheel.

Installed as top-level packages, `engine` and `gtp` would collide with any other package of that name on the path.
pyproject.toml moves the files (`sources`); this hook makes their imports of each other absolute imports from `keima`,
and adds what only the wheel has. Editable installations keep the repository's names.
"""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAMESPACE = "keima"
FRONT_DOOR = "keima.py"
"""The module of the repository that becomes `keima/__init__.py`."""
RUN_AS_MODULE = '''"""`python -m keima`, and `python path/to/keima`."""

import sys
from pathlib import Path

if not __package__:  # started by its path, which Python has put first: not `engine` but `keima` is to be found there
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from keima import main

main(prog_name="keima")
'''


def qualified(source: str, packages: Collection[str]) -> str:
    """Return the source of a module with its imports of `packages` as imports from `keima`; nothing else changes.

    Raises ValueError for `import engine.game`, whose name `engine` the wheel does not have.
    """
    lines = source.encode().split(b"\n")
    for line, column in sorted(_imported_names(ast.parse(source), packages), reverse=True):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + f"{NAMESPACE}.".encode() + text[column:]
    return b"\n".join(lines).decode()


def _imported_names(tree: ast.Module, packages: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield (line from 1, column in bytes) of each name of a module in one of `packages` that is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _top(str(node.module)) in packages:
            yield node.lineno, node.col_offset + len("from ")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _top(alias.name) in packages:
                    if alias.asname is None:
                        raise ValueError(f"line {node.lineno}: import {alias.name}: expected `from` or `as`")
                    yield alias.lineno, alias.col_offset


def _top(module: str) -> str:
    return module.partition(".")[0]


class WheelNamespace(BuildHookInterface):  # type: ignore[type-arg]
    """Gives hatchling the files of the wheel that differ from the repository's."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the changed files of a standard wheel; leave an editable one alone."""
        if version == "editable":
            return
        self._folder = TemporaryDirectory()
        for name, text in self._sources():
            path = Path(self._folder.name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            build_data["force_include"][str(path)] = name

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the written files."""
        if version != "editable":
            self._folder.cleanup()

    def _sources(self) -> Iterator[tuple[str, str]]:
        """Yield the path below `keima` and the text of each file that is written anew."""
        packages = self.build_config.packages
        modules = {"__init__.py": Path(self.root, FRONT_DOOR)}
        for file in self.build_config.builder.recurse_selected_project_files():
            if file.path.endswith(".py"):
                modules[Path(file.relative_path).as_posix()] = Path(file.path)
        for name, path in modules.items():
            try:
                yield name, qualified(path.read_text(encoding="utf-8"), packages)
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from error
        yield "__main__.py", RUN_AS_MODULE
        yield "py.typed", ""
