"""A CGOS server of its own on this machine, and the players that meet on it through CGOS's Python client.

Both come from a checkout of zakki/cgos, unchanged but for the pause between rounds.
"""

import re
import socket
import sqlite3
import subprocess
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SIZE = 9
KOMI = 7.5
SECONDS_A_SIDE = 20
_START_SECONDS = 60.0
_QUIT_SECONDS = 10.0
_SERVER = "import app.cgos as cgos; cgos.schedule_games_interval = 2.0; cgos.runServer()"
_SETTINGS = """
[cgos-server]
serverName = loopback
htmlInfoMsg = loopback
portNumber = {port}
boardsize = {size}
komi = {komi}
ko = POSITIONAL
rule = Chinese
level = {level}
timeGift = 0.25
database_state_file = {folder}/state.db
cgi_database = {folder}/cgi.db
game_archive_database = {folder}/archive.db
web_data_file = {folder}/data.txt
defaultRating = 1800.0
minK = 3.0
maxK = 200.0
htmlDir = {folder}/html
sgfDir = sgf
provisionalAge = 0.04
establishedAge = 31.0
killFile = {folder}/kill
tools_dir = {folder}
bin_dir = {folder}
bad_users_file =
moveIntervalBetweenSave = 1
"""
_LOGGING = """
[loggers]
keys = root
[handlers]
keys = file
[formatters]
keys = plain
[logger_root]
level = INFO
handlers = file
[handler_file]
class = FileHandler
formatter = plain
args = ("server.log",)
[formatter_plain]
format = %(levelname)s %(message)s
"""


@dataclass(frozen=True)
class Record:
    """One game by the server's own record.

    white, black: the players' names. result: as the server writes it, such as W+2.5, B+Resign, W+Illegal, B+Time.
    moves: GTP names in lower case, Black first; an end by resignation is the move `resign`. analyses: what was sent
    with each move, or empty. used: seconds of White and of Black.
    """

    white: str
    black: str
    result: str
    moves: list[str]
    analyses: list[str]
    used: tuple[float, float]


class Loopback:
    """The server and its players, which all end with the context.

    Raises RuntimeError if the server does not start or a program ends before its time.
    """

    def __init__(self, checkout: Path, python: str, folder: Path) -> None:
        """checkout: of zakki/cgos. python: a program that has passlib. folder: empty; all files are made in it."""
        self._checkout, self._python, self._folder = checkout, python, folder
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self._programs: dict[str, subprocess.Popen[bytes]] = {}
        self._open = ExitStack()

    def __enter__(self) -> Self:
        folder = self._folder / "server"
        (folder / "html").mkdir(parents=True)
        settings = _SETTINGS.format(port=self._port, folder=folder, size=SIZE, komi=KOMI, level=SECONDS_A_SIDE)
        (folder / "server.ini").write_text(settings, encoding="ascii")
        (folder / "log.ini").write_text(_LOGGING, encoding="ascii")
        with closing(sqlite3.connect(folder / "archive.db")) as database:
            # Made here: the server would add indexes over columns that the table lacks, which SQLite may refuse.
            database.execute("CREATE TABLE games(gid INT, dta, analysis)")
        source = str(self._checkout / "server-python" / "cgos")
        self._start("server", [self._python, "-c", _SERVER, "server.ini"], folder, {"PYTHONPATH": source})
        try:
            self._await_server()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def join(self, player: str, configuration: str) -> None:
        """Let a player log in with the text of a client's configuration, whose server and names are filled in here."""
        folder = self._folder / player
        folder.mkdir()
        given = {"ServerHost": "127.0.0.1", "ServerPort": self._port, "ServerUser": player, "ServerPassword": "secret"}
        for key, value in given.items():
            configuration, count = re.subn(rf"(?m)^( *{key} = ).*$", rf"\g<1>{value}", configuration)
            assert count == 1, key
        (folder / "player.cfg").write_text(configuration, encoding="utf-8")
        client = self._checkout / "client-python" / "src" / "cgosclient.py"
        self._start(player, [self._python, "-u", str(client), "player.cfg"], folder, {})

    def play(self, games: int, seconds: float) -> list[Record]:
        """Wait until so many games are over, and return them. Raises TimeoutError after so many seconds."""
        end = time.monotonic() + seconds
        while len(found := self._records()) < games:
            self._require_running()
            if time.monotonic() > end:
                raise TimeoutError(f"{len(found)} of {games} games in {seconds:g} s")
            time.sleep(1.0)
        return found[:games]

    def server_log(self) -> str:
        """Return what the server has logged so far."""
        path = self._folder / "server" / "server.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def log_of(self, name: str) -> str:
        """Return what a program has written to its terminal so far."""
        return (self._folder / f"{name}.txt").read_text(encoding="utf-8", errors="replace")

    def _start(self, name: str, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        output = self._open.enter_context((self._folder / f"{name}.txt").open("wb"))
        variables = [f"{key}={value}" for key, value in environment.items()]
        self._programs[name] = subprocess.Popen(
            ["env", *variables, *command], cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )

    def _await_server(self) -> None:
        end = time.monotonic() + _START_SECONDS
        while "Serving on" not in self.server_log():
            self._require_running()
            if time.monotonic() > end:
                raise RuntimeError("the server does not start")
            time.sleep(0.1)

    def _stop(self) -> None:
        for program in reversed(self._programs.values()):
            program.terminate()
        for program in self._programs.values():
            with suppress(subprocess.TimeoutExpired):
                program.wait(_QUIT_SECONDS)
            program.kill()
            program.wait()
        self._open.close()

    def _require_running(self) -> None:
        for name, program in self._programs.items():
            if program.poll() is not None:
                raise RuntimeError(f"{name} has ended: {self.log_of(name)[-2000:]}")

    def _records(self) -> list[Record]:
        folder = self._folder / "server"
        with closing(sqlite3.connect(folder / "state.db")) as database:
            rows = database.execute("SELECT gid, w, b, res, wtu, btu FROM games ORDER BY gid").fetchall()
        with closing(sqlite3.connect(folder / "archive.db")) as database:
            archive = {
                gid: (text, analysis)
                for gid, text, analysis in database.execute("SELECT gid, dta, analysis FROM games")
            }
        records = []
        for gid, white, black, result, *used in rows:
            text, analysis = archive[gid]
            moves = text.split()[7:-1:2]
            seconds = (used[0] / 1000.0, used[1] / 1000.0)
            records.append(Record(white, black, result, moves, analysis.split("\n"), seconds))
        return records
