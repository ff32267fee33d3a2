"""What a GTP program says of a finished game: its score, its dead stones, and the count that follows from these.

A record tells a margin and no dead stones. It can be wrong for the position that it ends with: the players marked
stones by mistake, passed before the last point was played, or the server counted otherwise. Whether a margin can be
right is therefore asked of other programs: it is confirmed if one of them names dead stones without which a literal
count gives it. What the engine says has no part in that.
"""

from dataclasses import dataclass

from engine.programs.answers import parse_score
from engine.vertex import parse_vertex
from tests.conformity.driver import Controller
from tests.scores.count import literal_score
from tests.scores.games import FinishedGame

_PATIENCE = 900.0
_OPTIONAL = ("kata-set-rules",)


@dataclass(frozen=True)
class Opinion:
    """A program's score, Black minus White, its dead stones, and what is counted without them."""

    score: float
    dead: frozenset[int]
    literal: float


def reply_to(program: Controller, command: str) -> str:
    """Return the text of a reply that must be no error."""
    reply = program.ask(command, _PATIENCE)
    if not reply.startswith("="):
        raise RuntimeError(f"{command}: {reply.strip()}")
    return reply[1:].strip()


def set_up(program: Controller, finished: FinishedGame) -> None:
    """Lead a program to the final position; only Keima and KataGo have to know the rules by name."""
    for command in finished.commands:
        if not command.startswith(_OPTIONAL) or reply_to(program, f"known_command {command.split()[0]}") == "true":
            reply_to(program, command)


def opinion(program: Controller, finished: FinishedGame) -> Opinion:
    """Ask a program that stands at the final position."""
    game = finished.game
    score = parse_score(reply_to(program, "final_score"))
    if score is None:
        raise RuntimeError(f"{finished.name}: no score")
    dead, seki = (
        frozenset(
            parse_vertex(name, game.width, game.height)
            for name in reply_to(program, f"final_status_list {fate}").split()
        )
        for fate in ("dead", "seki")
    )
    return Opinion(score, dead, literal_score(game, dead, seki))
