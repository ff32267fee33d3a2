"""Parameters by KataGo's names: what they stand for, what is refused, and that all is changed or nothing."""

import dataclasses
import json
from dataclasses import replace

import pytest

from engine.evaluators.raw import RawNetwork
from engine.players import SearchPlayer
from engine.search.params import ROLLOUT_PARAMS, SEARCH_SETTINGS, SearchParams
from gtp.commands import HANDLERS
from gtp.params import PARAMS
from gtp.state import GtpState, Perspective, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import CONFIG, ask, new_state
from tests.gtp.test_networks import FACTS, FixedEvaluator
from tests.search.test_parameters import signature
from tests.search.test_values import DetailedEvaluator

SEARCH = {field.name for field in dataclasses.fields(SearchParams)}
SESSION = {field.name for field in dataclasses.fields(SessionConfig)}


def test_every_name_stands_for_a_field_of_its_own() -> None:
    for param in PARAMS.values():
        assert param.field in (SESSION if param.of_session else SEARCH)
    assert len({(param.of_session, param.field) for param in PARAMS.values()}) == len(PARAMS)
    assert list(PARAMS) == sorted(PARAMS)


@pytest.mark.parametrize("params", [SearchParams(), ROLLOUT_PARAMS], ids=["network", "rollouts"])
def test_every_number_has_a_range_of_its_kind_that_holds_its_default(params: SearchParams) -> None:
    numbers = {name: value for name, value in dataclasses.asdict(params).items() if not isinstance(value, bool | str)}
    assert set(SEARCH_SETTINGS) == set(dataclasses.asdict(params))
    for name, number in numbers.items():
        setting = SEARCH_SETTINGS[name]
        assert setting.least is not None
        assert setting.most is not None
        assert setting.least <= number <= setting.most
        assert type(setting.least) is type(setting.most) is type(number)


def test_all_names_are_listed_and_reported() -> None:
    state = new_state()
    listed = ask(state, "kata-list-params").split(" ")
    reported = json.loads(ask(state, "kata-get-params"))
    assert listed == list(PARAMS) == list(reported)
    for name, value in reported.items():
        text = ask(state, f"kata-get-param {name}")
        assert text == (value if isinstance(value, str) else json.dumps(value))


@pytest.mark.parametrize("name", PARAMS)
def test_what_is_reported_can_be_set_and_changes_nothing(name: str) -> None:
    player = FakePlayer()
    state = new_state(player)
    assert ask(state, f"kata-set-param {name} {ask(state, f'kata-get-param {name}')}") == ""
    assert player.params == SearchParams()
    assert state.config == new_state().config


def test_what_get_params_reports_can_be_set_as_a_whole() -> None:
    player = FakePlayer()
    state = new_state(player)
    assert ask(state, f"kata-set-params {ask(state, 'kata-get-params')}") == ""
    assert player.params == SearchParams()


@pytest.mark.parametrize(
    ("name", "text", "field", "value", "reported"),
    [
        ("maxVisits", "50", "visits", 50, "50"),
        ("maxVisits", "1125899906842624", "visits", None, "1125899906842624"),
        ("maxTime", "2.5", "seconds", 2.5, "2.5"),
        ("maxTime", "1e20", "seconds", None, "1e+20"),
        ("lagBuffer", "2", "lag_buffer", 2.0, "2.0"),
        ("ponderingEnabled", "TRUE", "ponder", True, "true"),
        ("analysisPVLen", "30", "pv_length", 30, "30"),
        ("analysisWideRootNoise", "0", "analysis_noise", 0.0, "0.0"),
        ("reportAnalysisWinratesAs", "black", "perspective", Perspective.BLACK, "BLACK"),
    ],
)
def test_session_settings_are_changed(name: str, text: str, field: str, value: object, reported: str) -> None:
    state = new_state()
    assert ask(state, f"kata-set-param {name} {text}") == ""
    assert getattr(state.config, field) == value
    assert ask(state, f"kata-get-param {name}") == reported
    assert state.clock.lag_buffer == state.config.lag_buffer


@pytest.mark.parametrize(
    ("name", "text", "field", "value", "reported"),
    [
        ("cpuctExploration", "1.5", "c_puct", 1.5, "1.5"),
        ("playoutDoublingAdvantage", "-1", "playout_doubling_advantage", -1.0, "-1.0"),
        ("rootNumSymmetriesToSample", "8", "root_symmetries", 8, "8"),
        ("useGraphSearch", "false", "shares_nodes", False, "false"),
        ("allowResignation", "false", "allow_resignation", False, "false"),
        ("resignThreshold", "-0.5", "resign_threshold", 0.25, "-0.5"),
    ],
)
def test_search_parameters_are_changed(name: str, text: str, field: str, value: object, reported: str) -> None:
    player = FakePlayer()
    state = new_state(player)
    assert ask(state, f"kata-set-param {name} {text}") == ""
    assert player.params == dataclasses.replace(SearchParams(), **{field: value})
    assert ask(state, f"kata-get-param {name}") == reported


@pytest.mark.parametrize(
    "line",
    [
        *("kata-get-param", "kata-get-param nonsense", "kata-get-param c_puct", "kata-get-param a b"),
        *("kata-set-param", "kata-set-param nonsense", "kata-set-param nonsense 1", "kata-set-param c_puct 1"),
        *("kata-set-param numSearchThreads 4", "kata-set-param humanSLProfile rank_10d", "kata-set-param maxTime nan"),
        *("kata-set-param maxVisits 0", "kata-set-param maxVisits 1.5", "kata-set-param cpuctExploration 10.5"),
        *("kata-set-param cpuctExploration x", "kata-set-param useGraphSearch 1", "kata-set-param lagBuffer -1"),
        *("kata-set-param reportAnalysisWinratesAs MINE", "kata-set-param rootNumSymmetriesToSample 9"),
        *("kata-set-params", "kata-set-params []", "kata-set-params {", 'kata-set-params {"maxVisits":null}'),
        'kata-set-params {"maxVisits":true}',
        'kata-set-params {"cpuctExploration":{}}',
        f"kata-set-params {'[' * 100_000}",
        "kata-list-params all",
        "kata-get-params all",
    ],
)
def test_what_is_unknown_or_out_of_range_is_refused(line: str) -> None:
    player = FakePlayer()
    state = new_state(player)
    reply = ask(state, line)
    assert reply.startswith("? ")
    assert "internal error" not in reply
    assert player.params == SearchParams()
    assert state.config == new_state().config


def test_a_refusal_names_the_parameter() -> None:
    assert ask(new_state(), "kata-set-param cpuctExploration 11") == "? cpuctExploration '11': must be from 0 to 10"
    assert ask(new_state(), "kata-set-param color red") == "? unknown parameter 'color'"
    expected = "? fillDameBeforePass has no effect: Keima judges life and death before it passes"
    assert ask(new_state(), "kata-set-param fillDameBeforePass true") == expected


def test_a_name_of_set_is_answered_by_the_name_here() -> None:
    state = new_state()
    assert ask(state, "kata-set-param fpu_reduction 0.1") == "? fpu_reduction is called fpuReductionMax here"
    assert ask(state, "kata-get-param rave_bias") == "? rave_bias is for --set and configuration files only"


@pytest.mark.parametrize("value", ["rank_5k", "preaz_1d", "proyear_1985", "rank_3d_1k"])
def test_the_profile_of_a_human_network_is_changed_and_reset(value: str) -> None:
    player = FakePlayer(human=RawNetwork(FixedEvaluator(), replace(FACTS, imitates=True)))
    state = new_state(player)
    assert ask(state, f"kata-set-param humanSLProfile {value}") == ""
    assert (player.params.human_profile, ask(state, "kata-get-param humanSLProfile")) == (value, value)
    assert ask(state, "kata-set-param humanSLProfile") == ""
    assert player.params.human_profile == ""


def test_parameters_of_a_human_network_that_is_not_there_are_refused_with_katagos_words() -> None:
    player = FakePlayer()
    state = new_state(player)
    assert ask(state, "kata-set-param humanSLChosenMoveProp 1") == (
        "? Provided parameter humanSLChosenMoveProp but no human model was specified "
        "(e.g -human-model b18c384nbt-humanv0.bin.gz)"
    )
    assert ask(state, "kata-set-param humanSLProfile rank_5k").startswith("? humanSLProfile is specified")
    assert player.params == SearchParams()


def test_parameters_are_set_together_or_not_at_all() -> None:
    player = FakePlayer()
    state = new_state(player)
    bad = '{"maxVisits":7,"cpuctExploration":2,"ponderingEnabled":"true","lagBuffer":-1}'
    assert ask(state, f"kata-set-params {bad}").startswith("? lagBuffer")
    assert (player.params, state.config) == (SearchParams(), new_state().config)
    good = '{"maxVisits": 7, "cpuctExploration": 2, "ponderingEnabled": "true", "lagBuffer": "0.25"}'
    assert ask(state, f"kata-set-params {good}") == ""
    assert player.params.c_puct == 2.0
    assert (state.config.visits, state.config.ponder, state.config.lag_buffer) == (7, True, 0.25)


@pytest.mark.parametrize("name", PARAMS)
def test_a_name_alone_resets_to_the_default_without_options(name: str) -> None:
    player = FakePlayer()
    state = new_state(player, SessionConfig(width=9, height=9, visits=100, rank="3k", pv_length=40, lag_buffer=2.0))
    player.params = dataclasses.replace(ROLLOUT_PARAMS, c_puct=2.0, resign_threshold=0.3, policy_optimism=0.5)
    assert ask(state, f"kata-set-param {name}") == ""
    param = PARAMS[name]
    owner, defaults = (state.config, SessionConfig()) if param.of_session else (player.params, ROLLOUT_PARAMS)
    assert getattr(owner, param.field) == getattr(defaults, param.field)


def test_a_name_alone_leaves_all_others() -> None:
    player = FakePlayer()
    state = new_state(player)
    ask(state, 'kata-set-params {"maxVisits":33,"maxTime":7,"cpuctExploration":2}')
    ask(state, "kata-set-param maxVisits")
    ask(state, "genmove b")
    assert (player.limits[-1].visits, player.limits[-1].seconds, player.params.c_puct) == (None, 7.0, 2.0)


def test_moves_are_delayed_up_to_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    state, pauses = new_state(FakePlayer(thinking=True)), list[float]()
    monkeypatch.setattr(state.player_loader, "pause", pauses.append)
    ask(state, "kata-set-param maxTime 0.01")
    ask(state, "genmove b")
    assert pauses == []
    ask(state, "kata-set-param delayMoveScale 5")
    for _ in range(20):
        ask(state, "kata-search b")
    assert len(set(pauses)) == 20
    assert 0.5 < sum(pauses) / 20 < 15
    ask(state, "kata-set-param delayMoveMax 0.25")
    for _ in range(20):
        ask(state, "kata-search b")
    assert max(pauses[20:]) == 0.25


def test_no_delay_outlasts_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    state, pauses = new_state(FakePlayer(thinking=True)), list[float]()
    monkeypatch.setattr(state.player_loader, "pause", pauses.append)
    for line in ("kata-set-param maxTime 0.01", "kata-set-param delayMoveScale 1000", "time_settings 0 2 1"):
        ask(state, line)
    ask(state, "kata-search b")
    assert 1.0 < pauses[0] < 2.0


def test_a_limit_set_by_name_bounds_the_next_move() -> None:
    player = FakePlayer()
    state = new_state(player)
    ask(state, 'kata-set-params {"maxVisits":33,"maxTime":7}')
    ask(state, "genmove b")
    assert (player.limits[-1].visits, player.limits[-1].seconds) == (33, 7.0)


def test_what_a_search_finds_is_remembered_where_a_parameter_says_so() -> None:
    player = SearchPlayer(DetailedEvaluator(), SearchParams(seed=1))
    state = GtpState(CONFIG, lambda *_: player, HANDLERS)

    def visits(most: int) -> list[tuple[int, int]]:
        for line in ("clear_board", f"kata-set-param maxVisits {most}", "kata-search b"):
            assert not ask(state, line).startswith("?")
        return [(vertex, visits) for vertex, visits, _ in signature(player.search)]

    plain = visits(40)
    for line in ("kata-set-param evalCacheMinVisits 10", "kata-set-param useEvalCache true"):
        assert ask(state, line) == ""
    assert visits(40) == plain
    visits(800)
    assert visits(40) != plain
    assert ask(state, "clear_cache") == ""
    assert visits(40) == plain
    visits(800)
    assert ask(state, "kata-set-param useEvalCache false") == ""
    assert visits(40) == plain
    player.close()
