"""Builds the JSON of answers, with KataGo's fields, order and digits. Knows no search and no stream."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.color import WHITE, color_letter, for_color
from engine.support.json_text import json_text
from engine.vertex import NO_POINT, format_vertex, points, policy_index

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.apps.analysis_server.task import Report
    from engine.evaluation.evaluation import Evaluation
    from engine.game import Game
    from engine.search.analysis import MoveInfo, RootInfo

Object = dict[str, Any]

# Significant digits of all numbers except ownership.
_DIGITS = 9
_OWNER_DECIMALS = 6
_NOT_LEGAL = -1.0


@dataclass(frozen=True)
class Asked:
    """The form of the answers for one position. color: the side to move. The flags are KataGo's fields.

    frame: (color, vertex) of the stones that frame a problem, None for a position as it was given. proof: returns the
    field of that name, see `engine.apps.solve.proof`; may take a second. None if it was not asked for.
    """

    id: str
    turn: int
    game: "Game"
    color: int
    ownership: bool = False
    ownership_stdev: bool = False
    moves_ownership: bool = False
    moves_ownership_stdev: bool = False
    policy: bool = False
    pv_visits: bool = False
    no_result: bool = False
    frame: tuple[tuple[int, int], ...] | None = None
    proof: "Callable[[], Object] | None" = None


def to_line(answer: Object) -> str:
    """Format an answer as one line: keys sorted, no spaces, text unescaped."""
    return json_text(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"


def answer_to(asked: Asked, report: "Report", view: int) -> Object:
    """Return the answer for a report. view: the color whose point of view is reported."""
    answer: Object = {"id": asked.id, "turnNumber": asked.turn, "isDuringSearch": not report.is_final}
    if report.analysis is None:
        return answer | {"noResults": True}
    if asked.frame is not None:
        size = asked.game.width, asked.game.height
        answer["frame"] = [[color_letter(color), format_vertex(vertex, *size)] for color, vertex in asked.frame]
    if asked.proof is not None:
        answer["proof"] = asked.proof()
    answer["moveInfos"] = [_move_info(asked, move) for move in report.analysis.moves]
    answer["rootInfo"] = _root_info(asked, report.analysis.root, report.root, view)
    if report.human is not None:
        answer["rootInfo"] |= _human(report.human, asked.color, view)
    for name, evaluation in (("policy", report.root), ("humanPolicy", report.human)):
        if asked.policy and evaluation is not None:
            answer[name] = _policy(asked.game, asked.color, evaluation)
    root = report.analysis.root
    return answer | _owners(root, mean=asked.ownership, stdev=asked.ownership_stdev)


def _move_info(asked: Asked, move: "MoveInfo") -> Object:
    width, height = asked.game.width, asked.game.height
    info: Object = {
        "move": format_vertex(move.vertex, width, height),
        "visits": move.visits,
        "edgeVisits": move.edge_visits,
        "weight": rounded(move.weight),
        "edgeWeight": rounded(move.edge_weight),
        "utility": rounded(move.utility),
        "winrate": rounded(move.winrate),
        "prior": rounded(move.prior),
        "lcb": rounded(move.lcb),
        "utilityLcb": rounded(move.utility_lcb),
        "order": move.order,
        "playSelectionValue": rounded(move.play_selection),
        "pv": [format_vertex(vertex, width, height) for vertex in move.pv],
        # The lead, under its former name.
        "scoreMean": rounded(move.lead),
    }
    info |= _scores(move)
    if move.human_prior is not None:
        info["humanPrior"] = rounded(move.human_prior)
    if asked.no_result:
        info["noResultValue"] = rounded(move.no_result)
    if move.is_symmetry_of != NO_POINT:
        info["isSymmetryOf"] = format_vertex(move.is_symmetry_of, width, height)
    if asked.pv_visits:
        info |= {"pvVisits": list(move.pv_visits), "pvEdgeVisits": list(move.pv_edge_visits)}
    return info | _owners(move, mean=asked.moves_ownership, stdev=asked.moves_ownership_stdev)


def _root_info(asked: Asked, root: "RootInfo", raw: "Evaluation | None", view: int) -> Object:
    this, symmetric = hashes_of(asked.game, asked.color)
    info: Object = {
        "currentPlayer": "W" if asked.color == WHITE else "B",
        "visits": root.visits,
        "weight": rounded(root.weight),
        "utility": rounded(root.utility),
        "winrate": rounded(root.winrate),
        "thisHash": this,
        "symHash": symmetric,
    }
    return info | _scores(root) | ({} if raw is None else _raw(raw, asked.color, view))


def _scores(info: "MoveInfo | RootInfo") -> Object:
    return {
        "scoreLead": rounded(info.lead),
        "scoreSelfplay": rounded(info.score_mean),
        "scoreStdev": rounded(info.score_stdev),
    }


def _raw(raw: "Evaluation", color: int, view: int) -> Object:
    """Return the evaluation of the position without search. raw: row 0 is from the side to move's point of view."""
    # -1 if the reported color is not the side to move.
    sign = for_color(1.0, color) * for_color(1.0, view)
    return {
        "rawWinrate": rounded(0.5 + 0.5 * sign * float(raw.value[0])),
        "rawLead": rounded(sign * float(raw.score[0])),
        "rawScoreSelfplay": rounded(sign * float(raw.score_mean[0])),
        "rawScoreSelfplayStdev": rounded(float(raw.score_stdev[0])),
        "rawNoResultProb": rounded(float(raw.no_result[0])),
        "rawStWrError": rounded(0.5 * float(raw.value_error[0])),
        "rawStScoreError": rounded(float(raw.score_error[0])),
        "rawVarTimeLeft": rounded(float(raw.variance_time[0])),
    }


def _human(human: "Evaluation", color: int, view: int) -> Object:
    """Return the human network's evaluation of the position."""
    sign = for_color(1.0, color) * for_color(1.0, view)
    return {
        "humanWinrate": rounded(0.5 + 0.5 * sign * float(human.value[0])),
        "humanScoreMean": rounded(sign * float(human.score_mean[0])),
        "humanScoreStdev": rounded(float(human.score_stdev[0])),
        "humanStWrError": rounded(0.5 * float(human.value_error[0])),
        "humanStScoreError": rounded(float(human.score_error[0])),
    }


def _policy(game: "Game", color: int, raw: "Evaluation") -> list[float]:
    """Return the policy, row by row from the top, pass last, -1 for illegal moves."""
    import numpy as np

    legal, _, _ = game.legal_arrays(color)
    return [rounded(each) for each in np.where(legal, raw.policy[0], _NOT_LEGAL).tolist()]


def _owners(info: "MoveInfo | RootInfo", *, mean: bool, stdev: bool) -> Object:
    found: Object = {}
    if mean and info.ownership is not None:
        found["ownership"] = info.ownership.round(_OWNER_DECIMALS).tolist()
    if stdev and info.ownership_stdev is not None:
        found["ownershipStdev"] = info.ownership_stdev.round(_OWNER_DECIMALS).tolist()
    return found


def rounded(number: float) -> float:
    """Round a number to KataGo's number of digits."""
    # Adding 0.0 turns -0.0 into 0.0.
    return float(f"{number:.{_DIGITS}g}") + 0.0


def hashes_of(game: "Game", color: int) -> tuple[str, str]:
    """Return the hashes of a position, see `position_hashes`: of its size, stones, side to move and ko point."""
    import numpy as np

    from engine.apps.analysis_server.hashes import KO_POINT, position_hashes
    from engine.board.layout import COLOR, HEADER
    from engine.board.layout import KO_POINT as KO_VERTEX

    width, height = game.width, game.height
    contents = game.board[COLOR, points(width, height)].astype(np.intp)
    ko = int(game.board[HEADER, KO_VERTEX]) if color == game.to_play else NO_POINT
    if ko != NO_POINT:
        contents[policy_index(ko, width, height)] = KO_POINT
    return position_hashes(contents, width, height, color)
