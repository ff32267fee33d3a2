"""The rules of one game as a frozen value, with the presets that controllers name.

Fields, presets and shorthands are KataGo's (`kata-set-rules`, `kata-get-rules`). Komi is no part
of the rules here: it belongs to the game, as in GTP. What is usual with each rule set is told beside it.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from engine.errors import BadRules


class Ko(StrEnum):
    """Which repetitions are forbidden."""

    SIMPLE = "SIMPLE"
    POSITIONAL = "POSITIONAL"
    SITUATIONAL = "SITUATIONAL"


class Scoring(StrEnum):
    """What counts at the end: stones and territory, or territory and prisoners."""

    AREA = "AREA"
    TERRITORY = "TERRITORY"


class Tax(StrEnum):
    """Which points do not count: none, those in seki, or also two for every living group."""

    NONE = "NONE"
    SEKI = "SEKI"
    ALL = "ALL"


class HandicapBonus(StrEnum):
    """What White receives for N handicap stones."""

    ZERO = "0"
    N = "N"
    N_MINUS_ONE = "N-1"


@dataclass(frozen=True)
class Rules:
    """One rule set.

    suicide: removing a chain of two or more own stones is legal; a single stone never is.
    button: the first pass is worth half a point to the passer (area-button rules).
    friendly_pass: players may pass without first capturing dead stones.
    """

    ko: Ko = Ko.POSITIONAL
    scoring: Scoring = Scoring.AREA
    tax: Tax = Tax.NONE
    suicide: bool = True
    button: bool = False
    handicap_bonus: HandicapBonus = HandicapBonus.ZERO
    friendly_pass: bool = False

    @property
    def is_area(self) -> bool:
        """True under area scoring."""
        return self.scoring is Scoring.AREA

    @property
    def may_agree(self) -> bool:
        """Players may take dead stones off by agreement; elsewhere what stands counts."""
        return self.friendly_pass or not self.is_area

    def with_field(self, name: str, value: object) -> "Rules":
        """Return a copy with one field, named as in `kata-set-rule`, replaced.

        Raises BadRules on an unknown field or value.
        """
        return _from_mapping({name: value}, self)

    def to_json(self) -> str:
        """Return the one-line JSON text of `kata-get-rules`."""
        return json.dumps({key: getattr(self, field) for key, (field, _) in sorted(_FIELDS.items())})


_FIELDS: dict[str, tuple[str, type[bool] | type[StrEnum]]] = {
    "ko": ("ko", Ko),
    "scoring": ("scoring", Scoring),
    "tax": ("tax", Tax),
    "suicide": ("suicide", bool),
    "hasButton": ("button", bool),
    "whiteHandicapBonus": ("handicap_bonus", HandicapBonus),
    "friendlyPassOk": ("friendly_pass", bool),
}
_SHORT_FIELDS = {
    "score": "scoring",
    "sui": "suicide",
    "button": "hasButton",
    "whb": "whiteHandicapBonus",
    "fpok": "friendlyPassOk",
}
_TERM = r"(komi|ko|scoring|score|tax|sui|button|whb|fpok)\s*([A-Z]+(?:-1)?|-?[0-9]+(?:\.[0-9]+)?)\s*"
_TERMS = re.compile(f"(?:{_TERM})+")
"""KataGo's long form, in any order: koSIMPLEscoreAREAtaxNONEsui0."""
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
MOST_KOMI = 400.0
"""The largest komi that a game may have, for either side."""

TROMP_TAYLOR = Rules()
CHINESE = Rules(ko=Ko.SIMPLE, suicide=False, handicap_bonus=HandicapBonus.N, friendly_pass=True)
CHINESE_KGS = replace(CHINESE, ko=Ko.POSITIONAL)
JAPANESE = Rules(ko=Ko.SIMPLE, scoring=Scoring.TERRITORY, tax=Tax.SEKI, suicide=False)
AGA = Rules(ko=Ko.SITUATIONAL, suicide=False, handicap_bonus=HandicapBonus.N_MINUS_ONE, friendly_pass=True)
NEW_ZEALAND = Rules(ko=Ko.SITUATIONAL, friendly_pass=True)
STONE_SCORING = Rules(ko=Ko.SIMPLE, tax=Tax.ALL, suicide=False, friendly_pass=True)
ANCIENT_TERRITORY = Rules(ko=Ko.SIMPLE, scoring=Scoring.TERRITORY, tax=Tax.ALL, suicide=False)
GOE = Rules(friendly_pass=True)

PRESETS: dict[str, Rules] = {
    "tromp-taylor": TROMP_TAYLOR,
    "chinese": CHINESE,
    "chinese-ogs": CHINESE_KGS,
    "chinese-kgs": CHINESE_KGS,
    "japanese": JAPANESE,
    "korean": JAPANESE,
    "stone-scoring": STONE_SCORING,
    "ancient-area": STONE_SCORING,
    "ancient-territory": ANCIENT_TERRITORY,
    "aga": AGA,
    "bga": AGA,
    "french": AGA,
    "aga-button": replace(AGA, button=True),
    "new-zealand": NEW_ZEALAND,
    "goe": GOE,
    "ing": GOE,
}

SERVER_PRESETS: dict[str, Rules] = {
    "cgos": replace(TROMP_TAYLOR, suicide=False),
}
"""Rules of servers that KataGo has no name for: known here, told to other programs by their fields."""

KGS_PRESETS: dict[str, Rules] = {
    "chinese": CHINESE_KGS,
    "japanese": JAPANESE,
    "aga": AGA,
    "new_zealand": NEW_ZEALAND,
}
"""The names that `kgs-rules` sends, which differ from the shorthands for Chinese rules."""

_KNOWN = PRESETS | SERVER_PRESETS
_NAMES = {name.replace("-", ""): name for name in _KNOWN} | {
    "jp": "japanese",
    "jpn": "japanese",
    "cn": "chinese",
    "nz": "new-zealand",
    "tt": "tromp-taylor",
    "inggoe": "ing",
    "gor": "bga",
}
"""Names without what joins their words -> presets."""
_KOMI = {"new-zealand": 7.0}
"""The komi of presets where it is not the `usual_komi`."""


def parse_rules(text: str) -> Rules:
    """Return the rules that a shorthand ("chinese"), a JSON object or KataGo's long form names.

    Fields that are not told are those of Tromp-Taylor; with territory scoring and no tax given, tax is SEKI.
    Raises BadRules on anything unknown, a komi among it.
    """
    given = _read_fields(text)
    return _KNOWN[_preset_named(text)] if given is None else _from_fields(given)


def parse_rules_and_komi(text: str) -> tuple[Rules, float]:
    """Return what `parse_rules` does, and the komi that the text gives as a field or that is usual. Raises BadRules."""
    given = _read_fields(text)
    if given is None:
        name = _preset_named(text)
        return _KNOWN[name], _KOMI.get(name, usual_komi(_KNOWN[name]))
    rules = _from_fields({key: value for key, value in given.items() if key != "komi"})
    return rules, _parse_komi(given["komi"]) if "komi" in given else usual_komi(rules)


def usual_komi(rules: Rules) -> float:
    """Return the komi of games under such rules, by KataGo's reckoning."""
    if not rules.is_area:
        return 6.5
    return 7.0 if rules.button else 7.5


def is_komi(komi: float) -> bool:
    """True for a multiple of a half within MOST_KOMI."""
    return abs(komi) <= MOST_KOMI and (2.0 * komi).is_integer()


def preset_name(rules: Rules) -> str | None:
    """Return the first preset name that means these rules, or None."""
    return next((name for name, preset in PRESETS.items() if preset == rules), None)


def _preset_named(text: str) -> str:
    """Return the preset that a name means, however its words are joined. Raises BadRules."""
    name = re.sub(r"[\s_-]|rules", "", text.lower())
    if name not in _NAMES:
        raise BadRules(f"unknown rules {text!r}, expected one of {' '.join(_KNOWN)}, or a JSON object")
    return _NAMES[name]


def _read_fields(text: str) -> dict[str, object] | None:
    """Return the fields of a JSON object or of the long form, None for a text that is neither. Raises BadRules."""
    stripped = text.strip()
    if _TERMS.fullmatch(stripped):
        return dict(re.findall(_TERM, stripped))
    if not stripped.startswith("{"):
        return None
    try:
        given: dict[str, object] = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise BadRules(f"rules are no valid JSON: {error}") from error
    return given


def _from_fields(given: Mapping[str, object]) -> Rules:
    """Return the rules of some fields, the others being those of Tromp-Taylor."""
    rules = _from_mapping(given, TROMP_TAYLOR)
    return rules if rules.is_area or "tax" in given else replace(rules, tax=Tax.SEKI)


def _from_mapping(given: Mapping[str, object], base: Rules) -> Rules:
    changes: dict[str, object] = {}
    for key, value in given.items():
        name = _SHORT_FIELDS.get(key, key)
        if name not in _FIELDS:
            raise BadRules(f"unknown rule {key!r}, expected one of {' '.join(_FIELDS)}")
        field, kind = _FIELDS[name]
        changes[field] = _parse_choice(key, value, kind) if issubclass(kind, StrEnum) else _parse_bool(key, value)
    return replace(base, **changes)  # type: ignore[arg-type]


def _parse_bool(key: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    raise BadRules(f"rule {key!r}: expected true or false, got {value!r}")


def _parse_choice(key: str, value: object, kind: type[StrEnum]) -> object:
    try:
        return kind(str(value).upper())
    except ValueError:
        choices = " ".join(member.value for member in kind)
        raise BadRules(f"rule {key!r}: expected one of {choices}, got {value!r}") from None


def _parse_komi(value: object) -> float:
    try:
        komi = float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        komi = math.nan
    if not is_komi(komi):
        raise BadRules(f"komi: expected a multiple of 0.5 from {-MOST_KOMI:g} to {MOST_KOMI:g}, got {value!r}")
    return komi
