"""Loads `keima analysis --listen` or `keima gtp --listen` with many clients and counts what comes back.

Run `python -m tests.load analysis|gtp --clients 50 --queries 20 -- OPTIONS`; OPTIONS are those of the engine. Half of
the clients connect by TCP, half by WebSocket. Every client of `analysis` sends its queries at once, each about another
position, and one more client sends `--flood` queries; every client of `gtp` plays moves. Prints the answers, those that
were lost or came twice, the times until the answers, how evenly the clients were served, and the server's memory and
threads. Exits with 1 if anything was lost, came twice or failed.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.remote.clients import TcpClient, web_socket

SIZE = 9
LETTERS = "ABCDEFGHJ"
_INTERVAL = 0.1


@dataclass
class Served:
    """What one client got. seconds: from the start to each answer."""

    name: str
    wanted: list[str]
    got: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    failure: str = ""


class Watch(threading.Thread):
    """Records the largest memory (KiB) and the most threads of a process; Linux only."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._status, self._ended = Path(f"/proc/{pid}/status"), threading.Event()
        self.first = self.memory = self.threads = 0

    def run(self) -> None:
        """Look again and again until `end`."""
        while not self._ended.wait(_INTERVAL):
            fields = dict(line.split(":", 1) for line in self._status.read_text().splitlines())
            memory = int(fields["VmRSS"].split()[0])
            self.first = self.first or memory
            self.memory, self.threads = max(self.memory, memory), max(self.threads, int(fields["Threads"]))

    def end(self) -> None:
        """Stop."""
        self._ended.set()
        self.join()


@contextmanager
def server(command: str, clients: int, options: Sequence[str]) -> Iterator[tuple[int, Watch]]:
    """Yield the port of a running server, and what watches its process."""
    words = [sys.executable, "-m", "keima", command, "--listen", "127.0.0.1:0", "--connections", str(clients + 2)]
    process = subprocess.Popen([*words, *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = ""
    for line in process.stderr:
        if line.startswith("Listening on "):
            break
    threading.Thread(target=process.stderr.read, daemon=True).start()
    watch = Watch(process.pid)
    watch.start()
    try:
        yield int(line.removeprefix("Listening on ").split(": ")[0].rpartition(":")[2]), watch
    finally:
        watch.end()
        process.terminate()
        process.wait()


def queries(client: int, count: int) -> list[dict[str, Any]]:
    """Return queries about positions that no other client has."""
    choose = random.Random(client)
    found = []
    for number in range(count):
        # No two are neighbors: every move is legal.
        points = [f"{LETTERS[x]}{y + 1}" for x in range(SIZE) for y in range(SIZE) if (x + y) % 2 == 0]
        chosen = choose.sample(points, 6 + number % 7)
        moves = [["B" if turn % 2 == 0 else "W", point] for turn, point in enumerate(chosen)]
        query = {"id": f"{client}.{number}", "moves": moves, "rules": "tromp-taylor", "includeOwnership": True}
        found.append(query | {"boardXSize": SIZE, "boardYSize": SIZE, "komi": 7.0})
    return found


def analyze(port: int, client: int, count: int, served: Served) -> None:
    """Send all queries at once and take the answers."""
    given = queries(client, count)
    served.wanted = [each["id"] for each in given]
    lines = [json.dumps(each) for each in given]
    start = time.monotonic()

    def take(line: str | bytes) -> None:
        answer = json.loads(line)
        served.failure = served.failure or str(answer.get("error", ""))
        served.got.append(answer["id"])
        served.seconds.append(time.monotonic() - start)

    if client % 2 == 0:
        with TcpClient(port) as connection:
            connection.socket.settimeout(None)
            # In a thread: a server that reads no more must not keep the answers from being read.
            threading.Thread(target=connection.send, args=("".join(f"{line}\n" for line in lines),)).start()
            while len(served.got) < count and (line := connection.line()):
                take(line)
        return
    with web_socket(port) as socket:
        threading.Thread(target=lambda: [socket.send(line) for line in lines]).start()
        while len(served.got) < count:
            take(socket.recv())


def play(port: int, client: int, count: int, served: Served) -> None:
    """Play moves for both colors, each after the answer to the last."""
    colors = ["b" if number % 2 == 0 else "w" for number in range(count)]
    served.wanted = [f"{client}.{number}" for number in range(count)]
    commands = [f"boardsize {SIZE}", *(f"genmove {color}" for color in colors)]
    start = time.monotonic()

    def take(reply: str) -> None:
        served.failure = served.failure or ("" if reply.startswith("=") else reply)
        served.got.append(f"{client}.{len(served.got)}")
        served.seconds.append(time.monotonic() - start)

    if client % 2 == 0:
        with TcpClient(port) as connection:
            connection.socket.settimeout(None)
            connection.ask(commands[0])
            for command in commands[1:]:
                take(connection.ask(command))
        return
    with web_socket(port) as socket:
        for number, command in enumerate(commands):
            socket.send(command)
            reply = str(socket.recv())
            if number > 0:
                take(reply)


def guarded(work: Callable[..., None], port: int, client: int, count: int, served: Served) -> None:
    """Run a client; its failure is noted."""
    try:
        work(port, client, count, served)
    except Exception as error:  # noqa: BLE001 - reported at the end
        served.failure = repr(error)


def run(command: str, asked: argparse.Namespace) -> bool:
    """Load one server and print what came back; return whether nothing was lost."""
    work = analyze if command == "analysis" else play
    counts = [asked.queries] * asked.clients + ([asked.flood] if command == "analysis" and asked.flood else [])
    found = [Served(str(number), []) for number in range(len(counts))]
    with server(command, asked.clients, asked.options) as (port, watch):
        threads = [
            threading.Thread(target=guarded, args=(work, port, number, count, served))
            for number, (count, served) in enumerate(zip(counts, found, strict=True))
        ]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.monotonic() - start
    return report(command, found, asked.clients, seconds, watch)


def report(command: str, found: Sequence[Served], clients: int, seconds: float, watch: Watch) -> bool:
    """Print the figures of a run; return whether nothing was lost, came twice or failed."""
    lost = sum((Counter(each.wanted) - Counter(each.got)).total() for each in found)
    twice = sum((Counter(each.got) - Counter(each.wanted)).total() for each in found)
    failures = [each.failure for each in found if each.failure]
    answers = sum(len(each.got) for each in found)
    firsts = sorted(each.seconds[0] for each in found[:clients] if each.seconds)
    lasts = sorted(each.seconds[-1] for each in found[:clients] if each.seconds)
    print(f"{command}: {len(found)} clients, {answers} answers in {seconds:.1f} s ({answers / seconds:.1f} a second)")
    print(f"  lost {lost}, twice {twice}, failures {len(failures)} {failures[:1] or ''}")
    for name, each in (("first answers", firsts), ("last answers", lasts)):
        if each:
            print(f"  {name} after {each[0]:.1f} to {each[-1]:.1f} s, median {statistics.median(each):.1f} s")
    print(f"  memory {watch.first >> 10} MiB at the start, {watch.memory >> 10} MiB at most; {watch.threads} threads")
    return lost == twice == len(failures) == 0


def main() -> int:
    """Run the load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["analysis", "gtp"])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--queries", type=int, default=20, help="of a client, or its moves")
    parser.add_argument("--flood", type=int, default=500, help="queries of one more client of analysis; 0 for none")
    words = [*sys.argv[1:], "--"]
    own = words.index("--")
    asked = parser.parse_args(words[:own])
    asked.options = words[own + 1 : -1]
    return 0 if run(asked.command, asked) else 1


if __name__ == "__main__":
    sys.exit(main())
