"""The directory of a match: settings.json, one SGF a game, one line a game in results.jsonl.

A game is finished when its line stands whole in results.jsonl; its SGF was written before. So a
match that was killed at any moment leaves only whole games, and goes on from there.
"""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from engine.match.errors import MatchError
from engine.match.settings import MatchSettings
from engine.support.files import append_line, read_object, whole_lines, write_atomically

FORMAT = {"format": "keima-match", "version": 2}


@dataclass(frozen=True)
class GameRecord:
    """One finished game, as a line of results.jsonl.

    black, white, winner: labels of players; no winner is a draw. result: as in SGF.
    reason: "passes" or "moves" (a counted game), "repetition" (no result), "resign", or why the
    loser lost: "illegal", "time", "hang", "crash", "garbage", "error".
    scored_by: "referee", "players" (they agree), "arbiter", or "" for a game that was not counted.
    By the players' labels: names; seconds and moves of all genmoves; longest: seconds of one; least_left:
    seconds before the fall of the flag, at the closest; main_share: share used of the main time and the
    increments granted. The last two are there only where a clock, and main time, are.
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
    """The files of one match, or nothing but memory when it has no directory."""

    def __init__(self, settings: MatchSettings, directory: Path | None, resume: bool = True) -> None:
        """Open or create the directory.

        Raises MatchError when it holds a match with other settings, or any at all and `resume` is
        False; its text names the first setting that differs. Raises it, too, for a line that is no game of the match.
        """
        self.records: dict[int, GameRecord] = {}
        self._directory = directory
        self._labels = settings.labels
        if directory is None:
            return
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "settings.json"
        wanted = FORMAT | settings.to_json()
        if path.exists():
            _require_same(path, wanted)
            if not resume:
                raise MatchError(f"{directory} already holds a match, and resuming is off")
            self.reload()
        else:
            if (directory / "results.jsonl").exists():
                raise MatchError(f"{directory} has results but no settings.json")
            write_atomically(path, json.dumps(wanted, indent=1) + "\n")

    def reload(self) -> None:
        """Take over what the files hold: an interrupt may come after a game is written and before it is remembered."""
        if self._directory is not None:
            self.records = _read_records(self._directory / "results.jsonl", self._labels)

    def sgf_name(self, number: int) -> str:
        """Return the file name of a game's record."""
        return f"game-{number:05d}.sgf"

    def add(self, record: GameRecord, sgf: str) -> None:
        """Keep a finished game: its SGF first, then its line."""
        if self._directory is not None:
            write_atomically(self._directory / self.sgf_name(record.number), sgf)
            append_line(self._directory / "results.jsonl", json.dumps(asdict(record)))
        self.records[record.number] = record


def _require_same(path: Path, wanted: dict[str, Any]) -> None:
    found = read_object(path, MatchError)
    # What else a file of another format means, nobody can tell.
    for name in [*FORMAT, *sorted(wanted.keys() | found.keys())]:
        if wanted.get(name) != found.get(name):
            raise MatchError(
                f"{path}: {name} was {found.get(name)!r} there and is {wanted.get(name)!r} now; use another directory"
            )


def _read_records(path: Path, labels: Collection[str]) -> dict[int, GameRecord]:
    """Return the whole lines of results.jsonl by game number."""
    records = {}
    for place, line in enumerate(whole_lines(path), start=1):
        try:
            record = GameRecord(**json.loads(line))
            _require_players(record, labels)
        except (ValueError, TypeError) as error:
            raise MatchError(f"{path}:{place}: no game record: {error}") from error
        records[record.number] = record
    return records


def _require_players(record: GameRecord, labels: Collection[str]) -> None:
    """Raise ValueError unless two players of the match have played a game, and one of them or nobody has won it."""
    for label in (record.black, record.white):
        if label not in labels or label not in record.names:
            raise ValueError(f"expected players of {' '.join(labels)} and their names, got {label!r}")
    if record.winner not in (record.black, record.white, None):
        raise ValueError(f"winner: expected {record.black!r}, {record.white!r} or none, got {record.winner!r}")
