"""Commands that read and write game records."""

import logging
import re
from pathlib import Path

from engine.color import color_name
from engine.vertex import MAX_SIZE
from gtp.args import syntax_error
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import MIN_SIZE, GtpState, Handler

_QUOTED = re.compile(r"(?P<quote>[\"'])(?P<path>.+?)(?P=quote) *(?P<number>[^ \"']*)")
_CANNOT_LOAD = "cannot load file"
_MOST_WARNINGS = 5

log = logging.getLogger(__name__)


def loadsgf(state: GtpState, command: Command) -> str:
    """Load a file's position before move N, by default its last one; return the side to move."""
    from engine.records.sgf import load_sgf

    path, number = split_path(command.rest)
    try:
        record = load_sgf(path)
        # Komi comes from the file, but the rules are those that the controller or the user chose.
        komi = state.komi if record.komi is None else record.komi
        game = record.game(number, rules=state.rules, komi=komi)
    except (OSError, ValueError) as error:
        log.info("cannot load %s: %s", path, error)
        raise GtpError(_CANNOT_LOAD) from None
    if not (MIN_SIZE <= game.width <= MAX_SIZE and MIN_SIZE <= game.height <= MAX_SIZE):
        raise GtpError(_CANNOT_LOAD)
    if not state.can_play_on(game.width, game.height):
        log.warning("%s: the network does not know boards of %dx%d", path, game.width, game.height)
        raise GtpError(_CANNOT_LOAD)
    for warning in record.warnings[:_MOST_WARNINGS]:
        log.warning("%s: %s", path, warning)
    state.adopt(game)
    return color_name(game.to_play)


def split_path(text: str) -> tuple[Path, int | None]:
    """Split `FILE [N]` into path and move number. The path may contain spaces and may be quoted.

    If a file exists whose own name ends in a number, that number is not a move.
    """
    if not text:
        syntax_error()
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        number = quoted["number"]
        if number and not _is_move_number(number):
            syntax_error()
        return Path(quoted["path"]), int(number) if number else None
    path, _, number = text.rpartition(" ")
    # Unquoted paths may end in a number: an existing file decides.
    if path and _is_move_number(number) and not _exists(Path(text)):
        return Path(path.rstrip(" ")), int(number)
    return Path(text), None


def _is_move_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def printsgf(state: GtpState, command: Command) -> str:
    """Return the game as SGF (without arguments or with `-`), or write it to a file, whole or not at all."""
    from engine.records.sgf_writer import write_game
    from engine.support.files import require_regular, write_atomically

    text = write_game(state.game)
    if command.rest in ("", "-"):
        return text
    quoted = _QUOTED.fullmatch(command.rest)
    path = Path(quoted["path"] if quoted else command.rest)
    try:
        # A pipe that nobody reads would hold the session for ever.
        require_regular(path)
        write_atomically(path, text)
    except (OSError, ValueError):
        raise GtpError("cannot write file") from None
    return ""


COMMANDS: dict[str, Handler] = {
    "loadsgf": loadsgf,
    "printsgf": printsgf,
}
