"""The syntax trees of Python files, each parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file, not to be changed."""
    return ast.parse(path.read_text(encoding="utf-8"))
