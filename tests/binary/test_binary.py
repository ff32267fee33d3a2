"""The frozen program that `make binary` built plays anywhere, for anyone, and compiles nothing."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from engine.encoders import ENCODERS
from engine.nets.kernels.operands import lanes_here
from engine.nets.random import random_spec
from tests.waiting import wait_until
from weights import native

pytestmark = pytest.mark.binary
ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = ROOT / "dist" / "keima"
PROGRAM = "keima.exe" if sys.platform == "win32" else "keima"
NOBODY = 65534
READY = "GTP ready, beginning main protocol loop\n"
"""What LizGoban waits for, all that an undisturbed session says on stderr."""
FOREIGN = ("engine", "gtp", "weights", "keima", "numpy")
"""Packages of these names that are not ours lie in the folder where the program starts, and on PYTHONPATH."""
COPYLEFT = ("readline", "gdbm", "libdb-", "_dbm")
"""Parts of Python's own library that are under the GPL or the AGPL, or load what is."""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Copy the program to where any user can reach it; return the folder, with an empty one beside it."""
    if not (BUILT / PROGRAM).exists():
        pytest.skip("there is no dist/keima; run `make binary`")
    folder = Path(tempfile.mkdtemp(prefix="keima-binary-"))
    try:
        shutil.copytree(BUILT, folder / "keima", symlinks=True)
        (folder / "empty").mkdir()
        for name in FOREIGN:
            package = folder / "empty" / name
            package.mkdir()
            (package / "__init__.py").write_text('raise RuntimeError(f"{__name__} is not Keima\'s")\n')
        for path in (folder, *folder.glob("empty/**")):
            path.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder)


def start(place: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start the program with a home that is not there, as nobody where root may do so, amid foreign packages.

    They lie in the current folder, which is on PYTHONPATH, too.
    """
    homeless = {name: str(place / "absent") for name in ("HOME", "LOCALAPPDATA", "USERPROFILE", "XDG_CACHE_HOME")}
    kept = {name: value for name, value in os.environ.items() if name != "KEIMA_CACHE"}
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if is_root else {}
    return subprocess.Popen(
        [str(place / "keima" / PROGRAM), *arguments],
        cwd=place / "empty",
        env={**kept, **homeless, "PYTHONPATH": str(place / "empty")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **other,
    )


def ask(process: subprocess.Popen[str], command: str) -> str:
    """Return the text of the reply to a command, which must succeed."""
    assert process.stdin and process.stdout
    process.stdin.write(f"{command}\n")
    process.stdin.flush()
    lines = []
    while (line := process.stdout.readline()).strip():
        lines.append(line.rstrip("\n"))
    reply = "\n".join(lines)
    assert reply.startswith("="), f"{command}: {reply!r}"
    return reply[1:].strip()


def leave(process: subprocess.Popen[str]) -> None:
    """Send `quit`; check that nothing but replies was written, and that no kernel was compiled."""
    output, errors = process.communicate("quit\n", timeout=20)
    assert (output, errors, process.returncode) == ("= \n\n", READY, 0)


def test_the_foreign_packages_are_found_by_others(place: Path) -> None:
    for name in FOREIGN:
        command = [sys.executable, "-c", f"import {name}"]
        found = subprocess.run(command, cwd=place / "empty", capture_output=True, text=True)
        assert f"RuntimeError: {name} is not Keima's" in found.stderr


def test_it_prints_the_license_of_everything_inside(place: Path) -> None:
    process = start(place, "--licenses")
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert "The Keima developers" in output
    assert 'David J Wu ("lightvector")' in output
    headings = re.findall(r"^=+\n(.+)\n=+$", output, re.MULTILINE)
    names = {heading.split()[0].lower() for heading in headings}
    assert {"python", "numpy", "numba", "llvmlite", "openvino", "click", "rich", "sgfmill", "pyinstaller"} <= names
    assert (place / "keima" / "LICENSE").is_file()
    assert (place / "keima" / "THIRD-PARTY.txt").is_file()


def test_nothing_inside_is_under_the_gpl(place: Path) -> None:
    files = [path.name for path in (place / "keima").rglob("*") if path.is_file()]
    assert len(files) > 50
    assert [name for name in files if any(part in name for part in COPYLEFT)] == []


def test_the_handshake_is_answered(place: Path) -> None:
    process = start(place)
    assert ask(process, "name") == "Keima"
    assert ask(process, "protocol_version") == "2"
    assert "genmove" in ask(process, "list_commands").splitlines()
    leave(process)


def test_the_first_move_needs_no_compiling(place: Path) -> None:
    began = time.monotonic()
    process = start(place, "gtp", "--size", "9", "--visits", "1")
    ask(process, "genmove b")
    elapsed = time.monotonic() - began
    leave(process)
    print(f"first genmove after {elapsed:.2f} s")


def test_a_game_is_played_to_its_end(place: Path) -> None:
    process = start(place, "gtp", "--size", "9", "--visits", "30")
    moves: list[str] = []
    while moves[-2:] != ["pass", "pass"] and "resign" not in moves:
        assert len(moves) < 200
        moves.append(ask(process, f"genmove {'bw'[len(moves) % 2]}"))
    assert ask(process, "final_score")[:2] in {"B+", "W+", "0"}
    assert len(moves) > 20
    leave(process)


@pytest.mark.parametrize("size", ["2 2", "7 5", "13 13", "19 19", "25 25"])
@pytest.mark.parametrize("rules", ["tromp-taylor", "japanese", "aga-button"])
def test_no_board_and_no_rules_need_a_compiler(place: Path, size: str, rules: str) -> None:
    process = start(place, "gtp", "--visits", "20")
    for command in (f"kata-set-rules {rules}", f"rectangular_boardsize {size}", "genmove b", "genmove w", "undo"):
        ask(process, command)
    for command in ("showboard", "play w pass", "play b pass", "final_score", "final_status_list dead"):
        ask(process, command)
    leave(process)


def test_reflexes_need_no_compiler(place: Path) -> None:
    process = start(place, "gtp", "--reflexes")
    for command in ("boardsize 9", "genmove b", "genmove w"):
        ask(process, command)
    leave(process)


@pytest.mark.parametrize("encoder", sorted(ENCODERS))
def test_a_network_of_any_encoder_plays(place: Path, encoder: str) -> None:
    network = place / "empty" / f"{encoder}.net"
    native.write(random_spec(1, 4, ENCODERS[encoder], 1, head_channels=2), network)
    process = start(place, "gtp", "--net", str(network), "--visits", "20")
    for command in ("kata-set-rules japanese", "boardsize 7", "genmove b", "genmove w", "clear_board"):
        ask(process, command)
    for command in ("kata-set-rules aga", "boardsize 13", "genmove b", "genmove w", "final_score"):
        ask(process, command)
    leave(process)


@pytest.mark.skipif(not lanes_here(), reason="the CPU has no AVX2")
def test_its_own_kernels_compute_a_network(place: Path) -> None:
    network = place / "empty" / "pools.net"
    native.write(random_spec(3, 20, ENCODERS["katago-v7"], 1, pool_every=2), network)
    process = start(place, "gtp", "--net", str(network), "--backend", "numba")
    for command in ("time_settings 0 1 1", "boardsize 9", "genmove b", "boardsize 19", "clear_board", "genmove b"):
        ask(process, command)
    for command in ("kata-set-rules japanese", "genmove w", "kata-set-param maxVisits 20", "genmove b"):
        ask(process, command)
    leave(process)


def test_two_processes_of_it_play_against_themselves(place: Path) -> None:
    network, games = place / "empty" / "selfplay.net", place / "games"
    games.mkdir()
    games.chmod(0o777)
    native.write(random_spec(1, 4, ENCODERS["katago-v7"], 1, head_channels=2), network)
    options = ("--net", str(network), "--games", "4", "--size", "7", "--processes", "2", "--set", "full_visits=8")
    process = start(place, "selfplay", str(games), *options)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "compiling" not in errors
    assert "4 of 4 games" in output


def test_it_plays_on_its_page(place: Path) -> None:
    # Nobody may write to the folder where it starts.
    words = ("--size", "9", "--visits", "5", "--port", "0", "--no-browser")
    with start(place, "web", *words) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split()[0].rstrip("/").rpartition(":")[2])
            assert "<title>Keima</title>" in ask_page(port, "GET", "/")
            ask_page(port, "POST", "/do/play", '{"move": "E5"}')
            wait_until(lambda: "W[" in ask_page(port, "GET", "/game.sgf"))
        finally:
            process.terminate()
            status = process.wait(timeout=30)
    assert status == 0 or sys.platform == "win32"


def ask_page(port: int, method: str, path: str, body: str | None = None) -> str:
    """Return what a page of `keima web` answers."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request(method, path, body)
        answer = connection.getresponse()
        assert answer.status == 200
        return answer.read().decode()


def test_it_solves_a_small_board(place: Path) -> None:
    book = place / "games.book"
    place.chmod(0o777)
    process = start(place, "book", "solve", str(book), "--size", "3")
    output, errors = process.communicate(timeout=120)
    assert (output, process.returncode) == ("3x3: Black +9 without komi\n", 0), errors
    assert "compiling" not in errors
    assert book.stat().st_size > 0


def test_two_of_them_play_a_match(place: Path) -> None:
    engine = f"'{place / 'keima' / PROGRAM}' gtp --visits 5"
    process = start(place, "match", "--black", engine, "--white", engine, "--size", "5", "--games", "1")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "compiling" not in errors
    assert "1 of 1 games" in output
