"""Levels of play for people. Only the highest level searches; the others overlook moves.

A lower level draws a random subset of the moves, likely moves more often than unlikely ones, and plays the one with
the best prior: like a person who judges well but does not consider everything.
"""

VISIBILITY = (0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 1.2, 1.8, 5.0)
"""Exponent of each level from 1 on; a larger one hides fewer moves, see `engine.players.hidden_moves`."""
FULL_LEVEL = len(VISIBILITY) + 1
"""The level that searches and considers every move."""
