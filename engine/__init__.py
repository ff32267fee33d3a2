"""Keima's engine: rules, board, network evaluation, search, clock and players.

Imports nothing by itself, so that the GTP handshake does not wait for numpy or numba.
"""

__version__ = "0.1.0"
