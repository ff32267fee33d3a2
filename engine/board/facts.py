"""The numbers about a position that neither its boards nor its last moves tell, as columns of one row.

An evaluator reads them in kernels, the search changes them from move to move. Which position has
which is `engine.game`'s and the search's to say.
"""

KO_NOW, KO_BEFORE, KO_EARLIER, PASS_EFFECT, IS_OVER, ALTERNATING, PHASE_TURNS, LEGAL_TURNS, BUTTON, PHASE = range(10)
"""Columns of a row of facts [FACTS] int16, all as KataGo's history object knows them.

KO_NOW, KO_BEFORE, KO_EARLIER: simple ko point of the present board and of those one and two moves ago,
    NO_POINT where there is none; outside the game's first phase there never is one.
PASS_EFFECT: what a pass would do, one of the constants below.
IS_OVER: 1 if the game is over, or past the end of its first phase.
ALTERNATING: last moves, up to MOST_TURNS, whose colors alternate up to the side to move.
PHASE_TURNS: those of them that belong to the present phase; the move that ended the game counts, none before it.
LEGAL_TURNS: moves up to MOST_TURNS since the last one that the rules forbid; as in PHASE_TURNS after an end.
BUTTON: 1 while a pass would take the button.
PHASE: 0 for the game proper, 1 and 2 for the clean-up phases of territory rules.
"""
FACTS = 10
MOST_TURNS = 8

PASS_GOES_ON, PASS_ENDS_PHASE, PASS_ENDS_GAME, PASS_REPEATS = range(4)
"""A pass ends nothing; ends a phase but not the game; ends the game as the second pass; ends the
game because this side has passed in this very situation before, or because it is over already."""

MARKED, BANNED = 1, 2
"""Bits of a point: a stone in a clean-up phase that may not be retaken yet; an empty point that
repetition other than the simple ko forbids to the side to move, which is superko or, in a clean-up
phase, a ko that the side has taken before in this position."""
