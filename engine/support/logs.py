"""Configures where the program's own messages go."""

import logging
import sys


def start_logging(level: str) -> None:
    """Log to stderr; stdout belongs to the command's output."""
    logging.basicConfig(stream=sys.stderr, level=level.upper(), format="keima: %(levelname)s: %(name)s: %(message)s")
