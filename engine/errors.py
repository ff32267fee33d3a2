"""The errors that Go facts raise, one tree under `GoError`.

GoError(ValueError)
  BadVertex     text that names no vertex of this board
  BadRules      text or JSON that names no rule set
  BadSgf        a game record that cannot be read
  IllegalMove   a move that the rules in force forbid
"""


class GoError(ValueError):
    """A fact about the game of Go that the caller got wrong."""


class BadVertex(GoError):
    """Text that names no vertex of the board in use."""


class BadRules(GoError):
    """Text or JSON that names no rule set, or an unknown field or value of one."""


class BadSgf(GoError):
    """A game record that cannot be read; the text names file, place and property."""


class IllegalMove(GoError):
    """A move that the rules in force forbid; the text says why."""
