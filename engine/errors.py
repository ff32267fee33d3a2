"""The errors about facts of the game of Go, one tree under `GoError`.

GoError(ValueError)
  BadVertex     text that is not a vertex of this board
  BadRules      text or JSON that is not a rule set
  BadSgf        a game record that cannot be read
  IllegalMove   a move that the rules in force forbid
"""


class GoError(ValueError):
    """The caller passed something that the game of Go does not allow."""


class BadVertex(GoError):
    """A text that is not a vertex of the board in use."""


class BadRules(GoError):
    """A text or JSON that is not a rule set, or has an unknown field or value."""


class BadSgf(GoError):
    """A game record that cannot be read; the message gives file, place and property."""


class IllegalMove(GoError):
    """A move that the rules in force forbid; the message gives the reason."""
