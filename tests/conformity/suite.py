"""The conformity suite: every controller's replay, the transcripts, and a walk of undos, against any engine.

`tests/conformity/test_controllers.py` runs it against the sources, `tests/binary` against the frozen program.
Run `python -m tests.conformity.suite` to list what it asserts.
"""

import random
from collections.abc import Sequence

from engine.color import BLACK, WHITE, color_letter
from engine.game import Game
from engine.vertex import format_vertex, points
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


def assertions() -> list[tuple[str, str]]:
    """Return (script, assertion) for everything that the replays say they check."""
    return [(name, text) for name in NAMES for text in read_script(name).assertions]


if __name__ == "__main__":
    for script, assertion in assertions():
        print(f"{script}: {assertion}")
