"""What GTP programs answer about a position, as numbers: `kata-raw-nn`, `kata-*_analyze`, `estimate_score`, moves.

All readers return None where the answer is none of the kind; points of view are as the program has them.
"""

import math
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadVertex
from engine.vertex import parse_vertex, policy_index

Floats = NDArray[np.float32]
_SCORE = re.compile(r"\s*([BWbw])\+(\d+(?:\.\d*)?|\.\d+)(?![\w.])")
_JIGO = re.compile(r"\s*(?:0|draw|jigo)\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class RawAnswer:
    """A network's answer to `kata-raw-nn`, White's view but for the policy.

    policy: [area + 1], 0 where illegal, sums 1. ownership: [area] or None.
    """

    white_win: float
    white_loss: float
    no_result: float
    white_score: float | None
    policy: Floats
    ownership: Floats | None


@dataclass(eq=False)
class AnalysisAnswer:
    """The last line of an analysis, in the view that the program reports by, and the move after it.

    visits: [area + 1] of each move. winrate: in [0, 1]. ownership: [area] or None.
    """

    visits: Floats
    winrate: float | None = None
    score: float | None = None
    ownership: Floats | None = None
    move: str = field(default="")


def parse_raw(text: str, width: int, height: int) -> RawAnswer | None:
    """Read an answer to `kata-raw-nn SYMMETRY`."""
    words, area = text.split(), width * height
    try:
        places = {word: place for place, word in enumerate(words) if word[0].isalpha() and word.lower() != "nan"}
        win, loss, none = (float(words[places[name] + 1]) for name in ("whiteWin", "whiteLoss", "noResult"))
        policy = _floats(words, places["policy"] + 1, area)
        policy = np.append(policy, float(words[places["policyPass"] + 1])).astype(np.float32)
        score = float(words[places["whiteScoreSelfplay"] + 1]) if "whiteScoreSelfplay" in places else None
        owner = _floats(words, places["whiteOwnership"] + 1, area) if "whiteOwnership" in places else None
    except (KeyError, IndexError, ValueError):
        return None
    policy = np.where(policy > 0, policy, 0).astype(np.float32)
    total = float(policy.sum())
    if not (math.isfinite(total) and total > 0 and math.isfinite(win + loss + none)):
        return None
    return RawAnswer(win, loss, none, score, policy / np.float32(total), owner)


def _floats(words: list[str], first: int, count: int) -> Floats:
    found = np.array([float(word) for word in words[first : first + count]], dtype=np.float32)
    if len(found) < count:
        raise ValueError(f"expected {count} numbers, got {len(found)}")
    return found


def parse_analysis(text: str, width: int, height: int) -> AnalysisAnswer | None:
    """Read an answer of `kata-search_analyze` or `kata-genmove_analyze` with rootInfo and ownership."""
    lines = [line for line in text.splitlines() if line.strip()]
    infos = [line for line in lines if line.startswith("info ")]
    if not infos:
        return None
    area = width * height
    answer = AnalysisAnswer(np.zeros(area + 1, dtype=np.float32))
    moves, _, rest = infos[-1].partition(" rootInfo ")
    try:
        for part in moves.removeprefix("info ").split(" info "):
            pairs = _pairs(part.split(" pv ")[0].split())
            answer.visits[policy_index(parse_vertex(pairs["move"], width, height), width, height)] = float(
                pairs["visits"]
            )
        words = rest.split() if rest else []
        root = _pairs(words)
        answer.winrate = float(root["winrate"]) if "winrate" in root else None
        answer.score = float(root["scoreLead"]) if "scoreLead" in root else None
        everything = infos[-1].split()
        if "ownership" in everything:
            answer.ownership = _floats(everything, everything.index("ownership") + 1, area)
    except (BadVertex, KeyError, ValueError):
        return None
    played = next((line for line in reversed(lines) if line.startswith("play ")), "")
    answer.move = played.removeprefix("play ").strip()
    return answer


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=False))


def parse_move(text: str, width: int, height: int) -> int | None:
    """Return the vertex of an answer to genmove; None for a resignation and for what is no move."""
    word = text.split()[0] if text.split() else ""
    try:
        return parse_vertex(word, width, height)
    except BadVertex:
        return None


def parse_score(text: str) -> float | None:
    """Return Black's lead in an answer to `estimate_score` or `final_score`, such as "W+3.5 (upper bound: ..)"."""
    if _JIGO.match(text):
        return 0.0
    match = _SCORE.match(text)
    if match is None:
        return None
    margin = float(match[2])
    return margin if match[1] in "Bb" else -margin
