"""The rules of a game as an immutable value, with the presets that controllers use.

Fields, presets and shorthands are KataGo's (`kata-set-rules`, `kata-get-rules`). Komi is not part of the rules: it
belongs to the game, as in GTP. The usual komi of each rule set is listed separately.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from engine.errors import BadRules
from engine.support.json_text import json_text


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
    """Which points do not count: none, points in seki, or those and two points for every living group."""

    NONE = "NONE"
    SEKI = "SEKI"
    ALL = "ALL"


class HandicapBonus(StrEnum):
    """Points that White receives for N handicap stones."""

    ZERO = "0"
    N = "N"
    N_MINUS_ONE = "N-1"

    def points(self, stones: int) -> int:
        """Return the points for a number of handicap stones."""
        given = {HandicapBonus.ZERO: 0, HandicapBonus.N: stones, HandicapBonus.N_MINUS_ONE: stones - 1}
        return max(0, given[self])


BUTTON_POINTS = 0.5
"""What the first pass is worth to its player under rules with a button."""


@dataclass(frozen=True)
class Rules:
    """One rule set.

    suicide: a chain of two or more own stones may be removed; a single stone never.
    button: the first pass gives BUTTON_POINTS to the player who passes (area-button rules).
    friendly_pass: players may pass without capturing dead stones first.
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
        """True if players may remove dead stones by agreement; otherwise every stone on the board counts."""
        return self.friendly_pass or not self.is_area

    def with_field(self, name: str, value: object) -> "Rules":
        """Return a copy with one field, named as in `kata-set-rule`, replaced.

        Raises BadRules for an unknown field or value.
        """
        return _from_mapping({name: value}, self)

    def to_json(self) -> str:
        """Return the one-line JSON text of `kata-get-rules`."""
        return json_text({each.name: getattr(self, each.field) for each in sorted(RULE_FIELDS)})

    def to_long_form(self) -> str:
        """Return KataGo's long form, which records have for rules without a name: koSIMPLEscoreAREAtaxNONEsui0..."""
        values = [(each.short, getattr(self, each.field)) for each in RULE_FIELDS]
        return "".join(f"{name}{int(value) if isinstance(value, bool) else value}" for name, value in values)


class RuleField(NamedTuple):
    """A field of `Rules`. name: in JSON and `kata-set-rule`. short: in the long form. kind: of its values."""

    name: str
    short: str
    field: str
    kind: type[bool] | type[StrEnum]


RULE_FIELDS = (
    RuleField("ko", "ko", "ko", Ko),
    RuleField("scoring", "score", "scoring", Scoring),
    RuleField("tax", "tax", "tax", Tax),
    RuleField("suicide", "sui", "suicide", bool),
    RuleField("hasButton", "button", "button", bool),
    RuleField("whiteHandicapBonus", "whb", "handicap_bonus", HandicapBonus),
    RuleField("friendlyPassOk", "fpok", "friendly_pass", bool),
)
"""All fields, in the order of the long form."""
_NAMED = {each.short: each for each in RULE_FIELDS} | {each.name: each for each in RULE_FIELDS}
# The longest first: "komi" and "scoring" begin with other names.
_KEYS = sorted({"komi", "scoring", *(each.short for each in RULE_FIELDS)}, key=len, reverse=True)
_TERM = rf"({'|'.join(_KEYS)})\s*([A-Z]+(?:-1)?|-?[0-9]+(?:\.[0-9]+)?)\s*"
# The long form, terms in any order.
_TERMS = re.compile(f"(?:{_TERM})+")
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
MOST_KOMI = 400.0
"""The largest komi, for either side."""

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
    "chinese-kgs": CHINESE_KGS,
    "chinese-ogs": CHINESE_KGS,
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
"""Rule sets of servers that KataGo has no name for. Other programs receive them field by field."""

KGS_PRESETS: dict[str, Rules] = {
    "chinese": CHINESE_KGS,
    "japanese": JAPANESE,
    "aga": AGA,
    "new_zealand": NEW_ZEALAND,
}
"""The arguments of `kgs-rules`; its "chinese" has positional superko, unlike KataGo's shorthand."""

_KNOWN = PRESETS | SERVER_PRESETS
# Names without hyphens, and aliases -> preset names.
_NAMES = {name.replace("-", ""): name for name in _KNOWN} | {
    "jp": "japanese",
    "jpn": "japanese",
    "cn": "chinese",
    "nz": "new-zealand",
    "tt": "tromp-taylor",
    "inggoe": "ing",
    "gor": "bga",
}
# Komi of the presets that differ from `usual_komi`.
_KOMI = {"new-zealand": 7.0}


def parse_rules(text: str) -> Rules:
    """Parse a shorthand ("chinese"), a JSON object or KataGo's long form.

    Missing fields are Tromp-Taylor's; with territory scoring, a missing tax means SEKI.
    Raises BadRules for anything unknown, and for a komi.
    """
    given = _read_fields(text)
    return _KNOWN[_preset_named(text)] if given is None else _from_fields(given)


def parse_rules_and_komi(text: str) -> tuple[Rules, float]:
    """Parse rules like `parse_rules`, and the komi given as a field, else the usual one. Raises BadRules."""
    given = _read_fields(text)
    if given is None:
        name = _preset_named(text)
        return _KNOWN[name], _KOMI.get(name, usual_komi(_KNOWN[name]))
    rules = _from_fields({key: value for key, value in given.items() if key != "komi"})
    return rules, _parse_komi(given["komi"]) if "komi" in given else usual_komi(rules)


def usual_komi(rules: Rules) -> float:
    """Return the komi that KataGo uses by default under these rules."""
    if not rules.is_area:
        return 6.5
    return 7.0 if rules.button else 7.5


def is_komi(komi: float) -> bool:
    """True for a multiple of 0.5 of at most MOST_KOMI for either side."""
    return abs(komi) <= MOST_KOMI and (2.0 * komi).is_integer()


def preset_name(rules: Rules) -> str | None:
    """Return the first preset name of these rules, or None."""
    return next((name for name, preset in PRESETS.items() if preset == rules), None)


def rules_name(rules: Rules) -> str | None:
    """Return the first name by which `parse_rules` knows these rules, those of servers included, or None."""
    return next((name for name, known in _KNOWN.items() if known == rules), None)


def rules_text(rules: Rules) -> str:
    """Return `rules_name`, else the rules as JSON; `parse_rules` reads both."""
    return rules_name(rules) or rules.to_json()


def _preset_named(text: str) -> str:
    """Return the name of a preset; spaces, hyphens and the word "rules" are ignored. Raises BadRules."""
    # Records write "Chinese rules", "New_Zealand", "tromp taylor".
    name = re.sub(r"[\s_-]|rules", "", text.lower())
    if name not in _NAMES:
        raise BadRules(f"unknown rules {text!r}, expected one of {' '.join(_KNOWN)}, or a JSON object")
    return _NAMES[name]


def _read_fields(text: str) -> dict[str, object] | None:
    """Return the fields of a JSON object or of the long form, None for any other text. Raises BadRules."""
    stripped = text.strip()
    if _TERMS.fullmatch(stripped):
        return dict(re.findall(_TERM, stripped))
    if not stripped.startswith("{"):
        return None
    try:
        given: dict[str, object] = json.loads(stripped)
    except (ValueError, RecursionError) as error:
        raise BadRules(f"rules are not valid JSON: {error}") from error
    return given


def _from_fields(given: Mapping[str, object]) -> Rules:
    """Return the rules with the given fields; missing ones are Tromp-Taylor's."""
    rules = _from_mapping(given, TROMP_TAYLOR)
    # KataGo's default with territory scoring.
    return rules if rules.is_area or "tax" in given else replace(rules, tax=Tax.SEKI)


def _from_mapping(given: Mapping[str, object], base: Rules) -> Rules:
    changes: dict[str, object] = {}
    for key, value in given.items():
        if key not in _NAMED:
            raise BadRules(f"unknown rule {key!r}, expected one of {' '.join(each.name for each in RULE_FIELDS)}")
        kind, field = _NAMED[key].kind, _NAMED[key].field
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
