"""An engine that plays against itself for hours, its memory measured at every move.

Run `python -m tests.conformity.soak --hours 3 --sizes 9,19 --log FILE -- COMMAND...`. One process plays both
colors, game after game and size after size, each after some random moves, without which the games of a strong
network resemble each other. Every reply is checked, every move is judged by Keima's own rules, and each game adds a
line to the log (JSON), so that a run that is cut off has lost nothing. Prints the resident memory by hour; exits
with 1 on any failure.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.color import color_letter
from engine.game import Game
from engine.scoring import final_score
from engine.vertex import PASS, format_vertex, parse_vertex
from tests.conformity.driver import Controller, FramingError

_PAGE_UNITS = 1024
_START_SECONDS = 900.0
_MOST_MOVES_PER_POINT = 3


@dataclass(frozen=True)
class SoakGame:
    """One game: board size, moves, seconds, how it ended, and the engine's most resident memory in MiB."""

    size: int
    moves: int
    seconds: float
    ended: str
    memory: float
    hours: float


def resident_mebibytes(pid: int) -> float:
    """Return the resident memory of a process in MiB, 0 where the system does not tell."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    line = next((line for line in status.read_text().splitlines() if line.startswith("VmRSS")), "VmRSS 0 kB")
    return int(line.split()[1]) / _PAGE_UNITS


def play(engine: Controller, size: int, began: float, opening: int = 0, seed: int = 1) -> SoakGame:
    """Let the engine play one game against itself. Raises FramingError on any wrong answer.

    opening: random moves before it. seed: of these.
    """
    game, start, memory, ended = Game(size), time.monotonic(), 0.0, "passes"
    commands = [f"boardsize {size}", "clear_board", "komi 7.5", *_random_moves(game, opening, random.Random(seed))]
    for command in commands:
        _expect(engine.ask(command, _START_SECONDS), command)
    while [move.vertex for move in game.moves[-2:]] != [PASS, PASS]:
        if game.move_number > _MOST_MOVES_PER_POINT * size * size:
            raise FramingError(f"a game of {game.move_number} moves on {size}x{size}")
        command = f"genmove {color_letter(game.to_play)}"
        answer = _expect(engine.ask(command, _START_SECONDS), command).lower()
        memory = max(memory, resident_mebibytes(engine.process.pid))
        if answer == "resign":
            ended = "resign"
            break
        vertex = parse_vertex(answer, size, size)
        if not game.is_legal(game.to_play, vertex):
            raise FramingError(f"move {game.move_number + 1} {format_vertex(vertex, size, size)} is illegal")
        game.play(game.to_play, vertex)
    score = _expect(engine.ask("final_score", _START_SECONDS), "final_score")
    ended = f"{ended}, {score}, as it stands {final_score(game):+g}"
    return SoakGame(size, game.move_number, time.monotonic() - start, ended, memory, (time.monotonic() - began) / 3600)


def _random_moves(game: Game, count: int, generator: random.Random) -> Iterator[str]:
    """Play random moves and yield the command of each."""
    for _ in range(count):
        color, vertex = game.to_play, generator.choice(game.legal_vertices())
        game.play(color, vertex)
        yield f"play {color_letter(color)} {format_vertex(vertex, game.width, game.height)}"


def _expect(reply: str, command: str) -> str:
    if not reply.startswith("="):
        raise FramingError(f"{command} was answered {reply!r}")
    return reply[1:].strip()


def soak(engine: Controller, sizes: list[int], hours: float, opening: int, seed: int) -> Iterator[SoakGame]:
    """Yield games until the time is over."""
    began, number = time.monotonic(), 0
    while time.monotonic() - began < 3600 * hours:
        yield play(engine, sizes[number % len(sizes)], began, opening, seed + number)
        number += 1


def main() -> int:
    """Run from the command line; return 1 if the engine failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--sizes", default="9,19", help="board sizes in turn, such as 9,13,19")
    parser.add_argument("--opening", type=int, default=8, help="random moves before each game")
    parser.add_argument("--seed", type=int, default=1, help="of these")
    parser.add_argument("--log", type=Path, help="a file that gets a line for each game")
    parser.add_argument("command", nargs="+", help="the engine")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    games: list[SoakGame] = []
    with Controller(options.command) as engine:
        try:
            for game in soak(engine, sizes, options.hours, options.opening, options.seed):
                games.append(game)
                figures = f"{game.size}x{game.size}, {game.moves} moves, {game.ended}, {game.memory:.0f} MiB"
                print(f"{game.hours:6.2f} h, game {len(games)}: {figures}", flush=True)
                if options.log is not None:
                    with options.log.open("a", encoding="utf-8") as log:
                        log.write(json.dumps(asdict(game)) + "\n")
        except FramingError as error:
            print(f"after {len(games)} games: {error}", *engine.errors[-5:], sep="\n", file=sys.stderr)
            return 1
    for hour in range(int(games[-1].hours) + 1):
        memory = [game.memory for game in games if int(game.hours) == hour]
        if memory:
            print(f"hour {hour + 1}: {len(memory)} games, at most {max(memory):.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
