"""Commands that report a search while it runs: Leela Zero's and KataGo's analysis.

An analysis plays no move and ends at the next line of input. `genmove_analyze` ends by itself and plays; `kata-search`
ends by itself, or when cancelled, and plays no move.
"""

import time
from collections import deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

from engine.errors import GoError
from gtp.analysis import AnalyzeOptions, kata_line, lz_line, parse_options
from gtp.args import expect, parse_color, parse_int
from gtp.commands.move import decide, format_decision, play_decision
from gtp.errors import GtpError
from gtp.interrupts import Signal
from gtp.last_search import analysis_of_decision
from gtp.protocol import Command
from gtp.state import Emit, GtpState, Handler, Perspective, Stream

if TYPE_CHECKING:
    from engine.game import Game
    from engine.players import Decision, Player
    from engine.search.analysis import Analysis, Wanted
    from engine.search.search import Search
    from engine.search.stoppers import SearchStats

_CANCELLED = "cancelled"
# KataGo's value for errors that a network does not report.
_UNKNOWN = -1.0


class Reporter:
    """Sends lines of analysis at an interval, for one command and one color to move."""

    def __init__(self, state: GtpState, options: AnalyzeOptions, color: int, emit: Emit) -> None:
        self._state = state
        self._options = options
        self._color = color
        self._emit = emit
        self._wanted = _wanted(options, state.config.pv_length)
        self._side = _side(state.config.perspective, color)
        self._raw = (_UNKNOWN, _UNKNOWN, _UNKNOWN)
        self._due = time.monotonic() + (options.interval or 0.0)
        self._search: Search | None = None

    def ask_network(self, player: "Player", game: "Game") -> None:
        """Query the network, before the search, for the root values that only it knows, if they are to be reported."""
        if self._options.root_info and player.network is not None:
            raw = player.network.evaluate(game, self._color)
            self._raw = (raw.value_error, raw.score_error, raw.variance_time)

    def watch(self, search: "Search", stats: "SearchStats") -> None:
        """Send a line if the interval has passed; called by the player between batches."""
        self._search = self._state.searched = search
        if self._options.interval is not None and time.monotonic() >= self._due:
            self._send(self._snapshot(search))
            self._due = time.monotonic() + self._options.interval

    def end(self) -> None:
        """Send the last state of an analysis that cannot improve any further."""
        if self._options.interval is not None and self._search is not None:
            self._send(self._snapshot(self._search))

    def finish(self, decision: "Decision") -> None:
        """Send the last line of a search that has chosen a move, even without a result."""
        analysis = None if self._search is None else self._snapshot(self._search)
        if analysis is None or not analysis.moves:
            analysis = analysis_of_decision(decision, self._color, self._side)
        self._send(analysis)

    def _snapshot(self, search: "Search") -> "Analysis | None":
        from engine.search.analysis import snapshot

        return snapshot(search, self._wanted, self._side)

    def _send(self, analysis: "Analysis | None") -> None:
        if analysis is None:
            return
        size = self._state.width, self._state.height
        is_kata = self._options.is_kata
        line = kata_line(analysis, self._options, self._raw, *size) if is_kata else lz_line(analysis, *size)
        if line:
            self._emit(line)


def _wanted(options: AnalyzeOptions, pv_length: int) -> "Wanted":
    from engine.search.analysis import Wanted

    return Wanted(
        min_moves=options.min_moves,
        max_moves=options.max_moves,
        pv_length=pv_length,
        ownership=options.ownership or options.ownership_stdev,
        moves_ownership=options.moves_ownership or options.moves_ownership_stdev,
    )


def _side(perspective: Perspective, to_play: int) -> int:
    """Return the color whose point of view is reported."""
    if perspective is Perspective.SIDETOMOVE:
        return to_play
    return parse_color(perspective.value)


def _analysis(is_kata: bool) -> Handler:
    """Return the handler of `lz-analyze` or `kata-analyze`."""

    def handle(state: GtpState, command: Command) -> Stream:
        options = parse_options(command.args, state.width, state.height, is_kata=is_kata)
        game = _framed(state, options) if options.frame or options.auto_frame else state.game
        state.player_loader.raise_if_failed()
        player = state.player_loader.if_ready()
        if player is not None and player.network is not None:
            player.network.check_board(state.width, state.height)
        return lambda emit: _analyze(state, command, options, game, emit)

    handle.__doc__ = f"Search until the next line of input, and report the moves in {_format(is_kata)}."
    return handle


def _format(is_kata: bool) -> str:
    return "KataGo's format" if is_kata else "Leela Zero's format"


def _framed(state: GtpState, options: AnalyzeOptions) -> "Game":
    """Return the board as a framed problem, and restrict the options to its region.

    With `frame auto`, the session's game if the board does not look like a problem.
    """
    from engine.apps.solve.framed import framed
    from engine.apps.solve.recognition import looks_like_a_problem

    if options.avoided:
        raise GtpError("frame cannot be combined with avoid or allow")
    if options.auto_frame and not looks_like_a_problem(state.game):
        return state.game
    options.color = state.game.to_play if options.color is None else options.color
    try:
        problem = framed(state.game, options.color)
    except GoError as error:
        raise GtpError(str(error)) from error
    options.avoided = problem.avoided
    return problem.game


def _analyze(state: GtpState, command: Command, options: AnalyzeOptions, game: "Game", emit: Emit) -> str:
    """Search until the next line of input. The tree is kept for the next search.

    game: the session's, or its framed problem.

    The search may end earlier, when it cannot improve; the reply stays open until then all the same.
    """

    def is_over() -> bool:
        return state.player_loader.cancelled or state.interrupts.requested(command.line, Signal.LINE)

    with state.interrupts.searching(command.line, Signal.LINE):
        player = state.player_loader.get_unless(is_over)
        # A later line may have come while the player was loading.
        if player is None or is_over():
            return ""
        from engine.players import AnalysisRequest

        color = game.to_play if options.color is None else options.color
        reporter = Reporter(state, options, color, emit)
        reporter.ask_network(player, game)
        request = AnalysisRequest(
            avoided=options.avoided,
            wide_root_noise=state.config.analysis_noise,
            ignores_past=state.config.analysis_ignores_past,
        )
        player.analyze(game, color, request, reporter.watch)
        if not is_over():
            reporter.end()
    # The reply stays open until the next line, even if the search cannot improve any further.
    state.interrupts.wait_until_requested(command.line, Signal.LINE)
    return ""


def _search(*, is_kata: bool, plays: bool, signal: Signal = Signal.STOP) -> Handler:
    """Return the handler of a command that reports its search and then its move.

    plays: whether it plays the move. signal: what stops it; `Signal.LINE` cancels it.
    """

    def handle(state: GtpState, command: Command) -> Stream:
        options = parse_options(command.args, state.width, state.height, is_kata=is_kata)
        if options.frame or options.auto_frame:
            raise GtpError("frame is for kata-analyze, which plays no move")
        color = state.game.to_play if options.color is None else options.color
        turn = ExitStack()
        with turn:
            turn.enter_context(state.clock.turn(color, is_charged=plays))
            # Before the reply begins: after its first character GTP has no way to fail.
            player = state.player_loader.get()
            if player.network is not None:
                player.network.check_board(state.width, state.height)
            turn = turn.pop_all()

        def think(emit: Emit) -> str:
            with turn:
                reporter = Reporter(state, options, color, emit)
                reporter.ask_network(player, state.game)
                with state.interrupts.searching(command.line, signal):
                    decision = decide(state, color, reporter.watch, options.avoided)
            if signal is Signal.LINE and state.interrupts.requested(command.line, signal):
                # A cancelled search plays nothing, and its result must not be mistaken for a move.
                return f"play {_CANCELLED}"
            reporter.finish(decision)
            text = play_decision(state, color, decision) if plays else _chosen(state, color, decision)
            return f"play {text}"

        return think

    is_played, end = "and play it" if plays else "without playing it", "; the next line of input cancels it"
    chosen = f"Choose a move {is_played}{end * (signal is Signal.LINE)}"
    handle.__doc__ = f"{chosen}. Meanwhile report the search in {_format(is_kata)}."
    return handle


def kata_search(state: GtpState, command: Command) -> str:
    """Choose a move without playing it."""
    return _choose(state, command, Signal.STOP)


def kata_search_cancellable(state: GtpState, command: Command) -> str:
    """Choose a move without playing it; the next line of input cancels it."""
    return _choose(state, command, Signal.LINE)


def _choose(state: GtpState, command: Command, signal: Signal) -> str:
    expect(command.args, 1)
    color = parse_color(command.args[0])
    with state.clock.turn(color, is_charged=False), state.interrupts.searching(command.line, signal):
        decision = decide(state, color)
    if signal is Signal.LINE and state.interrupts.requested(command.line, signal):
        return _CANCELLED
    return _chosen(state, color, decision)


def _chosen(state: GtpState, color: int, decision: "Decision") -> str:
    """Return a move that is not played here; if the controller plays it, the opponent is to move."""
    state.chosen = None if decision.resign else (state.game.move_number, color, decision.vertex)
    return format_decision(state, decision)


def stop(state: GtpState, command: Command) -> str:
    """Reply only: analysis, pondering and searches without a move ended when this line was read."""
    expect(command.args, 0)
    state.awaits_reply = False
    return ""


def clear_cache(state: GtpState, command: Command) -> str:
    """Drop the search tree and all cached evaluations."""
    expect(command.args, 0)
    state.searched = None
    player = state.player_loader.if_ready()
    if player is not None:
        player.clear_cache()
    return ""


def kata_benchmark(state: GtpState, command: Command) -> str:
    """Search the current position with N visits and an empty cache; report the speed."""
    from engine.players import AnalysisRequest, Limits

    expect(command.args, 1)
    visits = parse_int(command.args[0], least=1)
    last: deque[SearchStats] = deque(maxlen=1)
    player = state.player_loader.get()
    player.clear_cache()
    started = time.monotonic()
    request = AnalysisRequest(Limits(visits=visits))
    with state.interrupts.searching(command.line, Signal.STOP):
        player.analyze(state.game, state.game.to_play, request, lambda _, stats: last.append(stats))
    seconds = time.monotonic() - started
    if not last:
        raise GtpError("the search was cut short")
    done = last[-1].visits
    return f"visits {done} seconds {seconds:.3f} visits/s {done / seconds:.1f}"


COMMANDS: dict[str, Handler] = {
    "lz-analyze": _analysis(is_kata=False),
    "kata-analyze": _analysis(is_kata=True),
    "lz-genmove_analyze": _search(is_kata=False, plays=True, signal=Signal.INTERRUPT),
    "kata-genmove_analyze": _search(is_kata=True, plays=True, signal=Signal.INTERRUPT),
    "kata-search": kata_search,
    "kata-search_cancellable": kata_search_cancellable,
    "kata-search_analyze": _search(is_kata=True, plays=False),
    "kata-search_analyze_cancellable": _search(is_kata=True, plays=False, signal=Signal.LINE),
    "stop": stop,
    "clear_cache": clear_cache,
    "kata-benchmark": kata_benchmark,
}
