"""The facts about the mistakes of a game, from the analyses that the review has made."""

from collections.abc import Sequence
from dataclasses import replace

from engine.apps.review.analyzer import Analyzed
from engine.apps.review.games import ReviewGame
from engine.apps.review.judgement import JudgedMove
from engine.explain.facts import Measured, MoveFacts, move_facts, position_facts


def facts_of(game: ReviewGame, analyzed: Analyzed, mistakes: Sequence[JudgedMove]) -> dict[int, MoveFacts]:
    """Return the facts about moves by their numbers. Passes were not searched, so threats are not known."""
    by_turn = {mistake.number - 1: mistake for mistake in mistakes}
    found = {}
    for turn, position in enumerate(game.positions()):
        move = by_turn.get(turn)
        if move is not None:
            before = position_facts(position, move.color, _measured(analyzed, turn))
            facts = move_facts(position, (move.color, move.vertex), before, _measured(analyzed, turn + 1))
            # Setup stones in the middle of a record start a new game, whose moves are counted from there.
            found[move.number] = replace(facts, number=move.number)
    return found


def _measured(analyzed: Analyzed, turn: int) -> Measured:
    position = analyzed.positions[turn]
    owners = analyzed.owners(turn)
    return Measured(position.winrate, position.lead, position.visits, owners, position.pv, position.best)
