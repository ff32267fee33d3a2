"""Levels of play for people: weaker ones do not search, and overlook moves.

A level below the full one considers a random subset of the moves, likely moves more often than unlikely ones, and plays
the best of them at once: like a person who judges well but does not consider everything.
"""

VISIBILITY = (0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 1.2, 1.8, 5.0)
"""By level, from 1 on: the exponent that decides how many moves are considered, see `engine.players.hidden_moves`."""
FULL_LEVEL = len(VISIBILITY) + 1
"""The level that searches as long as it may, and overlooks nothing."""
