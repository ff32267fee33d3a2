"""A CGOS server, two Keimas and GNU Go play on this machine: no illegal move, no loss on time, the same scores.

KEIMA_CGOS is a checkout of zakki/cgos. KEIMA_CGOS_PYTHON is a Python that has the package passlib; without it this
one is tried. CGOS_GAMES is the number of games.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.game import Game
from engine.rules import SERVER_PRESETS
from engine.scoring import format_score
from engine.vertex import parse_vertex
from tests.clients.cgos import KOMI, SECONDS_A_SIDE, SIZE, Loopback, Record
from tests.oracle.naive_score import tromp_taylor_score
from tests.shared import require_shared

pytestmark = pytest.mark.clients
ROOT = Path(__file__).resolve().parent.parent.parent
NET = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
GAMES = int(os.environ.get("CGOS_GAMES", "30"))
SECONDS = 1500.0
KEIMAS = {"keima-visits": ["--visits", "30"], "keima-clock": []}
GNUGO_OPTIONS = "--mode gtp --level 1 --chinese-rules --positional-superko --forbid-suicide --capture-all-dead"
LETTERS_OF_OWNERS = re.compile(r"[A-Za-z0-9+/]{81}")


def checkout() -> Path:
    """Return the folder of zakki/cgos, or skip the running test."""
    folder = Path(os.environ.get("KEIMA_CGOS", ""))
    if not (folder / "server-python" / "cgos" / "server.py").exists():
        pytest.skip("needs KEIMA_CGOS, a checkout of zakki/cgos")
    return folder.resolve()


def python() -> str:
    """Return a Python that can run the server, or skip the running test."""
    program = os.environ.get("KEIMA_CGOS_PYTHON", sys.executable)
    if subprocess.run([program, "-c", "import passlib.context"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs KEIMA_CGOS_PYTHON, a Python with the package passlib")
    return program


def keima(*arguments: str) -> str:
    """Return what Keima prints; its kernels are compiled after this."""
    command = [sys.executable, str(ROOT / "keima.py"), *arguments]
    done = subprocess.run(command, input=f"boardsize {SIZE}\ngenmove b\nquit\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loopback, list[Record]]]:
    """Yield the server, still running, and the records of all games."""
    net = str(require_shared(NET))
    gnugo = shutil.which("gnugo", path=f"{os.environ['PATH']}{os.pathsep}/usr/games") or pytest.skip("needs GNU Go")
    keima("gtp", "--net", net, "--visits", "30")
    with Loopback(checkout(), python(), tmp_path_factory.mktemp("cgos")) as server:
        for player, options in KEIMAS.items():
            server.join(player, keima("setup", "cgos", "--net", net, *options))
        command = f"CommandLine = {gnugo} {GNUGO_OPTIONS}"
        server.join("gnugo", re.sub("CommandLine = .*", command, keima("setup", "cgos")))
        yield server, server.play(GAMES, SECONDS)


def test_every_game_ends_by_count_or_resignation(loopback: tuple[Loopback, list[Record]]) -> None:
    _, records = loopback
    wins = Counter((each.white if each.result[0] == "W" else each.black) for each in records)
    games = Counter(name for each in records for name in (each.white, each.black))
    longest = Counter[str]()
    for each in records:
        longest |= Counter({each.white: round(each.used[0] * 1000), each.black: round(each.used[1] * 1000)})
    print({name: f"{wins[name]} of {games[name]} won, at most {longest[name] / 1000:.1f} s used" for name in games})
    assert len(records) == GAMES
    assert [each.result for each in records if not re.fullmatch(r"[BW]\+(\d+\.5|Resign)", each.result)] == []
    assert max(longest.values()) < SECONDS_A_SIDE * 1000


def test_no_command_was_refused(loopback: tuple[Loopback, list[Record]]) -> None:
    server, _ = loopback
    for player in (*KEIMAS, "gnugo"):
        assert not re.search(r"rejected|[Ee]rror|Traceback", server.log_of(player)), player
    assert not re.search(r"(?m)^(ERROR|CRITICAL)|Bad analysis|Traceback", server.server_log())


def test_keima_counts_as_the_server_does(loopback: tuple[Loopback, list[Record]]) -> None:
    _, records = loopback
    counted = 0
    for each in records:
        game = Game(SIZE, rules=SERVER_PRESETS["cgos"], komi=KOMI)
        for move in each.moves:
            if move != "resign":
                game.play(game.to_play, parse_vertex(move, SIZE, SIZE))
        if not each.result.endswith("Resign"):
            counted += 1
            assert format_score(tromp_taylor_score(game)) == each.result, each
    print(f"{counted} games counted")
    assert counted > 0


def test_each_move_of_keima_comes_with_its_analysis(loopback: tuple[Loopback, list[Record]]) -> None:
    _, records = loopback
    for each in records:
        assert len(each.analyses) == len(each.moves)
        for index, (move, text) in enumerate(zip(each.moves, each.analyses, strict=True)):
            player = (each.black, each.white)[index % 2]
            if player not in KEIMAS or move == "resign":
                continue
            reported = json.loads(text)
            assert 0.0 <= reported["winrate"] <= 1.0
            won_by_passing = (move, reported["visits"]) == ("pass", 1)  # without a search there is no ownership
            assert won_by_passing or LETTERS_OF_OWNERS.fullmatch(reported["ownership"]), each
            assert move in [each["move"].lower() for each in reported["moves"]]
