"""Names the columns of a row of facts: what neither a position's boards nor its last moves show.

Evaluators read them in kernels, and the search updates them from move to move. `engine.game` and the search define
their values.
"""

KO_NOW, KO_BEFORE, KO_EARLIER, PASS_EFFECT, IS_OVER, ALTERNATING, PHASE_TURNS, LEGAL_TURNS, BUTTON, PHASE = range(10)
"""Columns of a row of facts [FACTS] int16, with the semantics of KataGo's history object.

KO_NOW, KO_BEFORE, KO_EARLIER: simple ko point of the current board and of those one and two moves ago, NO_POINT if
there is none; always NO_POINT in clean-up phases.
PASS_EFFECT: effect of a pass, one of the constants below.
IS_OVER: 1 if the game is over, or past the end of its first phase.
ALTERNATING: number of last moves, up to MOST_TURNS, with colors that alternate up to the side to move.
PHASE_TURNS: number of those in the current phase; after the end of the game, only the move that ended it counts.
LEGAL_TURNS: moves, up to MOST_TURNS, since the last one that the rules forbid; as in PHASE_TURNS after an end.
BUTTON: 1 while a pass would take the button.
PHASE: 0 in normal play, 1 and 2 in the clean-up phases of territory rules.
"""
FACTS = 10
MOST_TURNS = 8

PASS_GOES_ON, PASS_ENDS_PHASE, PASS_ENDS_GAME, PASS_REPEATS = range(4)
"""A pass has no effect; ends a phase but not the game; ends the game as the second pass; ends the game because this
side has passed in the same situation before, or because the game is over already."""

MARKED, BANNED = 1, 2
"""Bits of a point. MARKED: a stone in a clean-up phase that may not be retaken yet. BANNED: an empty point that
repetition other than simple ko forbids to the side to move: by superko, or in a clean-up phase at a ko that the side
has taken before in this position."""
