"""The rules of one game as a frozen value, with the presets that controllers name.

Fields, presets and shorthands are KataGo's (`kata-set-rules`, `kata-get-rules`). Komi is no part
of the rules here: it belongs to the game, as in GTP.
"""

import json
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
_TRUTH = {"true": True, "1": True, "false": False, "0": False}

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


def parse_rules(text: str) -> Rules:
    """Return the rules that a shorthand ("chinese") or a JSON object names.

    A JSON object starts from Tromp-Taylor; with territory scoring and no tax given, tax is SEKI.
    Raises BadRules on anything unknown.
    """
    stripped = text.strip()
    if stripped.startswith("{"):
        try:
            given = json.loads(stripped)
        except ValueError as error:
            raise BadRules(f"rules are no valid JSON: {error}") from error
        base = TROMP_TAYLOR
        if given.get("scoring") == "TERRITORY" and "tax" not in given:
            base = replace(base, tax=Tax.SEKI)
        return _from_mapping(given, base)
    name = stripped.lower().replace("_", "-")
    known = PRESETS | SERVER_PRESETS
    if name not in known:
        raise BadRules(f"unknown rules {text!r}, expected one of {' '.join(known)}, or a JSON object")
    return known[name]


def preset_name(rules: Rules) -> str | None:
    """Return the first preset name that means these rules, or None."""
    return next((name for name, preset in PRESETS.items() if preset == rules), None)


def _from_mapping(given: Mapping[str, object], base: Rules) -> Rules:
    changes: dict[str, object] = {}
    for key, value in given.items():
        if key not in _FIELDS:
            raise BadRules(f"unknown rule {key!r}, expected one of {' '.join(_FIELDS)}")
        field, kind = _FIELDS[key]
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
