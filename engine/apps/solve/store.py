"""Stores the answers of a run of `keima solve` in a folder or in memory."""

from pathlib import Path

from engine.apps.solve.settings import SolveSettings
from engine.apps.solve.solver import Answer
from engine.support.run_folder import RunFolder

FORMAT = {"format": "keima-solve", "version": 1}


class Store:
    """The answers of a run by problem name. Without a folder they are kept in memory only."""

    def __init__(self, settings: SolveSettings, folder: Path | None) -> None:
        """Open or create the folder. Raises GoError, naming a setting, if it has a run with other settings."""
        self._run = RunFolder(folder, FORMAT | settings.to_json())
        self.answers = {answer.name: answer for answer in self._run.read(Answer.from_json, "answer")}

    def add(self, answer: Answer) -> None:
        """Store an answer."""
        self._run.add(answer.to_json())
        self.answers[answer.name] = answer
