"""The two ways a GTP command ends without a reply text. Knows nothing of the engine's errors."""

SYNTAX_ERROR = "syntax error"
"""What the standard answers to arguments that cannot be read."""


class GtpError(Exception):
    """A command that failed; the text is the reply after `?`."""


class GtpQuit(Exception):
    """A `quit` command: answer it, then end the session."""
