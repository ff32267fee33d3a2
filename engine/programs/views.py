"""Determines a program's point of view in analyses: the mover's if it can be set, else found by asking."""

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from engine.color import BLACK, WHITE, for_color, opponent, winrate_for_color
from engine.game import Game
from engine.programs.answers import AnalysisAnswer
from engine.programs.follower import Follower

# With this komi Black has won an empty board; KataGo accepts no less than -150.
_DECIDED_KOMI = -100.0


class View(Enum):
    """The point of view of winrates, leads and points in an analysis."""

    MOVER = "the side to move"
    BLACK = "Black"
    WHITE = "White"


# Keys: whether Black's won position is reported as won with Black to move, and with White to move.
_SHOWN = {(True, False): View.MOVER, (True, True): View.BLACK, (False, False): View.WHITE}


def ask_for_movers(follower: Follower) -> View | None:
    """Set a running program to the view of the side to move; None if it cannot. Raises ProgramFailure."""
    takes = follower.lists("kata-set-param")
    return View.MOVER if takes and follower.ask("kata-set-param reportAnalysisWinratesAs SIDETOMOVE").ok else None


def shown_view(winrate: Callable[[Game], float | None], like: Game) -> View | None:
    """Find the point of view of a program's winrates, None if they are inconclusive.

    winrate: returns the program's winrate of a position. like: a game whose board and rules are used.
    """
    winrates = []
    for color in (BLACK, WHITE):
        game = Game(like.width, like.height, rules=like.rules, komi=_DECIDED_KOMI)
        game.setup([], to_play=color)
        winrates.append(winrate(game))
    # One position with each side to move: the three points of view differ in at least one answer.
    black, white = winrates
    return None if black is None or white is None else _SHOWN.get((black > 0.5, white > 0.5))


def for_mover(answer: AnalysisAnswer, view: View, to_play: int) -> AnalysisAnswer:
    """Convert an answer to the view of the side to move."""
    if view is View.MOVER:
        return answer
    # A figure in White's view is the opposite of Black's, so it becomes the mover's as Black's becomes the opponent's.
    color = to_play if view is View.BLACK else opponent(to_play)

    def winrate(figure: float | None) -> float | None:
        return None if figure is None else winrate_for_color(figure, color)

    def points(figure: float | None) -> float | None:
        return None if figure is None else for_color(figure, color)

    return replace(
        answer,
        candidates=tuple(
            replace(each, winrate=winrate(each.winrate), lead=points(each.lead)) for each in answer.candidates
        ),
        winrate=winrate(answer.winrate),
        score=points(answer.score),
        ownership=None if answer.ownership is None else for_color(answer.ownership, color),
    )
