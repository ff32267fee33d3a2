"""What can be wrong with a match as a whole."""


class MatchError(Exception):
    """A match that cannot be started or gone on with; the text says why."""
