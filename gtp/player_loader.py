"""The seat of the one player of a session: loaded in the background, waited for, stopped, closed."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gtp.errors import GtpError

if TYPE_CHECKING:
    from engine.players import Player

PlayerFactory = Callable[[int, int], "Player"]
"""Makes a player who will first be asked about boards of a width and height."""

_HEAD_START = 0.15
"""Seconds that loading waits for the handshake: importing numpy and numba holds the interpreter, and
a controller's first `name` is to be answered at once. Needing the player ends the wait."""
_GLANCE = 0.02
"""Seconds between looks at whether somebody still waits for the player."""

log = logging.getLogger(__name__)


class PlayerLoader:
    """A player that is made by `factory` in a background thread, for boards of the size that `board_size` tells."""

    def __init__(self, factory: PlayerFactory, board_size: Callable[[], tuple[int, int]]) -> None:
        self._factory, self._board_size = factory, board_size
        self._player: Player | None = None
        self._error: Exception | None = None
        self._wanted = threading.Event()
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._load, name="player-loader", daemon=True)
        self._started = False
        self.cancelled = False
        """True once the session is to end: every search answers with what it has."""

    def start_loading(self) -> None:
        """Start to make the player; returns at once. Further calls do nothing."""
        if not self._started:
            self._started = True
            self._thread.start()

    def _load(self) -> None:
        self._wanted.wait(_HEAD_START)
        try:
            if not self.cancelled:
                self._player = self._factory(*self._board_size())
        except Exception as error:  # crosses a thread: `get` raises it where a reply is due
            log.error("cannot make the player: %s", error, exc_info=log.isEnabledFor(logging.DEBUG))
            self._error = error
        self._settled.set()

    @property
    def is_loading(self) -> bool:
        """True while the loading thread runs, even if nobody waits for it any more."""
        return self._thread.is_alive()

    def get(self) -> "Player":
        """Return the player, waiting for it. Raises GtpError if it cannot be made or the session ends first."""
        self._wanted.set()
        self.start_loading()
        self._settled.wait()
        return self._require()

    def get_unless(self, is_cancelled: Callable[[], bool]) -> "Player | None":
        """Return the player, waiting for it until `is_cancelled`, then None. Raises GtpError as `get` does."""
        self._wanted.set()
        self.start_loading()
        while not self._settled.wait(_GLANCE):
            if is_cancelled():
                return None
        return self._require()

    def raise_if_failed(self) -> None:
        """Raise GtpError if the player is known not to be there; does not wait for it."""
        if self._settled.is_set():
            self._require()

    def _require(self) -> "Player":
        if self._player is None:
            reason = " ".join(str(self._error or "session ended").split())
            raise GtpError(f"engine not available: {reason}")
        return self._player

    def if_ready(self) -> "Player | None":
        """Return the player if it is there already."""
        return self._player

    def stop(self) -> None:
        """Make a running search answer at once; thread-safe."""
        player = self._player
        if player is not None:
            player.stop()

    def cancel(self) -> None:
        """Stop, and let nobody wait for the player any more; thread-safe, may be repeated."""
        self.cancelled = True
        self._wanted.set()
        self._settled.set()
        self.stop()

    def close(self) -> None:
        """Release the player."""
        if self._player is not None:
            self._player.close()
