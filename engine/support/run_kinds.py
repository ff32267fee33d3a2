"""The commands that fill a folder, and whose run a folder holds, so that no command writes into another's."""

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import GoError
from engine.support.files import claimed
from engine.support.run_folder import SETTINGS_FILE

_CONFIG_FILE = "config.toml"


@dataclass(frozen=True)
class RunKind:
    """A command, and how its runs differ from those of others; any one of these is enough.

    marks: patterns of files that only this command writes. settings: entries of settings.json, those with None by their
    name alone. tables: of config.toml. metric: an entry of the first line of metrics.jsonl.
    writes: files that a new run replaces without looking at them.
    """

    command: str
    marks: tuple[str, ...] = ()
    settings: tuple[tuple[str, str | None], ...] = ()
    tables: frozenset[str] = frozenset()
    metric: str = ""
    writes: tuple[str, ...] = ()

    def is_in(self, folder: Path) -> bool:
        """Return whether a folder holds a run of this command."""
        if any(any(folder.glob(mark)) for mark in self.marks):
            return True
        if self.settings:
            found = _settings_of(folder)
            if all(name in found and value in (None, found[name]) for name, value in self.settings):
                return True
        if self.metric and self.metric in _first_metrics(folder):
            return True
        return bool(self.tables) and _has_tables(folder, self.tables)


ZERO = RunKind(
    "keima zero",
    ("steps.jsonl",),
    tables=frozenset({"run", "selfplay"}),
    writes=(_CONFIG_FILE, "state.json", "clock.json", "report.md", "progress.png", "ratings.json"),
)
TRAIN = RunKind(
    "keima train run",
    ("start.safetensors",),
    writes=(_CONFIG_FILE, "net.safetensors"),
)
LEARN = RunKind(
    "keima learn",
    settings=(("games", None), ("freeze", None)),
    writes=("before.json", "after.json", "net.safetensors", "report.md", "report.png"),
)
SELFPLAY = RunKind("keima selfplay", ("selfplay.json",), writes=("games.sgfl",))
DISTILL = RunKind("keima distill", settings=(("format", "keima-distill"),))
BOOK = RunKind("keima book build", settings=(("format", "keima-book-run"),), writes=("opening.book",))
MATCH = RunKind("keima match", settings=(("format", "keima-match"),), writes=("summary.json",))
SOLVE = RunKind("keima solve", settings=(("format", "keima-solve"),), writes=("summary.json", "solved.png"))
TUNE = RunKind("keima tune", settings=(("format", "keima-tune"),), writes=("report.json", "tune.png"))
REVIEW = RunKind("keima review", settings=(("seconds_per_game", None),), writes=("index.html", "ranks.json"))
LEVELS = RunKind("keima levels --measure", settings=(("levels", None),))
DQN = RunKind("keima train dqn", ("dqn.safetensors",), metric="against_random")
# Counts only where no other kind is found: other commands write samples by board size, too.
SAMPLES = RunKind("keima train samples or convert", ("[0-9]*x[0-9]*/*.safetensors",))
_KINDS = (ZERO, TRAIN, LEARN, SELFPLAY, DISTILL, BOOK, MATCH, SOLVE, TUNE, REVIEW, LEVELS, DQN, SAMPLES)


def refuse_other_run(folder: Path, kind: RunKind, failure: type[Exception] = GoError) -> None:
    """Raise `failure` if a folder holds a run of another command, and none of this one."""
    found = [each for each in _KINDS if each.is_in(folder)]
    found = [each for each in found if each is not SAMPLES] or found
    if found and kind not in found:
        raise failure(f"{folder} holds a run of {found[0].command}; use another folder")


@contextmanager
def claimed_run(folder: Path | None, kind: RunKind, failure: type[Exception] = GoError) -> Iterator[None]:
    """Create and lock the folder of a run, see `claimed`; None is not locked.

    Other files, such as game records, may be there. Raises `failure` if another process has locked the folder, if it
    holds a run of another command, or if a new run would replace a file that no run has written.
    """
    with claimed(folder, failure):
        if folder is not None:
            refuse_other_run(folder, kind, failure)
            found = [name for name in kind.writes if (folder / name).exists()]
            if found and not kind.is_in(folder):
                raise failure(f"{folder} has {found[0]}, which {kind.command} would replace; use another folder")
        yield


def _settings_of(folder: Path) -> dict[str, Any]:
    """Return the contents of settings.json; empty if it has none. Damage is for its command to report."""
    try:
        found = json.loads((folder / SETTINGS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _first_metrics(folder: Path) -> dict[str, Any]:
    """Return the first line of metrics.jsonl; empty if it has none."""
    try:
        with (folder / "metrics.jsonl").open(encoding="utf-8") as file:
            found = json.loads(file.readline())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _has_tables(folder: Path, tables: frozenset[str]) -> bool:
    """Return whether config.toml has these tables."""
    try:
        found = tomllib.loads((folder / _CONFIG_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return {name for name, value in found.items() if isinstance(value, dict)} >= tables
