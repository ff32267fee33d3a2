"""Loads the player of a session in the background, waits for it, stops and closes it."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gtp.errors import GtpError

if TYPE_CHECKING:
    from engine.players import Player

PlayerFactory = Callable[[int, int], "Player"]
"""Creates a player whose first board will have this width and height."""

# Seconds that loading is delayed for the handshake: importing numpy and numba holds the interpreter lock, and a
# controller's first `name` must be answered at once. A request for the player ends the delay.
_HEAD_START = 0.15
# Interval of checks whether a request for the player was cancelled.
_GLANCE = 0.02

log = logging.getLogger(__name__)


class PlayerLoader:
    """Creates a player with `factory` in a background thread, for boards of the size returned by `board_size`."""

    def __init__(self, factory: PlayerFactory, board_size: Callable[[], tuple[int, int]]) -> None:
        self._factory, self._board_size = factory, board_size
        self._player: Player | None = None
        self._error: Exception | None = None
        self._wanted = threading.Event()
        self._settled = threading.Event()
        self._left = threading.Event()
        # A daemon: imports and compilations cannot be stopped, and must not keep the process alive.
        self._thread = threading.Thread(target=self._load, name="player-loader", daemon=True)
        self._started = False
        self.cancelled = False
        """True when the session is ending: every search returns its result so far."""

    def start_loading(self) -> None:
        """Start loading; returns at once. Further calls do nothing."""
        if not self._started:
            self._started = True
            self._thread.start()

    def _load(self) -> None:
        self._wanted.wait(_HEAD_START)
        try:
            if not self.cancelled:
                self._player = self._factory(*self._board_size())
        except Exception as error:  # crosses a thread: `get` raises it in the thread that needs the player
            log.error("cannot make the player: %s", error, exc_info=log.isEnabledFor(logging.DEBUG))
            self._error = error
        self._settled.set()

    @property
    def is_loading(self) -> bool:
        """True while the loading thread runs, even if no request waits for it."""
        return self._thread.is_alive()

    def get(self) -> "Player":
        """Wait for the player and return it. Raises GtpError if loading failed or the session ends first."""
        self._wanted.set()
        self.start_loading()
        self._settled.wait()
        return self._require()

    def get_unless(self, is_cancelled: Callable[[], bool]) -> "Player | None":
        """Wait for the player and return it, or None once `is_cancelled`. Raises GtpError as `get` does."""
        self._wanted.set()
        self.start_loading()
        while not self._settled.wait(_GLANCE):
            if is_cancelled():
                return None
        return self._require()

    def raise_if_failed(self) -> None:
        """Raise GtpError if loading has already failed; does not wait."""
        if self._settled.is_set():
            self._require()

    def _require(self) -> "Player":
        if self._player is None:
            reason = "session ended" if self._error is None else " ".join(str(self._error).split())
            if isinstance(self._error, MemoryError):
                reason = "not enough memory"
            raise GtpError(f"engine not available: {reason}")
        return self._player

    def if_ready(self) -> "Player | None":
        """Return the player if it is loaded, else None."""
        return self._player

    def pause(self, seconds: float) -> None:
        """Wait for some seconds, or until the session ends."""
        self._left.wait(seconds)

    def stop(self) -> None:
        """Make a running search return at once. Thread-safe."""
        player = self._player
        if player is not None:
            player.stop()

    def cancel(self) -> None:
        """Stop the search, and end all waiting for the player. Thread-safe; may be repeated."""
        self.cancelled = True
        self._wanted.set()
        self._settled.set()
        self._left.set()
        self.stop()

    def close(self) -> None:
        """Close the player."""
        if self._player is not None:
            self._player.close()
