"""The conformity suite: every controller's replay, the transcripts, and a walk of undos, against any engine.

`tests/conformity/test_controllers.py` runs it against the sources, `tests/binary` against the frozen program.
Run `python -m tests.conformity.suite` to list what it asserts.
"""

import random
from collections.abc import Sequence
from pathlib import Path

from engine.color import BLACK, WHITE, color_letter
from engine.game import Game
from engine.handicap import fixed_handicap_points
from engine.vertex import format_sgf, format_vertex, points
from tests.conformity.driver import Controller
from tests.conformity.replay import FOLDER, NAMES, Replay, read_script
from tests.conformity.transcripts import read_transcript

TRANSCRIPTS = ("admin", "errors", "survival")
"""Those whose answers hang on no player."""
_START_SECONDS = 300.0


def replay_controller(name: str, program: Sequence[str]) -> None:
    """Let one controller talk to a program, which is Keima's command without arguments. Raises AssertionError."""
    script = read_script(name)
    with Controller([*program, "gtp", *script.engine], cwd=FOLDER) as engine:
        Replay(engine, script).run()


def replay_transcript(name: str, program: Sequence[str]) -> None:
    """Check that a program gives the exact answers of a transcript. Raises AssertionError."""
    with Controller([*program, "gtp", "--net", "none", "--size", "9"]) as engine:
        for command, reply in read_transcript(name):
            found = engine.ask(command, _START_SECONDS)
            assert found == reply, f"{command!r} was answered {found!r}, expected {reply!r}"


def walk(program: Sequence[str], steps: int, seed: int, size: int = 7) -> None:
    """Play and take back at random, and compare the stones with the own board's after every step."""
    generator, game = random.Random(seed), Game(size)
    with Controller([*program, "gtp", "--net", "none", "--size", str(size)]) as engine:
        for _ in range(steps):
            if game.moves and generator.random() < 0.3:
                count = generator.randrange(1, min(4, game.move_number) + 1)
                command = "undo" if count == 1 else f"gg-undo {count}"
                for _ in range(count):
                    game.undo()
            else:
                color = generator.choice((BLACK, WHITE))
                vertex = generator.choice([*game.legal_vertices(color), 0])
                command = f"play {color_letter(color)} {format_vertex(vertex, size, size)}"
                game.play(color, vertex)
            assert engine.ask(command, _START_SECONDS) == "= \n\n", command
            for color in (BLACK, WHITE):
                names = [format_vertex(v, size, size) for v in points(size, size) if game.color_at(v) == color]
                found = engine.ask(f"list_stones {color_letter(color)}")
                assert found == f"= {' '.join(names)}\n\n", f"{command}: {found!r}, expected {names}"


def every_handicap(program: Sequence[str], folder: Path, size: int = 9) -> None:
    """Give 2 to 9 stones in every way that controllers do, and compare the score: White gets a point for each.

    folder: for records, which some controllers hand over.

    White is to move after stones that are set up or placed; after `play` it is the opponent of the last mover anyway.
    """
    options = ["--net", "none", "--size", str(size), "--komi", "0.5", "--rules", "chinese-kgs"]
    with Controller([*program, "gtp", *options, "--set", "judge_visits=16"]) as engine:
        for number in range(2, 10):
            fixed = fixed_handicap_points(number, size, size)
            names = [format_vertex(vertex, size, size) for vertex in fixed]
            record = folder / f"{number}.sgf"
            marks = "".join(f"[{format_sgf(vertex, size)}]" for vertex in fixed)
            record.write_text(f"(;GM[1]FF[4]SZ[{size}]HA[{number}]KM[0.5]RU[Chinese]AB{marks})")
            ways = {
                "record": [f"loadsgf {record}"],
                "fixed": [f"fixed_handicap {number}"],
                "free": [f"place_free_handicap {number}"],
                "given": [f"set_free_handicap {' '.join(names).lower()}"],
                "set up": [f"gogui-setup {' '.join(f'b {name}' for name in names)}", "gogui-setup_player w"],
                "position": [f"set_position {' '.join(f'b {name}' for name in names)}", "gogui-setup_player w"],
                "played": [f"play b {name}" for name in names],
                "played with passes": [f"play {each}" for name in names for each in (f"b {name}", "w pass")][:-1],
            }
            for way, commands in ways.items():
                for command in ("clear_board", *commands):
                    reply = engine.ask(command, _START_SECONDS)
                    assert reply.startswith("= "), f"{command}: {reply!r}"
                assert engine.ask("get_handicap") == f"= {number}\n\n", way
                assert len(engine.ask("list_stones b").split()) == number + 1
                assert "to play: white" in engine.ask("showboard"), way
                for command in ("play w pass", "play b pass"):
                    assert engine.ask(command) == "= \n\n", f"{way}: {command}"
                reported = engine.ask("final_score", _START_SECONDS)
                assert reported == f"= B+{size * size - 0.5 - number:g}\n\n", f"{number} stones, {way}: {reported!r}"


def assertions() -> list[tuple[str, str]]:
    """Return (script, assertion) for everything that the replays say they check."""
    return [(name, text) for name in NAMES for text in read_script(name).assertions]


if __name__ == "__main__":
    for script, assertion in assertions():
        print(f"{script}: {assertion}")
