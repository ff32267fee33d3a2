"""What each graphical program demands of the lines that it reads: its parser's rules, stated again.

Every function takes one line as the program gets it, and the board's size; it raises BadLine where the program would
crash, show nothing, or show something wrong. `analysis_lines` states the grammar; this states the readers.
"""

import json
import re
from collections.abc import Callable

from tests.gtp.analysis_lines import BadLine

_POINT = re.compile(r"[A-HJ-Z]\d{1,2}")
_JAVA_INT = re.compile(r"[+-]?\d{1,9}")
_JAVA_DOUBLE = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_PV = re.compile(r"(pass|[A-Za-z]\d+)(\s+(pass|[A-Za-z]\d+))*$")
_OWNERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

Oracle = Callable[[str, int, int], None]


def require(truth: object, why: str, line: str) -> None:
    """Raise BadLine with the reason and the start of the line."""
    if not truth:
        raise BadLine(f"{why}: {line[:300]!r}")


def _sabaki(line: str) -> list[dict[str, str]]:
    """Return the pairs of each move that Sabaki finds; its variation is anchored at the end of its segment."""
    line = re.split(r"ownership\s+", line)[0]
    found = []
    for segment in re.split(r"\s*info\s+", line)[1:]:
        match = _PV.search(segment.strip())
        require(match, "no variation at the end of a move", line)
        assert match is not None
        *tokens, name = segment.strip()[: match.start()].split()
        require(name == "pv" and len(tokens) % 2 == 0, "keys and values do not alternate before pv", line)
        fields = dict(zip(tokens[::2], tokens[1::2], strict=True))
        require({"move", "visits", "winrate"} <= fields.keys(), "a move without visits or winrate", line)
        require(int(fields["visits"]) > 0, "a move without visits would be shown as the best", line)
        found.append(fields)
    scored = ["scoreLead" in fields for fields in found]
    require(found and (all(scored) or not any(scored)), "a score on some moves only makes it NaN", line)
    return found


def sabaki_kata(line: str, width: int, height: int) -> None:
    """Sabaki (0.60): chances of kata-analyze are fractions, told apart from Leela Zero's by their decimal point."""
    for fields in _sabaki(line):
        require("." in fields["winrate"], "a winrate without a decimal point is read as hundredths of percents", line)
        require(0.0 <= float(fields["winrate"]) <= 1.0 and "e" not in fields["winrate"], "no plain fraction", line)


def sabaki_lz(line: str, width: int, height: int) -> None:
    """Sabaki: chances of lz-analyze are whole numbers."""
    for fields in _sabaki(line):
        require(fields["winrate"].isdigit() and int(fields["winrate"]) <= 10000, "no whole winrate", line)


def _java(line: str, whole: set[str], real: set[str]) -> None:
    """Read a line as Lizzie and LizzieYzy do: pairs up to pv, ints by parseInt, reals by parseDouble."""
    require(line.startswith("info "), "does not begin with info", line)
    moves = line[len("info ") :].split(" info ")
    for move in moves:
        data = move.strip().split(" ")
        require("pv" in data, "a move without a variation", line)
        end = data.index("pv")
        require(end % 2 == 0, "a key without a value", line)
        fields = dict(zip(data[:end:2], data[1:end:2], strict=True))
        require(fields.get("move", "pass") == "pass" or _POINT.fullmatch(fields["move"]), "no move", line)
        for name in whole:
            require(_JAVA_INT.fullmatch(fields.get(name, "")), f"{name} is no int", line)
        for name in real:
            require(_JAVA_DOUBLE.fullmatch(fields.get(name, "")), f"{name} is no double", line)
        require(len(data) > end + 1, "an empty variation", line)


def lizzie_lz(line: str, width: int, height: int) -> None:
    """Lizzie (0.7.4): Leela Zero's lines by Integer.parseInt."""
    _java(line, {"visits", "winrate"}, set())


def lizzie_kata(line: str, width: int, height: int) -> None:
    """Lizzie as it reads KataGo: scoreMean is needed, and all after `ownership` is numbers, one a point."""
    _java(line, {"visits"}, {"winrate", "scoreMean", "scoreStdev"})
    if "ownership" in line:
        owners = line.strip().split("ownership")[1].strip().split(" ")
        require(all(map(_JAVA_DOUBLE.fullmatch, owners)), "ownership is followed by something else", line)
        require(len(owners) == width * height, "not an owner for each point", line)


def lizzieyzy_lz(line: str, width: int, height: int) -> None:
    """LizzieYzy: as Lizzie, and lcb, prior and order are ints too."""
    _java(line, {"visits", "winrate", "lcb", "prior", "order"}, set())


def lizzieyzy_kata(line: str, width: int, height: int) -> None:
    """LizzieYzy as it reads KataGo; pvVisits follows the variation with as many numbers."""
    _java(line, {"visits", "order"}, {"winrate", "scoreMean", "scoreStdev", "lcb", "prior"})
    for move in line.split("info ")[1:]:
        words = move.split(" ownership ")[0].split(" rootInfo ")[0].split()
        if "pvVisits" in words:
            start, counts = words.index("pv") + 1, words.index("pvVisits") + 1
            end = next((place for place in range(counts, len(words)) if not words[place].isdigit()), len(words))
            require(end - counts == counts - 1 - start, "pvVisits and pv differ in length", line)


def _lizgoban(line: str) -> None:
    """Split a line as LizGoban does: at the keys of variable length, everything before them in pairs."""
    first = re.split(r"\b(?=ownership|ownershipStdev|rootInfo)\b", line)[0]
    for move in first.split("info ")[1:]:
        pairs = re.split(r"\s*(?=\b(?:pv|pvVisits|pvEdgeVisits|movesOwnership)\b)", move.strip())[0].split()
        require(len(pairs) % 2 == 0, "keys and values do not alternate", line)
        fields = dict(zip(pairs[::2], pairs[1::2], strict=True))
        require({"move", "visits", "winrate", "order", "prior", "lcb"} <= fields.keys(), "a field is missing", line)


def lizgoban_kata(line: str, width: int, height: int) -> None:
    """LizGoban: owners as many as points, and rootInfo in pairs."""
    _lizgoban(line)
    for name, count in (("ownership", width * height), ("ownershipStdev", width * height)):
        match = re.search(rf"\b{name}((?: -?[\d.]+)+)", line)
        if f" {name} " in line:
            require(match and len(match.group(1).split()) == count, f"not as many in {name} as points", line)
    match = re.search(r"\brootInfo ((?:[A-Za-z]+ -?[\d.]+ ?)+)", line)
    require("rootInfo" not in line or match, "rootInfo is not made of pairs", line)


def lizgoban_lz(line: str, width: int, height: int) -> None:
    """LizGoban as it reads Leela Zero's lines."""
    _lizgoban(line)


def cgos(line: str, width: int, height: int) -> None:
    """CGOS's viewer: one JSON object, no line break in it, owners as letters, variations without their first move."""
    found = json.loads(line)
    require("\n" not in line and set(found) <= _CGOS_KEYS and found["moves"], "unknown or missing keys", line)
    require(0.0 <= found["winrate"] <= 1.0 and isinstance(found["visits"], int), "no winrate or visits", line)
    for move in found["moves"]:
        require(set(move) == {"move", "winrate", "score", "prior", "visits", "pv"}, "keys of a move", line)
        require(not move["pv"] or move["pv"].split(" ")[0] != move["move"], "the variation repeats its move", line)
    if "ownership" in found:
        letters = found["ownership"]
        require(len(letters) == width * height and set(letters) <= set(_OWNERS[:63]), "owners", line)


_CGOS_KEYS = {"winrate", "score", "visits", "moves", "ownership", "comment"}

ORACLES: dict[str, Oracle] = {
    "sabaki-kata": sabaki_kata,
    "sabaki-lz": sabaki_lz,
    "lizzie-kata": lizzie_kata,
    "lizzie-lz": lizzie_lz,
    "lizzieyzy-kata": lizzieyzy_kata,
    "lizzieyzy-lz": lizzieyzy_lz,
    "lizgoban-kata": lizgoban_kata,
    "lizgoban-lz": lizgoban_lz,
    "cgos": cgos,
}
"""By program and grammar."""
