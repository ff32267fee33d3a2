"""Decides when a game should end: whether anything is left to gain under the rules in force."""

import numpy as np

from engine.board.area import area, new_scratch
from engine.board.tactics import breathes_after
from engine.color import BLACK, EMPTY, WHITE, for_color
from engine.game import Game
from engine.players.judge import Judgement
from engine.players.moves import moves_made, safe_liberties, safe_vertices
from engine.scoring import Owner, final_score, without_chains
from engine.vertex import neighbors, points, policy_index

# A pass is considered from half of the board's points on: 1 / 2.
_LATE_SHARE = 2
# Nobody passes before a fifth of the board's points is played, so dead stones do not matter until then: 1 / 5.
_EARLY_SHARE = 5


def is_early(game: Game) -> bool:
    """True if nobody passes yet."""
    return moves_made(game) < game.width * game.height // _EARLY_SHARE


def is_late(game: Game) -> bool:
    """True if a pass may be considered."""
    return moves_made(game) > game.width * game.height // _LATE_SHARE


def dead_matter(game: Game, color: int) -> bool:
    """True if the search needs the dead stones: a pass ends the game now or, by territory rules, within the tree."""
    return game.rules.may_agree and (game.pass_ends_phase(color) or not (game.rules.is_area or is_early(game)))


def agreed_dead(game: Game, judgement: Judgement) -> list[int]:
    """Return the dead stones that the players may remove by agreement."""
    return judgement.dead if game.rules.may_agree else []


def agreed_score(game: Game, judgement: Judgement) -> float:
    """Return the score, Black's view, if the game ended now and the players agreed on life and death."""
    return final_score(game, agreed_dead(game, judgement), judgement.seki)


def nothing_is_left(game: Game, color: int, judgement: Judgement) -> bool:
    """True if `color` can pass for good: every point is decided and none is open. A lost game counts as decided."""
    return is_settled(game, judgement) and not gains_anything(game, color, judgement)


def gains_anything(game: Game, color: int, judgement: Judgement) -> bool:
    """True if a color would give something away by passing."""
    return bool(open_points(game, color, judgement) or standing_dead(game, color, judgement))


def wins_as_it_stands(game: Game, color: int, judgement: Judgement) -> bool:
    """True if two passes now would win for `color`, with or without dead stones on the board."""
    wins_agreed = for_color(agreed_score(game, judgement), color) > 0
    # Under area rules a server may count dead stones as alive, so the win must hold both ways.
    return wins_agreed and (not game.rules.is_area or for_color(final_score(game), color) > 0)


def is_settled(game: Game, judgement: Judgement) -> bool:
    """True if every point has a sure owner, or lies for good between living stones of both colors.

    A neutral point that does not touch both colors, nor a seki, may still become territory: a border is open.
    """
    owner = _owner_without(game, judgement.dead)
    decided = np.abs(judgement.ownership) > judgement.sure
    dead, seki = set(judgement.dead), set(judgement.seki)
    for vertex in points(game.width, game.height):
        if owner[vertex] != EMPTY:
            if not decided[policy_index(vertex, game.width, game.height)]:
                return False
            continue
        beside = neighbors(vertex, game.width)
        touched = {game.color_at(each) for each in beside if each not in dead}
        # A neutral point between both colors is worth nothing to either; any other neutral point is an open border.
        if not (touched >= {BLACK, WHITE} or seki.intersection(beside)):
            return False
    return True


def wins_by_counting(game: Game, color: int, judgement: Judgement) -> bool:
    """True if a pass would end the game with a win for `color`, or if every point is settled and the count is a win."""
    if game.pass_ends_phase(color) and wins_as_it_stands(game, color, judgement):
        return True
    return is_settled(game, judgement) and for_color(agreed_score(game, judgement), color) > 0


def gains(game: Game, color: int, judgement: Judgement) -> list[int]:
    """Return the moves without which a color gives something away by passing.

    These are points between the colors, and liberties of dead enemy stones that cannot be removed by agreement.
    """
    captures = safe_liberties(game, color, standing_dead(game, color, judgement))
    return sorted({*open_points(game, color, judgement), *captures})


def open_points(game: Game, color: int, judgement: Judgement) -> list[int]:
    """Return the points between the colors where a stone is safe; none under territory rules."""
    if not game.rules.is_area:
        return []
    owner = _owner_without(game, judgement.dead)
    return [
        vertex
        for vertex in safe_vertices(game, color)
        if owner[vertex] == EMPTY and breathes_after(game.board, vertex, color)
    ]


def standing_dead(game: Game, color: int, judgement: Judgement) -> list[int]:
    """Return the dead enemy stones that count as alive while they stand, where they cannot be removed by agreement.

    Stones within sure territory are included: not every arbiter takes them for dead, and capturing them costs nothing.
    """
    # By agreement dead stones are removed without playing.
    if game.rules.may_agree:
        return []
    return [vertex for vertex in judgement.dead if game.color_at(vertex) != color]


def _owner_without(game: Game, dead: list[int]) -> Owner:
    """Return the owner of each vertex without the dead stones, EMPTY for points that touch both colors."""
    board = without_chains(game.board, dead)
    owner = np.zeros(board.shape[1], dtype=np.int8)
    area(board, game.rules.suicide, True, new_scratch(board), owner)
    return owner
