"""Errors of a match as a whole."""


class MatchError(Exception):
    """A match cannot be started or continued; the message gives the reason."""
