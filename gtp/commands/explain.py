"""Commands of gomill: describe the engine and explain its last move."""

from engine.settings.levels import FULL
from engine.vertex import format_vertex
from gtp.args import expect
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler


def explain_last_move(state: GtpState, command: Command) -> str:
    """Report the result of the last search for a move."""
    expect(command.args, 0)
    return explanation(state)


def explanation(state: GtpState) -> str:
    """Describe the last search for a move in one line. Raises GtpError if there was none in this game."""
    last_search = state.last_search
    if last_search is None:
        raise GtpError("no move was generated")
    decision = last_search.decision
    move = "resign" if decision.resign else format_vertex(decision.vertex, state.width, state.height)
    parts = [move]
    if decision.winrate is not None:
        parts.append(f"winrate {100 * decision.winrate:.1f} %")
    if decision.score_lead is not None:
        parts.append(f"lead {decision.score_lead:+.1f}")
    parts.append(f"{decision.visits} visits")
    line = next((each.pv for each in last_search.analysis.moves if each.vertex == decision.vertex), ())
    if len(line) > 1:
        parts.append("expecting " + " ".join(format_vertex(v, state.width, state.height) for v in line[1:]))
    return ", ".join(parts)


def describe_engine(state: GtpState, command: Command) -> str:
    """Describe the engine, its network and the limits of a move, one line each."""
    expect(command.args, 0)
    config, player = state.config, state.player_loader.get()
    if player.network is None:
        evaluation = "playouts, no network"
    else:
        facts = player.network.facts
        evaluation = f"network {facts.name} ({facts.file}, {facts.precision})"
    limits = [
        *([f"rank {config.rank}"] if config.rank != FULL else []),
        *([f"{config.visits} visits a move"] if config.visits else []),
        *([f"{config.seconds:g} seconds a move"] if config.seconds else []),
    ]
    return "\n".join([f"{config.name} {config.version}", evaluation, ", ".join(limits) or "no limit but the clock's"])


COMMANDS: dict[str, Handler] = {
    "gomill-explain_last_move": explain_last_move,
    "gomill-describe_engine": describe_engine,
}
