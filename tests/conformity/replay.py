"""Replays what a controller sends, in its order, and checks every answer: the scripts in `controllers/`.

A script is a text file of lines, each with a mark:

    engine: ARGUMENTS       of the engine under test, after its command
    ends: cr lf             the controller ends its lines with CR LF
    ## TEXT                 what the lines below it assert
    > COMMAND               sends a line at once, and does not wait
    moves C V C V..         sends each as `play C V` and checks that it is accepted
    = TEXT, ? TEXT          the whole answer to the oldest command without one, `\\n` between lines; `{CHECK}` is a
                            check by name, see `answers`
    : GRAMMAR N FLAGS | ORACLES   the answer begins to come in lines; reads N of them, all well formed
    .                       such an answer has ended, because a line was sent
    play GRAMMAR N FLAGS | ORACLES   an answer of lines that ends in a move by itself; at least N lines before
    wait SECONDS            does nothing for a while
    board C V.. / gone V..  stones that the controller's own board has, points that it has empty
    until pass N COMMAND    repeats a command for a move until its answer is a pass, at most N times
    silent                  nothing more comes unasked
    stderr REGEX, no-stderr REGEX   one line, or none, of the engine's stderr matches
    exit SECONDS            the engine is gone in time, with code 0
    # TEXT                  a comment

GRAMMAR is lz, kata or cgos. The controller's own board follows what was sent and answered, so that every move of the
engine is judged by the strictest rules that any server has: positional superko, no suicide.
"""

import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from engine.color import BLACK, EMPTY, color_letter
from engine.game import Game
from engine.rules import CHINESE_KGS
from engine.vertex import PASS, parse_vertex, points
from gtp.args import parse_color
from gtp.protocol import Command, parse_command
from tests.conformity.answers import CHECKS, Answer
from tests.conformity.driver import Controller
from tests.conformity.oracles import ORACLES
from tests.gtp.analysis_lines import read_kata_line, read_lz_line
from tests.waiting import wait_until

FOLDER = Path(__file__).parent / "controllers"
NAMES = sorted(path.stem for path in FOLDER.glob("*.txt"))
_CHECK = re.compile(r"\{([^{}]*)\}")
_START_SECONDS = 300.0
_SECONDS = 60.0


@dataclass
class Script:
    """One controller's replay. lines: (number, mark, text). assertions: what it says that it checks."""

    name: str
    engine: list[str] = field(default_factory=list)
    newline: str = "\n"
    lines: list[tuple[int, str, str]] = field(default_factory=list)
    assertions: list[str] = field(default_factory=list)


def read_script(name: str) -> Script:
    """Read a script by the name of its file. Raises ValueError where a line has no mark that is known."""
    script = Script(name)
    for number, line in enumerate((FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines(), 1):
        mark, _, text = line.partition(" ")
        if mark == "engine:":
            script.engine = text.split()
        elif mark == "ends:":
            script.newline = "\r\n" if text == "cr lf" else "\n"
        elif mark == "##":
            script.assertions.append(text)
        elif mark and mark != "#":
            if mark not in _MARKS:
                raise ValueError(f"{name}.txt:{number}: unknown mark {mark!r}")
            script.lines.append((number, mark, text))
    return script


_MARKS = {
    *(
        ">",
        "moves",
        "=",
        "?",
        ":",
        ".",
        "play",
        "wait",
        "board",
        "gone",
        "until",
        "silent",
        "stderr",
        "no-stderr",
        "exit",
    ),
}


class Replay:
    """One conversation with an engine, and the controller's own board."""

    def __init__(self, engine: Controller, script: Script) -> None:
        self.engine = engine
        size = script.engine[script.engine.index("--size") + 1] if "--size" in script.engine else "19"
        self.game = Game(int(size), rules=CHINESE_KGS)
        self.komi = 7.5
        self.previous = ""
        self._script = script
        self._waiting: list[Command] = []
        self._stream: tuple[str, list[str], list[str]] | None = None
        self._timeout = _START_SECONDS

    def run(self) -> None:
        """Go through the script. Raises AssertionError naming the line of the script that fails."""
        does = {
            ">": self._send,
            "moves": self._play_moves,
            "=": lambda text: self._expect("=", text),
            "?": lambda text: self._expect("?", text),
            ":": self._begin_stream,
            ".": lambda text: self._end_stream(),
            "play": self._expect_play,
            "wait": lambda text: time.sleep(float(text)),
            "board": self._has_stones,
            "gone": self._has_none,
            "until": self._until_pass,
            "silent": lambda text: self.engine.expect_silence(),
            "stderr": self._has_error_line,
            "no-stderr": self._has_no_error_line,
            "exit": self._has_left,
        }
        for number, mark, text in self._script.lines:
            try:
                does[mark](text)
            except (AssertionError, ValueError) as error:
                raise AssertionError(f"{self._script.name}.txt:{number}: {mark} {text}: {error}") from error

    def _send(self, text: str) -> None:
        self.engine.send(f"{text}{self._script.newline}".encode())
        command = parse_command(text)
        if command is not None:
            self._waiting.append(command)

    def _play_moves(self, text: str) -> None:
        words = text.split()
        for color, vertex in zip(words[::2], words[1::2], strict=True):
            self._send(f"play {color} {vertex}")
            self._expect("=", "")

    def _next(self) -> Command:
        assert self._waiting, "no command waits for an answer"
        return self._waiting.pop(0)

    def _expect(self, status: str, expected: str) -> None:
        """Check one whole answer."""
        if self._stream is not None:
            self._end_stream()
        command = self._next()
        reply = self.engine.reply(self._timeout).decode()
        start = f"{status}{command.id} "
        assert reply.startswith(start), f"{command.name}: expected {start!r}, got {reply[:200]!r}"
        text = reply[len(start) : -2]
        checks = _CHECK.findall(expected)
        if not checks:
            assert text == expected.replace("\\n", "\n"), f"{command.name}: expected {expected!r}, got {text[:200]!r}"
        for check in checks:
            name, *words = check.split(" ")
            CHECKS[name](self, Answer(command, text), words)
        self.previous = text
        if status == "=":
            self._follow(command)

    def _follow(self, command: Command) -> None:
        """Do on the own board what a command did on the engine's; moves of the engine are played by their checks."""
        name, args, game = command.name, command.args, self.game
        if name in ("boardsize", "rectangular_boardsize"):
            self.game = Game(int(args[0]), int(args[-1]), rules=game.rules, komi=self.komi)
        elif name in ("clear_board", "set_position"):
            self.game = Game(game.width, game.height, rules=game.rules, komi=self.komi)
        elif name == "komi":
            self.komi = float(args[0])
            game.set_komi(self.komi)
        elif name in ("play", "gogui-play_sequence"):
            for color, vertex in zip(args[::2], args[1::2], strict=True):
                game.play(parse_color(color), self.vertex(vertex), lenient=True)
        elif name in ("undo", "gg-undo"):
            for _ in range(int(args[0]) if args else 1):
                game.undo()
        elif name == "set_free_handicap":
            game.place_handicap([self.vertex(text) for text in args])
        if name in ("gogui-setup", "set_position"):
            stones = [(parse_color(c), self.vertex(v)) for c, v in zip(args[::2], args[1::2], strict=True)]
            black, white = ([v for c, v in stones if (c == BLACK) == side] for side in (True, False))
            self.game.setup(black, white, BLACK)

    def vertex(self, text: str) -> int:
        """Return the vertex that a text names on the own board. Raises BadVertex."""
        return parse_vertex(text, self.game.width, self.game.height)

    def accept(self, color: int, text: str) -> None:
        """Play a move of the engine on the own board, after judging it by the strictest rules."""
        if text == "resign":
            return
        assert text == "pass" or text == text.upper(), f"{text!r} is neither a vertex in capitals nor pass"
        vertex = self.vertex(text)
        strict = self.game.copy()
        strict.set_rules(CHINESE_KGS)
        reason = strict.legality(color, vertex)
        assert reason is None, f"{text} is illegal for {color_letter(color)}: {reason}"
        self.game.play(color, vertex)

    def _begin_stream(self, text: str) -> None:
        """Check the head of an answer that comes in lines, and the first lines."""
        if self._stream is not None:
            self._end_stream()
        command, (grammar, count, flags, oracles) = self._next(), _stream_of(text)
        self._head(command)
        self._stream = grammar, flags, oracles
        for _ in range(count):
            self._check_line(self.engine.line(b"info ", timeout=self._timeout)[:-1].decode())

    def _head(self, command: Command) -> None:
        head = f"={command.id}\n".encode()
        got = self.engine.line(timeout=self._timeout)
        assert got == head, f"expected {head!r}, got {got!r}"

    def _check_line(self, line: str) -> None:
        assert self._stream is not None
        grammar, flags, oracles = self._stream
        size = self.game.width, self.game.height
        if grammar == "kata":
            read_kata_line(line, *size, *flags)
        elif grammar == "lz":
            read_lz_line(line, *size)
        for oracle in oracles:
            ORACLES[oracle](line, *size)

    def _end_stream(self) -> None:
        """Read on to the blank line."""
        while (line := self.engine.line(b"info ", b"\n")) != b"\n":
            self._check_line(line[:-1].decode())
        self._stream = None

    def _expect_play(self, text: str) -> None:
        """Check an answer whose last line is the move."""
        if self._stream is not None:
            self._end_stream()
        command, (grammar, count, flags, oracles) = self._next(), _stream_of(text)
        self._head(command)
        self._stream = grammar, flags, oracles
        lines: list[str] = []
        while not (line := self.engine.line(timeout=self._timeout)[:-1].decode()).startswith("play "):
            self._check_line(line)
            lines.append(line)
        self._stream = None
        assert len(lines) >= count, f"{len(lines)} lines before the move"
        assert self.engine.line() == b"\n", "no blank line after the move"
        color = parse_color(command.args[0]) if command.args else self.game.to_play
        move = line.removeprefix("play ")
        if move == "cancelled":
            assert command.name.endswith("_cancellable"), f"{command.name} cannot be cancelled"
        elif not command.name.startswith("kata-search"):
            self.accept(color, move)

    def _has_stones(self, text: str) -> None:
        color, *names = text.split()
        for name in names:
            found = self.game.color_at(self.vertex(name))
            assert found == parse_color(color), f"{name} has color {found}"

    def _has_none(self, text: str) -> None:
        standing = [name for name in text.split() if self.game.color_at(self.vertex(name)) != EMPTY]
        assert not standing, f"{standing} are still on the board"

    def _until_pass(self, text: str) -> None:
        _, most, *words = text.split()
        for _ in range(int(most)):
            self._send(" ".join(words))
            self._expect("=", "{move}")
            if self.game.moves and self.game.moves[-1].vertex == PASS:
                return
            other = color_letter(self.game.to_play)
            self._send(f"play {other} pass")
            self._expect("=", "")
        raise AssertionError(f"no pass after {most} moves")

    def _has_error_line(self, pattern: str) -> None:
        try:
            wait_until(lambda: self._error_lines(pattern), 20.0)
        except TimeoutError:
            raise AssertionError(f"no such line in {self.engine.errors[-20:]!r}") from None

    def _has_no_error_line(self, pattern: str) -> None:
        found = self._error_lines(pattern)
        assert not found, f"{found[0]!r} on stderr"

    def _error_lines(self, pattern: str) -> list[str]:
        lines = [line.decode("utf-8", "replace").rstrip("\n") for line in list(self.engine.errors)]
        return [line for line in lines if re.search(pattern, line)]

    def _has_left(self, seconds: str) -> None:
        assert not self._waiting, f"no answer was read to {[command.name for command in self._waiting]}"
        code = self.engine.expect_end(float(seconds))
        assert code == 0, f"exit code {code}"

    def stones(self) -> set[int]:
        """Return the occupied points of the own board."""
        return {v for v in points(self.game.width, self.game.height) if self.game.color_at(v) != EMPTY}


def _stream_of(text: str) -> tuple[str, int, list[str], list[str]]:
    """Return (grammar, count, flags, oracles) of `GRAMMAR N FLAGS | ORACLES`."""
    asked, _, oracles = text.partition("|")
    grammar, count, *flags = asked.split()
    return grammar, int(count), flags, oracles.split()
