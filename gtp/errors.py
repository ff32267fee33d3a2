"""The two exceptions that end a GTP command without a reply text. Independent of the engine's errors."""

SYNTAX_ERROR = "syntax error"
"""The standard's error message for unreadable arguments."""


class GtpError(Exception):
    """A command failed; the text is the reply after `?`."""


class GtpQuit(Exception):
    """The command `quit`: reply, then end the session."""
