"""In whose view a program tells its analyses: the mover's where it takes that, else the one that its answers show."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from engine.color import BLACK, WHITE
from engine.game import Game
from engine.programs.answers import AnalysisAnswer
from engine.programs.follower import Follower

_DECIDED_KOMI = -100.0
"""With it Black has won an empty board, whoever is to move; KataGo takes no less than -150."""


class View(Enum):
    """Whose winrates, leads and points an analysis tells."""

    MOVER = "the side to move"
    BLACK = "Black"
    WHITE = "White"


_SHOWN = {(True, False): View.MOVER, (True, True): View.BLACK, (False, False): View.WHITE}
"""By whether Black's winning position is told as won with Black to move, and with White to move."""


def ask_for_movers(follower: Follower) -> View | None:
    """Ask a running program for the view of the side to move; None if it does not take that. Raises ProgramFailure."""
    takes = follower.lists("kata-set-param")
    return View.MOVER if takes and follower.ask("kata-set-param reportAnalysisWinratesAs SIDETOMOVE").ok else None


def shown_view(winrate: Callable[[Game], float | None], like: Game) -> View | None:
    """Return the view of a program's winrates, None where they show none.

    winrate: what the program says of a position. like: a game on the board and by the rules to ask about.
    """
    told = []
    for color in (BLACK, WHITE):
        game = Game(like.width, like.height, rules=like.rules, komi=_DECIDED_KOMI)
        game.setup([], to_play=color)
        told.append(winrate(game))
    black, white = told
    return None if black is None or white is None else _SHOWN.get((black > 0.5, white > 0.5))


def for_mover(answer: AnalysisAnswer, view: View, to_play: int) -> AnalysisAnswer:
    """Return an answer in the view of the side to move."""
    if view is View.MOVER or (view is View.BLACK) == (to_play == BLACK):
        return answer
    candidates = tuple(
        replace(each, winrate=_complement(each.winrate), lead=_negative(each.lead)) for each in answer.candidates
    )
    ownership = None if answer.ownership is None else -answer.ownership
    return replace(
        answer,
        candidates=candidates,
        winrate=_complement(answer.winrate),
        score=_negative(answer.score),
        ownership=ownership,
    )


def _complement(winrate: float | None) -> float | None:
    return None if winrate is None else 1 - winrate


def _negative(points: float | None) -> float | None:
    return None if points is None else -points
