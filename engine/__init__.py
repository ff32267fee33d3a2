"""Keima's engine: rules, board, encoders, networks, evaluation, search, clock, players, training and applications.

Importing this package imports nothing else, so that the GTP handshake never waits for numpy or numba.
"""

__version__ = "0.1.0"
