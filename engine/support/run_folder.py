"""The folder of a run that can be continued after any end: its settings, and a line for each finished piece of work."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import GoError
from engine.support.files import append_line, iterate_lines, read_object, write_atomically
from engine.support.json_text import json_text

SETTINGS_FILE = "settings.json"
RESULTS_FILE = "results.jsonl"
T = TypeVar("T")


class RunFolder:
    """Settings and finished work of a run. Without a folder nothing is stored.

    A piece of work is finished once its complete line is in the file, so a run can be killed at any moment and
    continued.
    """

    def __init__(
        self,
        folder: Path | None,
        settings: Mapping[str, Any],
        lines: str = RESULTS_FILE,
        failure: type[Exception] = GoError,
    ) -> None:
        """Open or create the folder of a run. continues: whether it already existed.

        Raises `failure` if it has a run with other settings, naming the first, or results without settings.
        """
        self._lines = None if folder is None else folder / lines
        self._failure = failure
        self.continues = False
        if folder is not None and self._lines is not None:
            folder.mkdir(parents=True, exist_ok=True)
            if self._lines.exists() and not (folder / SETTINGS_FILE).exists():
                raise failure(f"{folder} has {lines} but no {SETTINGS_FILE}")
            self.continues = keep_settings(folder / SETTINGS_FILE, settings, failure)

    def read(self, parse: Callable[[Any], T], what: str) -> list[T]:
        """Return the finished pieces of work, see `parsed_lines`."""
        return [] if self._lines is None else parsed_lines(self._lines, parse, what, self._failure)

    def add(self, line: Mapping[str, Any], *, waits: bool = True) -> None:
        """Append the line of a finished piece of work. waits: see `append_line`."""
        if self._lines is not None:
            append_line(self._lines, json_text(line), waits=waits)


def parsed_lines(path: Path, parse: Callable[[Any], T], what: str, failure: type[Exception] = GoError) -> list[T]:
    """Parse the JSON value of each line with `parse`; return [] if the file does not exist.

    what: the content of a line, for the error message. Raises `failure`, naming the line, if it is not JSON or `parse`
    raises ValueError, TypeError or LookupError.
    """
    found = []
    for number, line in enumerate(iterate_lines(path), start=1):
        try:
            found.append(parse(json.loads(line)))
        except KeyError as error:
            raise failure(f"{path}:{number}: no {what}: it lacks {error}") from error
        except (ValueError, TypeError, IndexError) as error:
            raise failure(f"{path}:{number}: no {what}: {error}") from error
    return found


def keep_settings(path: Path, settings: Mapping[str, Any], failure: type[Exception] = GoError) -> bool:
    """Write the settings of a new run, or compare them with the file of a continued one; return True if it is one.

    Raises `failure`, naming the first setting that differs from the file.
    """
    text = json_text(settings, indent=1) + "\n"
    if not path.exists():
        write_atomically(path, text)
        return False
    # Through JSON, which turns tuples into lists: the file has what was written, not what was passed in.
    wanted, found = json.loads(text), read_object(path, failure)
    for name in [*wanted, *sorted(found.keys() - wanted.keys())]:
        if wanted.get(name) != found.get(name):
            raise failure(
                f"{path}: {name} was {found.get(name)!r} there and is {wanted.get(name)!r} now; use another folder"
            )
    return True
