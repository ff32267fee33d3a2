"""The folder of a run: settings.json, a line an answer in results.jsonl; reading them to go on.

A problem is answered when its line stands whole in results.jsonl, so a run that was killed at any
moment goes on where it stopped.
"""

import json
from pathlib import Path

from engine.apps.solve.options import SolveSettings
from engine.apps.solve.solver import Answer
from engine.errors import GoError
from engine.support.files import append_line, require_same_settings, whole_lines, write_atomically

FORMAT = {"format": "keima-solve", "version": 1}


class Store:
    """The answers of a run by the names of their problems, in a folder or, without one, in memory only."""

    def __init__(self, settings: SolveSettings, folder: Path | None) -> None:
        """Open or create the folder. Raises GoError when it holds a run with other settings; the text says which."""
        self.answers: dict[str, Answer] = {}
        self._folder = folder
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path, wanted = folder / "settings.json", FORMAT | settings.to_json()
        if path.exists():
            require_same_settings(path, wanted)
            self.answers = _read_answers(folder / "results.jsonl")
        elif (folder / "results.jsonl").exists():
            raise GoError(f"{folder} has results but no settings.json")
        else:
            write_atomically(path, json.dumps(wanted, indent=1) + "\n")

    def add(self, answer: Answer) -> None:
        """Keep an answer."""
        if self._folder is not None:
            append_line(self._folder / "results.jsonl", json.dumps(answer.to_json()))
        self.answers[answer.name] = answer


def _read_answers(path: Path) -> dict[str, Answer]:
    answers = {}
    for number, line in enumerate(whole_lines(path), 1):
        try:
            answer = Answer.from_json(json.loads(line))
        except (ValueError, TypeError) as error:
            raise GoError(f"{path}:{number}: no answer: {error}") from error
        answers[answer.name] = answer
    return answers
