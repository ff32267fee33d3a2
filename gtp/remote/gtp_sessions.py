"""GTP sessions of clients on the network: a game for each connection, one evaluator for all."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.errors import GoError
from gtp import protocol
from gtp.args import expect
from gtp.commands import HANDLERS, debug, networks
from gtp.commands.records import printsgf
from gtp.player_loader import PlayerFactory
from gtp.protocol import Command
from gtp.remote.connection import Connection
from gtp.remote.server import serve_clients
from gtp.session import Session
from gtp.state import GtpState, Handler, SessionConfig

if TYPE_CHECKING:
    from engine.players import SearchPlayer

_CLOSE_SECONDS = 5.0


def _print_record(state: GtpState, command: Command) -> str:
    """Return the game as SGF; there is no file to write it to."""
    expect(command.args, 0)
    return printsgf(state, command)


LOCAL: frozenset[str] = frozenset({"loadsgf", "echo_err", *debug.COMMANDS})
"""Commands that read files of this machine, or write to its terminal: clients on the network do not have them."""
_CHANGED = {"printsgf": _print_record, "kata-get-models": networks.models_without_folders}
REMOTE_HANDLERS: dict[str, Handler] = {
    name: _CHANGED.get(name, handler) for name, handler in HANDLERS.items() if name not in LOCAL
}
"""The commands of clients on the network, who write no files and learn nothing about folders."""


class GtpSessions:
    """A session for each connection.

    make_player: creates the player of a session. close_evaluator: called at the end, when all sessions have ended.
    """

    def __init__(
        self, config: SessionConfig, make_player: PlayerFactory, close_evaluator: Callable[[], None] = lambda: None
    ) -> None:
        self._config, self._make_player, self._close_evaluator = config, make_player, close_evaluator
        self._open: set[GtpState] = set()
        self._changed = threading.Condition()

    def serve(self, connection: Connection) -> None:
        """Run the session of a client until `quit`, or until the client is gone."""
        state = GtpState(self._config, self._make_player, REMOTE_HANDLERS)
        with self._changed:
            self._open.add(state)
        try:
            Session(state, connection, connection, is_remote=True).run()
        finally:
            with self._changed:
                self._open.discard(state)
                self._changed.notify_all()

    def refusal(self, text: str) -> bytes:
        """Return the error line for a client that gets no session."""
        return protocol.encode(protocol.format_reply("", text, ok=False))

    def close(self) -> None:
        """End every session, and close the evaluator."""
        with self._changed:
            for state in self._open:
                state.player_loader.cancel()
            # A session that hangs for longer still uses it.
            if self._changed.wait_for(lambda: not self._open, _CLOSE_SECONDS):
                self._close_evaluator()


def players_like(first: "SearchPlayer", connections: int) -> PlayerFactory:
    """Return a function that creates players with the evaluator of another.

    connections: the most players at a time; the memory of the first one's tree is divided among them.
    """
    from engine.evaluators.joined import JoinedEvaluator
    from engine.players.sharing import RunningSearches

    # As in the pool of JSON analysis: kernels call some evaluators without Python; calls of others are joined.
    evaluator = first.evaluator if first.evaluator.attributes.threads else JoinedEvaluator(first.evaluator)
    params = replace(first.params, max_memory_mib=max(1, first.params.max_memory_mib // connections))
    running = RunningSearches()

    def make_player(width: int, height: int) -> "SearchPlayer":
        player = type(first)(evaluator, params, network=first.network, shared=running, human=first.human)
        player.prepare(width, height)
        return player

    return make_player


def listen(config: SessionConfig, make_first: "Callable[[int, int], SearchPlayer]", options: Mapping[str, Any]) -> None:
    """Serve clients on the network until Ctrl-C. make_first: loads the network. options: of the command line.

    Raises GoError and OSError as `serve_clients`, GoError or WeightsError for a network that cannot be used.
    """
    for name in ("live_graphics", "leela_lines"):
        if options[name]:
            raise GoError(f"--{name.replace('_', '-')} writes for a program on this machine: not with --listen")

    if options["eval_cache"] is not None:
        raise GoError("--eval-cache is of one session: not with --listen")

    def open_sessions() -> GtpSessions:
        first = make_first(config.width, config.height)
        return GtpSessions(config, players_like(first, options["connections"]), first.close)

    serve_clients(options["listen"], options["token_file"], options["connections"], open_sessions)
