"""Analysis that is stopped and pondering that is ended by a move, at random moments, again and again.

Every byte that the engine writes is checked: the frames, each field of each line, and that its moves are
legal. Run `python -m tests.conformity.stress --cycles 500 --seed 1 --size 9 -- COMMAND...` against an engine
that has KataGo's commands; prints how long replies take that must interrupt thinking.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.color import BLACK, WHITE, color_letter, opponent
from engine.game import Game
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.conformity.driver import Controller, FramingError
from tests.gtp.analysis_lines import read_kata_line, read_lz_line

_FLAGS = (
    *("rootInfo", "ownership", "ownershipStdev", "movesOwnership", "movesOwnershipStdev"),
    *("pvVisits", "pvEdgeVisits", "noResultValue"),
)
_NEEDED = (
    *("lz-analyze", "kata-analyze", "lz-genmove_analyze", "kata-genmove_analyze", "kata-set-params"),
    *("kata-search_cancellable", "kata-search_analyze_cancellable"),
)
_OWNERS = ("ownership", "ownershipStdev", "movesOwnership", "movesOwnershipStdev")
_START_SECONDS = 900.0
_MOVE_SECONDS = 0.1
_MAX_MOVES_PER_POINT = 0.8
"""Games are begun anew before they end: finished ones would be passes only."""

Check = Callable[[str], None]


@dataclass
class Report:
    """What a run has seen. latencies: seconds by what was interrupted."""

    cycles: int = 0
    lines: int = 0
    latencies: dict[str, list[float]] = field(default_factory=dict)

    def reported(self) -> str:
        """Return the figures as text."""
        text = [f"{self.cycles} cycles, {self.lines} analysis lines, all well formed"]
        for name, seconds in sorted(self.latencies.items()):
            median, most = 1000 * statistics.median(seconds), 1000 * max(seconds)
            text.append(f"{name}: {len(seconds)} times, median {median:.1f} ms, maximum {most:.1f} ms")
        return "\n".join(text)


class Stress:
    """One engine under stress, and the game that it should have on its board."""

    def __init__(self, engine: Controller, size: int, seed: int, longest_wait: float) -> None:
        self.report = Report()
        self._engine = engine
        self._size = size
        self._random = random.Random(seed)
        self._longest_wait = longest_wait
        self._number = 0
        self._name = ""
        self._game = Game(size)

    def run(self, cycles: int) -> Report:
        """Go through the cycles. Raises AssertionError where the engine errs."""
        self._set_up()
        kinds = [self._analyze, self._analyze, self._ponder, self._ponder, self._cancel]
        while self.report.cycles < cycles:
            if self._game.move_number > _MAX_MOVES_PER_POINT * self._size**2 or self._game.is_over:
                self._restart()
            self._random.choice(kinds)()
            self.report.cycles += 1
        self._engine.expect_silence()
        return self.report

    def _set_up(self) -> None:
        listed = set(self._ask("list_commands").split())
        missing = [name for name in _NEEDED if name not in listed]
        if missing:
            raise FramingError(f"the engine does not list {missing}")
        self._name = self._ask("name")
        # The player may still load or compile; that is not what this measures.
        self._answer(self._send("kata-get-params"), "kata-get-params", _START_SECONDS)
        self._expect(f"boardsize {self._size}", "")
        self._restart()
        settings = f'{{"maxTime":{_MOVE_SECONDS},"ponderingEnabled":"true","allowResignation":"false"}}'
        self._expect(f"kata-set-params {settings}", "")
        self._play_own(BLACK)

    def _restart(self) -> None:
        self._game = Game(self._size)
        self._expect("clear_board", "")

    def _send(self, command: str) -> bytes:
        """Send a command under a fresh id; return the id."""
        self._number += self._random.randrange(1, 1000)
        identity = str(self._number).encode()
        self._engine.send(identity + b" " + command.encode() + b"\n")
        return identity

    def _ask(self, command: str) -> str:
        """Return the answer to a command that must succeed."""
        return self._answer(self._send(command), command)

    def _answer(self, identity: bytes, command: str, timeout: float = 60.0) -> str:
        reply, start = self._engine.reply(timeout), b"=" + identity + b" "
        if not reply.startswith(start):
            raise FramingError(f"{command!r} was answered {reply[:200]!r}, expected {start!r}")
        return reply[len(start) : -2].decode()

    def _expect(self, command: str, answer: str) -> None:
        found = self._ask(command)
        if found != answer:
            raise FramingError(f"{command!r} was answered {found!r}, expected {answer!r}")

    def _wait(self) -> None:
        """Wait for a random moment; often for none at all."""
        if self._random.random() < 0.8:
            time.sleep(self._random.random() ** 2 * self._longest_wait)

    def _interrupt(self, what: str, command: str, answer: str, check: Check | None = None) -> None:
        """Send a command in the middle of something and take the time until its whole reply.

        check: of the lines of an analysis, which end first.
        """
        started = time.monotonic()
        identity = self._send(command)
        if check is not None:
            self._lines(check, b"\n")
        found = self._answer(identity, command)
        self.report.latencies.setdefault(what, []).append(self._engine.arrival - started)
        if found != answer:
            raise FramingError(f"{command!r} was answered {found!r}, expected {answer!r}")

    def _analyze(self) -> None:
        """Begin an analysis, let it run, and end it by a command or by a bare newline."""
        color = self._random.choice((BLACK, WHITE))
        is_kata = self._random.random() < 0.6
        flags = [flag for flag in _FLAGS if is_kata and self._random.random() < 0.4]
        words = ["kata-analyze" if is_kata else "lz-analyze", color_letter(color), str(self._random.choice((1, 3, 10)))]
        words += [f"{flag} true" for flag in flags]
        if self._random.random() < 0.3:
            words.append(f"minmoves {self._random.randrange(1, 12)}")
        identity = self._send(" ".join(words))
        self._engine.line(b"=" + identity + b"\n")
        check = self._checker(color, is_kata, flags)
        self._wait()
        if self._random.random() < 0.5:
            self._interrupt("analysis", "name", self._name, check)
        else:
            self._engine.send(self._random.choice((b"\n", b"\r\n", b"# enough\n")))
            self._lines(check, b"\n")

    def _checker(self, color: int, is_kata: bool, flags: list[str]) -> Check:
        """Return what checks one line: its grammar, and that its moves can be played."""
        legal = {format_vertex(vertex, self._size, self._size) for vertex in [*self._game.legal_vertices(color), PASS]}

        def check(line: str) -> None:
            shape = self._size, self._size
            found = read_kata_line(line, *shape, *_present(line, flags)) if is_kata else read_lz_line(line, *shape)
            wrong = [move["move"] for move in found.moves if move["move"] not in legal]
            if wrong:
                raise FramingError(f"{wrong} cannot be played")
            self.report.lines += 1

        return check

    def _lines(self, check: Check, end: bytes) -> str:
        """Read and check the lines of an analysis up to the one that starts with `end`, and return that."""
        lines: list[str] = []
        while not (line := self._engine.line(b"info ", end)).startswith(end):
            lines.append(line[:-1].decode())
        for each in lines:
            check(each)
        return line[:-1].decode()

    def _play_own(self, color: int) -> None:
        """Let the engine move, with or without telling what it thinks."""
        if self._random.random() < 0.5:
            self._accept(color, self._ask(f"genmove {color_letter(color)}"))
            return
        is_kata = self._random.random() < 0.5
        name = "kata-genmove_analyze" if is_kata else "lz-genmove_analyze"
        identity = self._send(f"{name} {color_letter(color)} {self._random.choice((2, 1000))}")
        self._engine.line(b"=" + identity + b"\n")
        check, before = self._checker(color, is_kata, []), self.report.lines
        move = self._lines(check, b"play ").removeprefix("play ")
        self._engine.line(b"\n")
        if self.report.lines == before:
            raise FramingError(f"{name} told nothing before its move")
        self._accept(color, move)

    def _accept(self, color: int, move: str) -> None:
        """Put the engine's move on the own board. Raises IllegalMove."""
        self._game.play(color, parse_vertex(move, self._size, self._size))

    def _ponder(self) -> None:
        """Let the engine move and think on, then play for the other side in the middle of it."""
        color = self._game.to_play
        self._play_own(color)
        self._wait()
        self._engine.expect_silence(0.0)
        if self._game.is_over:
            return
        other = opponent(color)
        vertex = self._random.choice(self._game.legal_vertices(other) or [PASS])
        self._interrupt("pondering", f"play {color_letter(other)} {format_vertex(vertex, self._size, self._size)}", "")
        self._game.play(other, vertex)

    def _cancel(self) -> None:
        """Begin a search that may be cancelled, and cancel it, or be too late for that."""
        color = self._game.to_play
        if self._random.random() < 0.5:
            identity = self._send(f"kata-search_cancellable {color_letter(color)}")
            self._wait()
            self._engine.send(b"\n")
            self._check_move(self._answer(identity, "kata-search_cancellable"), color)
            return
        identity = self._send(f"kata-search_analyze_cancellable {color_letter(color)} 2")
        self._engine.line(b"=" + identity + b"\n")
        self._wait()
        self._engine.send(b"\n")
        move = self._lines(self._checker(color, True, []), b"play ").removeprefix("play ")
        self._check_move(move, color)
        self._engine.line(b"\n")

    def _check_move(self, move: str, color: int) -> None:
        if move != "cancelled" and not self._game.is_legal(color, parse_vertex(move, self._size, self._size)):
            raise FramingError(f"{move!r} cannot be played")


def _present(line: str, flags: list[str]) -> list[str]:
    """Return the flags without ownership if the whole line has none: not every evaluator knows it."""
    return flags if "wnership" in line else [flag for flag in flags if flag not in _OWNERS]


def main() -> int:
    """Stress the command that the arguments give; return 1 and say why where it errs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=9)
    parser.add_argument("--wait", type=float, default=0.5, help="the longest time between two lines, in seconds")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    with Controller(arguments.command) as engine:
        stress = Stress(engine, arguments.size, arguments.seed, arguments.wait)
        try:
            report = stress.run(arguments.cycles)
            engine.send(b"quit\n")
            if engine.reply() != b"= \n\n" or engine.expect_end(10.0) != 0:
                raise FramingError("no clean end")
        except (AssertionError, ValueError) as error:
            print(f"cycle {stress.report.cycles + 1}, seed {arguments.seed}: {error}", file=sys.stderr)
            return 1
    print(report.reported())
    return 0


if __name__ == "__main__":
    sys.exit(main())
