"""GTP: sessions of some forty lines, with Keima's search at two visits; one well-formed reply to every command."""

import io
import random
import re
from functools import cache
from typing import TYPE_CHECKING

from gtp.commands import HANDLERS, UNLISTED
from gtp.params import PARAMS
from gtp.protocol import decode, parse_command
from gtp.session import serve
from gtp.state import GtpState, SessionConfig
from tests.conformity.driver import FramingError, check_frame
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from engine.evaluators.rollout import RolloutEvaluator
    from engine.players import SearchPlayer

LINES = 40
_SIZES = ("2", "3", "5", "5", "5", "7", "9", "9 4", "2 25", "19", "25")
_WORDS = [
    *("b", "w", "black", "WHITE", "green", "pass", "PASS", "resign", "d4", "Q16", "a1", "T19", "z25", "i9", "j1", "aa"),
    *("0", "1", "2", "3", "5", "7", "9", "13", "19", "25", "26", "-1", "7.5", "-7.5", "1e2", "1e999", "nan", "inf"),
    *("1e308", "-1e308", "1e-308", "0.1", "400", "401", "2147483648", "9223372036854775808", "99999999999999999999"),
    *("dead", "alive", "seki", "true", "false", "chinese", "japanese", "aga", "new_zealand", "tromp-taylor", "ko"),
    *("button", "stone-scoring", "scoring", "tax", "AREA", "TERRITORY", "ALL", "friendlyPassOk", "whiteHandicapBonus"),
    *("none", "absolute", "byoyomi", "canadian", "fischer", "fischer-capped", "suicide", "all", "winrate", "ownership"),
    *("ownership true", "movesOwnership true", "rootInfo true", "pvVisits true", "maxmoves 1", "minmoves 3"),
    *("interval 1", "avoid b a1 9", "allow w b2,pass 3", "noResultValue true", "pvEdgeVisits true", "frame true"),
    "frame auto",
    *("no-such-file.sgf", '"no such file"', '{"ko":"SIMPLE"}', "{", "[]", "{}", '{"koRule":[]}', "%s%n", "é", "🀄"),
    *("'", '"', "\x1b[0m", "#", ";", "game", "private", "somebody", "=", "?", "-", "/", "//", "."),
]
_MORE_COMMANDS = ("nonsense", "=", "?", "", "999999999999999999999 name")
_COMMANDS = [*sorted((HANDLERS | UNLISTED).keys() - {"quit"}), *_MORE_COMMANDS, *("play", "genmove", "undo") * 8]
_WITH_STONES = ("play", "genmove", "set_position", "gogui-setup", "gogui-play_sequence")
_LONG = re.compile(r"max|visits|time|ponder", re.IGNORECASE)


def make(generator: random.Random) -> bytes:
    """Return the lines of one session, which begins on a small board more often than on a large one."""
    lines = [f"boardsize {generator.choice(_SIZES)}\n".encode()]
    return b"".join([*lines, *(_line(generator) for _ in range(LINES - 1))])


def _line(generator: random.Random) -> bytes:
    kind = generator.random()
    if kind < 0.04:
        return bytes(generator.choice([*range(10), *range(11, 256)]) for _ in range(generator.randrange(80))) + b"\n"
    if kind < 0.05:
        return b"play b " + b"x" * generator.randrange(20_000) + b"\n"
    if kind < 0.3:
        color, column, row = generator.choice("bw"), generator.choice("abcde"), generator.randrange(1, 6)
        return f"play {color} {column}{row}\n".encode()
    identity = generator.choice(["", "", "", "0 ", "7 ", "00012 ", "-3 ", "9" * 30 + " "])
    command = generator.choice(_COMMANDS)
    words = [_word(generator, command) for _ in range(generator.choice([0, 1, 1, 2, 2, 3, 4, 9]))]
    data = (identity + " ".join([command, *words])).encode()
    return data + generator.choice([b"\n", b"\n", b"\r\n", b" \t\n", b" # why\n"])


def _word(generator: random.Random, command: str) -> str:
    if "param" in command and generator.random() < 0.4:
        return generator.choice(list(PARAMS))
    if command in _WITH_STONES and generator.random() < 0.7:
        return generator.choice(["b", "w", f"{generator.choice('abcdeABCDE')}{generator.randrange(1, 6)}"])
    return generator.choice(_WORDS)


def allowed(data: bytes, most: int = 3 * LINES) -> bytes:
    """Return at most `most` lines, without `quit` and without those that write files or ask for long thinking."""
    return b"".join(line + b"\n" for line in data.split(b"\n")[:most] if _is_allowed(decode(line)))


def _is_allowed(line: str) -> bool:
    command = parse_command(line)
    if command is None:
        return True
    if command.name.startswith("kata-set-param"):
        return not _LONG.search(command.rest)
    if command.name == "kata-benchmark":
        return all(len(each) <= 2 for each in command.args)
    return command.name != "quit" and not (command.name == "printsgf" and command.args)


def expected_start(line: bytes) -> tuple[bytes, ...] | None:
    """Return how the reply to a line may start, or None if it gets no reply."""
    command = parse_command(decode(line))
    if command is None:
        return None
    # A reply that comes line by line has no space after its id.
    identity = command.id.encode()
    return (b"=%s " % identity, b"=%s\n" % identity, b"?%s " % identity)


def check_replies(data: bytes, written: bytes) -> int:
    """Check that each line has the replies it needs, and return the number of lines. Raises FramingError."""
    lines = data.split(b"\n")
    asked = [(line, start) for line in lines if (start := expected_start(line)) is not None]
    replies = re.findall(rb"(?s)[=?].*?\n\n", written)
    if b"".join(replies) != written:
        raise FramingError("there are bytes outside of replies")
    if len(replies) != len(asked):
        raise FramingError(f"{len(asked)} commands have {len(replies)} replies")
    for (line, starts), reply in zip(asked, replies, strict=True):
        if not reply.startswith(starts):
            raise FramingError(f"{line[:200]!r} was answered {reply[:200]!r}")
        if b"internal error" in reply:
            raise FramingError(f"{line[:200]!r} failed within: {reply[:300]!r}")
        if starts[1] != reply[: len(starts[1])]:
            check_frame(reply)
    return len(lines) - 1


@cache
def _evaluator() -> "RolloutEvaluator":
    from engine.evaluators.factory import open_rollouts

    return open_rollouts(1)


def _player(width: int, height: int) -> "SearchPlayer":
    from engine.players import SearchPlayer
    from engine.search.params import SearchParams

    # Few playouts to judge life and death: by default they take seconds on a large board, and mean to.
    return SearchPlayer(_evaluator(), SearchParams(seed=1, max_memory_mib=64, judge_visits=16))


def check(data: bytes) -> int:
    """Answer the lines of a session in this process."""
    data = allowed(data)
    sink = io.BytesIO()
    serve(GtpState(SessionConfig(width=5, height=5, visits=2), _player, HANDLERS), io.BytesIO(data), sink)
    return check_replies(data, sink.getvalue())


TARGET = Target(make, check, "lines", words=[each.encode() for each in (*_WORDS, *_COMMANDS)], memory=512.0)
