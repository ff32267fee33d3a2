"""Parses the replies of GTP programs: `kata-raw-nn`, `kata-*_analyze`, `estimate_score`, moves.

All functions return None if the reply has another form; values keep the program's point of view.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK, WHITE, for_color
from engine.errors import BadVertex
from engine.vertex import parse_vertex

Floats = NDArray[np.float32]
_SCORE = re.compile(r"\s*([BWbw])\+(\d+(?:\.\d*)?|\.\d+)(?![\w.])")
_JIGO = re.compile(r"\s*(?:0+(?:\.0*)?|draw|jigo)(?!\w|\.\d)", re.IGNORECASE)
_WHOLE_BOARD = ("rootInfo", "ownership", "ownershipStdev")
_AFTER_VARIATION = ("pvVisits", "pvEdgeVisits", "movesOwnership", "movesOwnershipStdev")
# Leela Zero's winrates are whole numbers up to this; KataGo's are fractions and come with a score lead.
_LEELA_UNIT = 10_000


@dataclass(frozen=True, eq=False)
class RawAnswer:
    """A network's reply to `kata-raw-nn`, from White's point of view.

    policy: [area + 1] for the side to move, 0 for illegal moves, sums to 1. ownership: [area] or None.
    """

    white_win: float
    white_loss: float
    no_result: float
    white_score: float | None
    policy: Floats
    ownership: Floats | None


@dataclass(frozen=True)
class Candidate:
    """A move of an analysis, from the point of view in which the program reports.

    winrate: in [0, 1]. lead: points. pv: the principal variation, starting with this move.
    """

    vertex: int
    visits: int
    winrate: float | None = None
    lead: float | None = None
    pv: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class AnalysisAnswer:
    """The last line of an analysis, from the point of view in which the program reports, and the move after it.

    candidates: in the program's order, best first. winrate, score: of the root. ownership: [area] or None.
    """

    candidates: tuple[Candidate, ...]
    winrate: float | None = None
    score: float | None = None
    ownership: Floats | None = None
    move: str = ""


def parse_raw(text: str, width: int, height: int) -> RawAnswer | None:
    """Parse a reply to `kata-raw-nn SYMMETRY`."""
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
    # NaN and negative values stand for illegal moves.
    policy = np.where(policy > 0, policy, 0).astype(np.float32)
    # Programs print rounded numbers, so the sum is restored to 1.
    total = float(policy.sum())
    if not (math.isfinite(total) and total > 0 and min(win, loss, none) >= 0 and 0 < win + loss + none < math.inf):
        return None
    if not math.isfinite(score or 0.0) or not np.isfinite(0.0 if owner is None else owner).all():
        return None
    return RawAnswer(win, loss, none, score, policy / np.float32(total), owner)


def _floats(words: list[str], first: int, count: int) -> Floats:
    found = np.array([float(word) for word in words[first : first + count]], dtype=np.float32)
    if len(found) < count:
        raise ValueError(f"expected {count} numbers, got {len(found)}")
    return found


def parse_analysis(text: str, width: int, height: int) -> AnalysisAnswer | None:
    """Parse the reply to an analysis command of KataGo or Leela Zero: its last line with moves, and the move played."""
    lines = [line for line in text.splitlines() if line.strip()]
    infos = [line for line in lines if line.startswith("info ")]
    if not infos:
        return None
    words = infos[-1].split()
    starts = [place for place, word in enumerate(words) if word == "info"]
    # The last move's variation has no end mark; the fields of the whole board follow it.
    end = next((place for place, word in enumerate(words) if word in _WHOLE_BOARD), len(words))
    root = _pairs(words[words.index("rootInfo") + 1 :]) if "rootInfo" in words else {}
    try:
        ends = [*starts[1:], end]
        candidates = tuple(_candidate(words[a + 1 : b], width, height) for a, b in zip(starts, ends, strict=True))
        winrate, score = _finite(root, "winrate"), _finite(root, "scoreLead")
        place = words.index("ownership") + 1 if "ownership" in words else None
        owned = None if place is None else _floats(words, place, width * height)
    except (BadVertex, KeyError, ValueError):
        return None
    played = next((line for line in reversed(lines) if line.startswith("play ")), "")
    ownership = owned if owned is not None and np.isfinite(owned).all() else None
    return AnalysisAnswer(candidates, winrate, score, ownership, played.removeprefix("play ").strip())


def _candidate(words: list[str], width: int, height: int) -> Candidate:
    place = words.index("pv") if "pv" in words else len(words)
    pairs = _pairs(words[:place])
    winrate = _finite(pairs, "winrate")
    # Both protocols write `winrate`; only the form of the numbers distinguishes them.
    unit = 1 if "scoreLead" in pairs or "." in pairs.get("winrate", "") else _LEELA_UNIT
    return Candidate(
        parse_vertex(pairs["move"], width, height),
        int(pairs["visits"]),
        None if winrate is None else winrate / unit,
        _finite(pairs, "scoreLead"),
        tuple(parse_vertex(word, width, height) for word in _variation(words[place + 1 :])),
    )


def _finite(pairs: dict[str, str], key: str) -> float | None:
    """Return a number; None if it is missing or not finite."""
    value = float(pairs.get(key, "nan"))
    return value if math.isfinite(value) else None


def _variation(words: list[str]) -> Iterator[str]:
    """Yield the moves of a variation, up to the next field."""
    for word in words:
        if word in _AFTER_VARIATION:
            return
        yield word


def _pairs(words: list[str]) -> dict[str, str]:
    return dict(zip(words[::2], words[1::2], strict=False))


def parse_move(text: str, width: int, height: int) -> int | None:
    """Return the vertex of a reply to genmove; None for a resignation or anything else."""
    word = text.split()[0] if text.split() else ""
    try:
        return parse_vertex(word, width, height)
    except BadVertex:
        return None


def parse_score(text: str) -> float | None:
    """Parse a reply to `estimate_score` or `final_score`, such as "W+3.5 (upper bound: ..)", into Black's lead."""
    if _JIGO.match(text):
        return 0.0
    match = _SCORE.match(text)
    if match is None:
        return None
    margin = float(match[2])
    return for_color(margin, BLACK if match[1] in "Bb" else WHITE)
