"""Commands of Go servers: KGS's end of a game and chat, CGOS's analysis and result."""

from typing import TYPE_CHECKING, Any

from engine.support.json_text import json_text
from engine.vertex import format_vertex
from gtp.args import expect, parse_color, syntax_error
from gtp.commands.explain import explanation
from gtp.commands.move import decide, play_decision
from gtp.interrupts import Signal
from gtp.protocol import Command
from gtp.state import Emit, GtpState, Handler, Stream

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.search.analysis import MoveInfo

_OWNERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# CGOS encodes the owner of a point as one letter, from the opponent's (0) to the mover's (62).
_LAST_OWNER = 62
_MOVES = 8
_DIGITS = 4


def game_over(state: GtpState, command: Command) -> str:
    """Stop pondering after a game that has ended or was adjourned. The board stays."""
    state.awaits_reply = False
    return ""


def kgs_chat(state: GtpState, command: Command) -> str:
    """Answer `(game|private) NAME MESSAGE..` with the engine's name and the evaluation of its last move."""
    if len(command.args) < 2 or command.args[0] not in ("game", "private"):
        syntax_error()
    me = f"I am {state.config.name} {state.config.version}, a Go engine."
    return f"{me} {explanation(state)}" if state.last_search is not None else me


def cgos_genmove_analyze(state: GtpState, command: Command) -> Stream:
    """Play a move, after one line of CGOS's JSON with the analysis."""
    expect(command.args, 1)
    color = parse_color(command.args[0])
    state.player_loader.raise_if_failed()

    def think(emit: Emit) -> str:
        with state.interrupts.searching(command.line, Signal.INTERRUPT):
            decision = decide(state, color)
        emit(json_text(_report(state), separators=(",", ":")))
        return f"play {play_decision(state, color, decision)}"

    return think


def _report(state: GtpState) -> dict[str, Any]:
    """Return the analysis of the last search for a move, from the mover's point of view."""
    from engine.search.analysis import Wanted, snapshot

    last_search = state.last_search
    assert last_search is not None
    root = last_search.analysis.root
    report: dict[str, Any] = {
        "winrate": round(root.winrate, _DIGITS),
        "score": round(root.lead, _DIGITS),
        "visits": root.visits,
        "moves": [_move(state, move) for move in last_search.analysis.moves[:_MOVES]],
    }
    wanted = Wanted(max_moves=1, ownership=True)
    # The kept analysis has no ownership, so it is computed from the tree.
    seen = None if last_search.search is None else snapshot(last_search.search, wanted, last_search.color)
    if seen is not None and seen.root.ownership is not None:
        report["ownership"] = owner_letters(seen.root.ownership)
    return report


def _move(state: GtpState, move: "MoveInfo") -> dict[str, Any]:
    """Return one move; its variation starts after it, as CGOS's viewer expects."""
    name, *line = (format_vertex(vertex, state.width, state.height) for vertex in move.pv)
    return {
        "move": name,
        "winrate": round(move.winrate, _DIGITS),
        "score": round(move.lead, _DIGITS),
        "prior": round(move.prior, _DIGITS),
        "visits": move.visits,
        "pv": " ".join(line),
    }


def owner_letters(ownership: "Iterable[float]") -> str:
    """Encode the owner of each point as a letter, row by row from the top."""
    return "".join(_OWNERS[round(max(0.0, min((owner + 1.0) / 2.0, 1.0)) * _LAST_OWNER)] for owner in ownership)


COMMANDS: dict[str, Handler] = {
    "kgs-game_over": game_over,
    "cgos-genmove_analyze": cgos_genmove_analyze,
    "cgos-gameover": game_over,
}

UNLISTED: dict[str, Handler] = {
    "kgs-chat": kgs_chat,
}
"""Answered but not listed: kgsGtp since 3.5.20 crashes on programs that list its chat."""
