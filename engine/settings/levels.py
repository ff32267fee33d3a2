"""Levels of play for people: weaker ones do not think, and overlook moves.

A level below the full one glances at a few points, sees plain moves more often than strange ones, and plays at once
the best that it sees. So it plays as somebody who knows what is good where they look, and does not look everywhere.
"""

VISIBILITY = (0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 1.2, 1.8, 5.0)
"""By level, from 1 on: how much of what there is to see it sees, see `engine.players.hidden_moves`."""
FULL_LEVEL = len(VISIBILITY) + 1
"""The level that thinks as long as it may, and overlooks nothing."""
