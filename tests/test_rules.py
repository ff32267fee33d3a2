"""Rule sets: presets, shorthands, JSON, single fields, and what is refused."""

import json
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadRules
from engine.records.sgf_writer import format_ru
from engine.rules import (
    KGS_PRESETS,
    PRESETS,
    SERVER_PRESETS,
    TROMP_TAYLOR,
    Ko,
    Rules,
    Tax,
    parse_rules,
    parse_rules_and_komi,
    preset_name,
)

KATAGO = {
    "tromp-taylor": ("POSITIONAL", "AREA", "NONE", True, False, "0", False),
    "chinese": ("SIMPLE", "AREA", "NONE", False, False, "N", True),
    "chinese-ogs": ("POSITIONAL", "AREA", "NONE", False, False, "N", True),
    "chinese-kgs": ("POSITIONAL", "AREA", "NONE", False, False, "N", True),
    "japanese": ("SIMPLE", "TERRITORY", "SEKI", False, False, "0", False),
    "korean": ("SIMPLE", "TERRITORY", "SEKI", False, False, "0", False),
    "aga": ("SITUATIONAL", "AREA", "NONE", False, False, "N-1", True),
    "bga": ("SITUATIONAL", "AREA", "NONE", False, False, "N-1", True),
    "french": ("SITUATIONAL", "AREA", "NONE", False, False, "N-1", True),
    "aga-button": ("SITUATIONAL", "AREA", "NONE", False, True, "N-1", True),
    "new-zealand": ("SITUATIONAL", "AREA", "NONE", True, False, "0", True),
    "stone-scoring": ("SIMPLE", "AREA", "ALL", False, False, "0", True),
    "ancient-area": ("SIMPLE", "AREA", "ALL", False, False, "0", True),
    "ancient-territory": ("SIMPLE", "TERRITORY", "ALL", False, False, "0", False),
    "goe": ("POSITIONAL", "AREA", "NONE", True, False, "0", True),
    "ing": ("POSITIONAL", "AREA", "NONE", True, False, "0", True),
}
FIELDS = ("ko", "scoring", "tax", "suicide", "hasButton", "whiteHandicapBonus", "friendlyPassOk")

any_rules = st.builds(Rules, **{each.name: st.from_type(type(each.default)) for each in fields(Rules)})


def test_every_preset_of_katago_is_known() -> None:
    assert set(PRESETS) == set(KATAGO)


@pytest.mark.parametrize("name", KATAGO)
def test_presets_are_those_of_katago(name: str) -> None:
    assert json.loads(PRESETS[name].to_json()) == dict(zip(FIELDS, KATAGO[name], strict=True))
    for spelling in (name, name.upper(), *(name.replace("-", join) for join in ("_", " ", "")), f" {name} "):
        assert parse_rules(spelling) == PRESETS[name]
    found = preset_name(PRESETS[name])
    assert found is not None
    assert PRESETS[found] == PRESETS[name]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name: str) -> None:
    assert parse_rules(PRESETS[name].to_json()) == PRESETS[name]


@given(any_rules)
def test_all_rules_survive_json_on_one_line(rules: Rules) -> None:
    assert parse_rules(rules.to_json()) == rules
    assert "\n" not in rules.to_json()


@given(any_rules)
def test_all_rules_survive_the_long_form_and_the_name_in_records(rules: Rules) -> None:
    assert parse_rules(rules.to_long_form()) == parse_rules(format_ru(rules)) == rules


def test_kgs_rules_are_known_by_the_names_of_kgs() -> None:
    assert set(KGS_PRESETS) == {"chinese", "japanese", "aga", "new_zealand"}
    assert KGS_PRESETS["chinese"].ko is Ko.POSITIONAL


def test_cgos_plays_tromp_taylor_without_suicide() -> None:
    assert parse_rules("cgos") == TROMP_TAYLOR.with_field("suicide", False)
    assert set(SERVER_PRESETS).isdisjoint(PRESETS)
    assert preset_name(SERVER_PRESETS["cgos"]) is None  # other programs do not know the name


def test_json_starts_from_tromp_taylor() -> None:
    assert parse_rules("{}") == TROMP_TAYLOR
    assert parse_rules('{"ko":"simple"}') == TROMP_TAYLOR.with_field("ko", "SIMPLE")
    assert parse_rules('{"scoring":"TERRITORY"}').tax is Tax.SEKI
    assert parse_rules('{"scoring":"TERRITORY","tax":"NONE"}').tax is Tax.NONE


@pytest.mark.parametrize(
    ("text", "name"),
    [("nz", "new-zealand"), ("Japanese rules", "japanese"), ("TT", "tromp-taylor"), ("Ing Goe", "goe")],
)
def test_presets_have_short_and_long_names(text: str, name: str) -> None:
    assert parse_rules(text) == PRESETS[name]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("koSIMPLEscoreAREAtaxNONEsui0", '{"ko":"SIMPLE","suicide":false}'),
        ("scoringTERRITORY ko SITUATIONAL", '{"scoring":"TERRITORY","ko":"SITUATIONAL"}'),
        ("koSIMPLEscoreAREAtaxALLsui1button1whbN-1fpok1", '{"ko":"SIMPLE","tax":"ALL","hasButton":true,'
         '"whiteHandicapBonus":"N-1","friendlyPassOk":true}'),
        ('{"score":"territory"}', '{"scoring":"TERRITORY","tax":"SEKI"}'),
    ],
)  # fmt: skip
def test_fields_have_short_names(text: str, same: str) -> None:
    assert parse_rules(text) == parse_rules(same)


@pytest.mark.parametrize(
    ("text", "komi"),
    [
        *((name, 7.5) for name in ("chinese", "aga", "goe", "tromp-taylor", "stone-scoring", "cgos", "{}")),
        *((name, 6.5) for name in ("japanese", "korean", "ancient-territory", '{"scoring":"territory"}')),
        *((name, 7.0) for name in ("new-zealand", "nz", "aga-button", '{"hasButton":true}')),
        (PRESETS["new-zealand"].to_json(), 7.5),
        ('{"scoring": "TERRITORY", "komi": -3}', -3.0),
        ("scoreTERRITORYkomi5.5", 5.5),
    ],
)
def test_komi_is_given_or_follows_from_the_rules_as_in_katago(text: str, komi: float) -> None:
    assert parse_rules_and_komi(text)[1] == komi


@pytest.mark.parametrize("komi", ["7.25", "401", "1e999", "NaN", "null", "[7.5]", '"much"', "1" + "0" * 400])
def test_a_komi_that_no_game_can_have_is_refused(komi: str) -> None:
    with pytest.raises(BadRules):
        parse_rules_and_komi(f'{{"komi":{komi}}}')


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("suicide", "false", False), ("suicide", "1", True), ("suicide", True, True), ("hasButton", "TRUE", True)],
)
def test_booleans_may_be_words(field: str, value: object, expected: bool) -> None:
    assert json.loads(TROMP_TAYLOR.with_field(field, value).to_json())[field] is expected


@pytest.mark.parametrize(
    "text",
    ["", "chess", "{", "{]", "[]", "null", '{"ko":"SPIRAL"}', '{"ko":null}', '{"komi":7.5}', '{"suicide":"maybe"}',
     '{"suicide":2}', '{"suicide":1.5}', '{"ko":["SIMPLE"]}', '{"whiteHandicapBonus":"N-2"}', '{"Ko":"SIMPLE"}',
     "rules", "koSPIRAL", "koSIMPLEkomi7.5", "ko", '{"ko":' * 200_000, '{"ko":' + "[" * 900 + "]" * 900 + "}"],
)  # fmt: skip
def test_what_is_no_rule_set_is_refused(text: str) -> None:
    with pytest.raises(BadRules) as caught:
        parse_rules(text)
    assert str(caught.value)
    assert "\n" not in str(caught.value)
