"""Commands about the network in use: its properties, and its evaluation of a position without search.

The text is KataGo's (v1.17), always from White's point of view; lines end without KataGo's trailing spaces.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.support.json_text import json_text
from gtp.args import expect, parse_color, parse_float, syntax_error
from gtp.errors import GtpError
from gtp.protocol import Command
from gtp.state import GtpState, Handler

if TYPE_CHECKING:
    from engine.evaluators.raw import NetworkFacts, RawEvaluation, RawNetwork

_ALL = "all"
_SYMMETRIES = range(8)
_ILLEGAL = "    NAN"


def kata_raw_nn(state: GtpState, command: Command) -> str:
    """Report the network's evaluation: `[COLOR] SYMMETRY|all [OPTIMISM]`."""
    color, symmetries, optimism = _arguments(command.args, most=2)
    network = state.player_loader.get().network
    if network is None:
        raise GtpError("no network is loaded")
    return _evaluated(state, network, color, symmetries, optimism, _report)


def kata_raw_human_nn(state: GtpState, command: Command) -> str:
    """Report the human network's evaluation: `[COLOR] SYMMETRY|all`."""
    color, symmetries, _ = _arguments(command.args, most=1)
    player = state.player_loader.get()
    if player.human is None:
        raise GtpError("Cannot run kata-raw-human-nn, -human-model was not provided")
    if player.human.facts.imitates and not player.params.human_profile:
        raise GtpError("Cannot run kata-raw-human-nn, humanSLProfile parameter was not set")
    return _evaluated(state, player.human, color, symmetries, None, _human_report)


def _evaluated(
    state: GtpState,
    network: "RawNetwork",
    color: int | None,
    symmetries: Sequence[int],
    optimism: float | None,
    report: "Callable[[RawEvaluation, int], Iterator[str]]",
) -> str:
    """Return the lines of a report for each symmetry. color: to move, None for the game's."""
    params = state.player_loader.get().params
    mover = state.game.to_play if color is None else color
    settings = {"optimism": params.root_policy_optimism if optimism is None else optimism}
    settings["doubling"] = params.doubling_of(mover, mover)
    lines: list[str] = []
    for symmetry in symmetries:
        raw = network.evaluate(state.game, mover, symmetry, profile=params.human_profile, **settings)
        lines += report(raw, state.width)
    return "\n".join(lines)


def _arguments(args: list[str], most: int) -> tuple[int | None, Sequence[int], float | None]:
    """Parse (color, symmetries, optimism), None if missing. most: arguments after the color."""
    color = None
    # The color is optional and comes first; `all` is a symmetry.
    if args and args[0][:1].isalpha() and args[0].lower() != _ALL:
        color, args = parse_color(args[0]), args[1:]
    expect(args, 1, most)
    if args[0].lower() == _ALL:
        symmetries: Sequence[int] = _SYMMETRIES
    elif args[0] in map(str, _SYMMETRIES):
        symmetries = (int(args[0]),)
    else:
        syntax_error()
    optimism = parse_float(args[1], least=0.0) if len(args) == 2 else None
    if optimism is not None and optimism > 1.0:
        syntax_error()
    return color, symmetries, optimism


def _report(raw: "RawEvaluation", width: int) -> Iterator[str]:
    """Yield the lines for one symmetry."""
    scores = {
        "whiteLead": raw.white_lead,
        "whiteScoreSelfplay": raw.white_score,
        "whiteScoreSelfplaySq": raw.score_square,
        "varTimeLeft": raw.variance_time,
    }
    return _lines(raw, width, scores)


def _human_report(raw: "RawEvaluation", width: int) -> Iterator[str]:
    """Yield the lines for one symmetry of a human network, for which KataGo has other names of the score."""
    return _lines(raw, width, {"whiteScore": raw.white_score, "whiteScoreSq": raw.score_square})


def _lines(raw: "RawEvaluation", width: int, scores: dict[str, float | None]) -> Iterator[str]:
    yield f"symmetry {raw.symmetry}"
    yield f"whiteWin {_fixed(raw.white_win, 6)}"
    yield f"whiteLoss {_fixed(raw.white_loss, 6)}"
    yield f"noResult {_fixed(raw.no_result, 6)}"
    errors = {"shorttermWinlossError": raw.value_error, "shorttermScoreError": raw.score_error}
    for name, value in (scores | errors).items():
        if value is not None:
            yield f"{name} {_fixed(value, 3)}"
    yield "policy"
    yield from _rows([_ILLEGAL if math.isnan(chance) else f"{chance:8.6f}" for chance in raw.policy[:-1]], width)
    yield f"policyPass {raw.policy[-1]:8.6f}"
    if raw.ownership is not None:
        yield "whiteOwnership"
        yield from _rows([f"{owned:9.7f}" for owned in raw.ownership], width)


def _fixed(value: float, digits: int) -> str:
    return f"{value:.{digits}f}"


def _rows(cells: list[str], width: int) -> Iterator[str]:
    for start in range(0, len(cells), width):
        yield " ".join(cells[start : start + width])


def kata_get_models(state: GtpState, command: Command) -> str:
    """List the networks in use as one line of JSON, empty without a network."""
    return _models(state, lambda path: path)


def models_without_folders(state: GtpState, command: Command) -> str:
    """List the networks in use as `kata_get_models` does, with the names of their files alone."""
    return _models(state, lambda path: Path(path).name)


def _models(state: GtpState, name_of: Callable[[str], str]) -> str:
    player = state.player_loader.get()
    models = [_model(network.facts, name_of) for network in (player.network, player.human) if network is not None]
    return json_text(models, separators=(",", ":"), ensure_ascii=False)


def _model(facts: "NetworkFacts", name_of: Callable[[str], str]) -> dict[str, object]:
    # Field names, types and the text "true" are KataGo's.
    return {
        "internalName": facts.name,
        "maxBatchSize": facts.max_batch,
        "name": name_of(facts.file),
        "usesHumanSLProfile": facts.imitates,
        "usingFP16": "true" if facts.precision in ("bf16", "fp16") else "false",
        "version": facts.version,
    }


COMMANDS: dict[str, Handler] = {
    "kata-raw-nn": kata_raw_nn,
    "kata-raw-human-nn": kata_raw_human_nn,
    "kata-get-models": kata_get_models,
}
