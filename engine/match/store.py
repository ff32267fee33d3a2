"""Reads and writes the directory of a match: settings.json, one SGF for each game, one line for each in results.jsonl.

A game is finished when its line is complete in results.jsonl; its SGF was written before. So a match that is killed at
any moment leaves only whole games and can be resumed.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.match.errors import MatchError
from engine.match.settings import MatchSettings
from engine.support.files import read_object, write_atomically
from engine.support.run_folder import SETTINGS_FILE, RunFolder

FORMAT = {"format": "keima-match", "version": 2}


@dataclass(frozen=True)
class GameRecord:
    """One finished game: a line of results.jsonl.

    black, white, winner: labels of players; no winner means a draw. result: as in SGF.
    reason: "passes" or "moves" (a counted game), "repetition" (no result), "resign", or the reason of the loss:
    "illegal", "time", "hang", "crash", "garbage", "error".
    scored_by: "referee", "players" (they agree), "arbiter", or "" for a game that was not counted. By player label:
    names; seconds and moves of all genmoves, one that brought no move included; longest: seconds of the longest one;
    least_left: the smallest time left, in seconds; main_share: used share of the main time and the increments granted.
    The last two exist only with a clock, and with main time.
    opening: the record that it began with. digest: equal for games with equal moves.
    """

    number: int
    black: str
    white: str
    winner: str | None
    result: str
    reason: str
    detail: str = ""
    scored_by: str = ""
    names: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    moves: dict[str, int] = field(default_factory=dict)
    longest: dict[str, float] = field(default_factory=dict)
    least_left: dict[str, float] = field(default_factory=dict)
    main_share: dict[str, float] = field(default_factory=dict)
    opening: str = ""
    digest: str = ""
    sgf: str = ""


class Store:
    """The files of one match; only memory without a directory."""

    def __init__(self, settings: MatchSettings, directory: Path | None, resume: bool = True) -> None:
        """Open or create the directory.

        Raises MatchError if it contains a match with other settings (the message has the first difference), any match
        if `resume` is False, or a line that is not a game of the match.
        """
        self.records: dict[int, GameRecord] = {}
        self._directory, self._labels = directory, settings.labels
        described = FORMAT | settings.to_json()
        file = None if directory is None else directory / SETTINGS_FILE
        if file is not None and file.exists() and "order" not in read_object(file, MatchError):
            del described["order"]  # a match from before it was written
        self._run = RunFolder(directory, described, failure=MatchError)
        if self._run.continues and not resume:
            raise MatchError(f"{directory} already holds a match, and resuming is off")
        self.reload()

    def reload(self) -> None:
        """Read the files again: an interrupt may come after a game was written and before it was added here."""
        if self._directory is not None:
            self.records = {record.number: record for record in self._run.read(self._record, "game record")}

    def sgf_name(self, number: int) -> str:
        """Return the file name of a game's SGF."""
        return f"game-{number:05d}.sgf"

    def add(self, record: GameRecord, sgf: str) -> None:
        """Store a finished game: its SGF first, then its line."""
        if self._directory is not None:
            write_atomically(self._directory / self.sgf_name(record.number), sgf)
            self._run.add(asdict(record))
        self.records[record.number] = record

    def _record(self, line: Any) -> GameRecord:
        """Parse a line of results.jsonl. Raises ValueError or TypeError if it is not a game of this match."""
        record = GameRecord(**line)
        _require_players(record, self._labels)
        return record


def _require_players(record: GameRecord, labels: Collection[str]) -> None:
    """Raise ValueError unless two players of the match have played a game, and one of them or nobody has won it."""
    for label in (record.black, record.white):
        if label not in labels or label not in record.names:
            raise ValueError(f"expected players of {' '.join(labels)} and their names, got {label!r}")
    if record.winner not in (record.black, record.white, None):
        raise ValueError(f"winner: expected {record.black!r}, {record.white!r} or none, got {record.winner!r}")
