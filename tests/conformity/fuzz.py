"""Random and mutated GTP: one well-formed reply to every command, and the engine lives on.

Run `python -m tests.conformity.fuzz --lines 100000 --seed 1 -- COMMAND...` against any engine.
"""

import argparse
import random
import sys
from collections.abc import Iterator

from gtp.protocol import decode, parse_command
from tests.conformity.driver import Controller, FramingError

_WORDS = [
    *("b", "w", "black", "WHITE", "green", "pass", "PASS", "resign", "d4", "Q16", "a1", "T19", "z25", "i9", "j1", "aa"),
    *("0", "1", "2", "3", "5", "7", "9", "13", "19", "25", "26", "-1", "7.5", "-7.5", "1e2", "1e999", "nan", "inf"),
    *("dead", "alive", "seki", "true", "false", "chinese", "japanese", "aga", "new_zealand", "tromp-taylor", "ko"),
    *("none", "absolute", "byoyomi", "canadian", "fischer", "fischer-capped", "suicide", "99999999999999999999"),
    *("cpuctExploration", "lagBuffer", '{"analysisPVLen":5}', "reportAnalysisWinratesAs"),
    *("no-such-file.sgf", '"no such file"', '{"ko":"SIMPLE"}', "{", "%s%n", "é", "🀄", "'", "\x1b[0m", "#", ";"),
]
_COMMANDS = [
    *("protocol_version", "name", "version", "known_command", "list_commands", "boardsize", "rectangular_boardsize"),
    *("clear_board", "komi", "get_komi", "play", "play", "play", "play", "genmove", "reg_genmove", "undo", "gg-undo"),
    *("showboard", "fixed_handicap", "place_free_handicap", "set_free_handicap", "time_settings", "time_left"),
    *("final_score", "final_status_list", "loadsgf", "printsgf", "kgs-rules", "kata-get-rules", "kata-set-rules"),
    *("kata-set-rule", "cputime", "gomill-cpu_time", "kata-time_settings", "kata-list_time_settings"),
    *("kgs-time_settings", "kata-search", "kata-search_cancellable", "kata-list-params", "kata-get-param"),
    *("kata-get-params", "kata-set-param", "kata-set-params", "stop", "clear_cache", "nonsense", "=", "?", ""),
    *("set_position", "gogui-play_sequence", "gogui-setup", "gogui-setup_player", "gogui-title", "keima-atari"),
    *("gogui-analyze_commands", "keima-ladders", "keima-pass_alive", "keima-params", "keima-rules", "echo", "help"),
    *("list_stones", "color", "countlib", "findlib", "is_legal", "all_legal", "captures", "last_move", "trymove"),
    *("move_history", "get_handicap", "query_boardsize", "final_status", "new_score", "unconditional_status", "popgo"),
    *("restricted_genmove", "gg_genmove", "kgs-chat", "kgs-game_over", "cgos-gameover", "gomill-explain_last_move"),
]
_SMALL_BOARD = b"boardsize 5\n"
_BURST = 40


def fuzz_lines(count: int, seed: int) -> Iterator[bytes]:
    """Yield input lines; never `quit`, and never one that writes a file."""
    generator = random.Random(seed)
    for number in range(count):
        line = _SMALL_BOARD if number % 50 == 0 else _line(generator)
        command = parse_command(decode(line))
        if command is None or not (command.name == "quit" or (command.name == "printsgf" and command.args)):
            yield line


def _line(generator: random.Random) -> bytes:
    kind = generator.random()
    if kind < 0.04:
        return bytes(generator.choice([*range(10), *range(11, 256)]) for _ in range(generator.randrange(80))) + b"\n"
    if kind < 0.05:
        return b"play b " + b"x" * generator.randrange(20_000) + b"\n"
    if kind < 0.25:
        color, column, row = generator.choice("bw"), generator.choice("abcde"), generator.randrange(1, 6)
        return f"play {color} {column}{row}\n".encode()
    identity = generator.choice(["", "", "", "0 ", "7 ", "00012 ", "-3 ", "9" * 30 + " "])
    words = [generator.choice(_WORDS) for _ in range(generator.choice([0, 1, 1, 2, 2, 3, 4, 9]))]
    data = (identity + " ".join([generator.choice(_COMMANDS), *words])).encode()
    if kind < 0.45:
        data = _mutated(data, generator)
    return data + generator.choice([b"\n", b"\n", b"\r\n", b" \t\n", b" # why\n"])


def _mutated(data: bytes, generator: random.Random) -> bytes:
    """Return bytes with a few changed, dropped, or doubled; none becomes a newline."""
    changed = bytearray(data)
    for _ in range(generator.randrange(1, 4)):
        if not changed:
            break
        place = generator.randrange(len(changed))
        action = generator.randrange(3)
        if action == 0:
            changed[place] = generator.choice([*range(10), *range(11, 256)])
        elif action == 1:
            del changed[place]
        else:
            changed[place:place] = changed[place : place + 5]
    return bytes(changed)


def expected_start(line: bytes) -> tuple[bytes, ...] | None:
    """Return how the reply to a line may start, or None if it gets no reply."""
    command = parse_command(decode(line))
    if command is None:
        return None
    return (b"=%s " % command.id.encode(), b"?%s " % command.id.encode())


def run_fuzz(engine: Controller, lines: int, seed: int, timeout: float = 60.0) -> int:
    """Send lines in bursts and check every reply; return the number of replies. Raises FramingError."""
    waiting: list[tuple[bytes, tuple[bytes, ...]]] = []
    replies = 0
    for line in [*fuzz_lines(lines, seed), b"999 protocol_version\n"]:
        start = expected_start(line)
        engine.send(line)
        if start is not None:
            waiting.append((line, start))
        if len(waiting) >= _BURST or line.startswith(b"999"):
            for sent, allowed in waiting:
                reply = engine.reply(timeout)
                if not reply.startswith(allowed):
                    raise FramingError(f"{sent[:200]!r} was answered {reply[:200]!r}")
                if b"internal error" in reply:
                    raise FramingError(f"{sent[:200]!r} failed within: {reply[:200]!r}")
            replies += len(waiting)
            waiting.clear()
    engine.expect_silence()
    if engine.process.poll() is not None:
        raise FramingError("the engine has gone")
    return replies


def main() -> int:
    """Fuzz the command that the arguments give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds to wait for one reply")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    with Controller(arguments.command) as engine:
        replies = run_fuzz(engine, arguments.lines, arguments.seed, arguments.timeout)
    print(f"{arguments.lines} lines, seed {arguments.seed}: {replies} replies, all well formed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
