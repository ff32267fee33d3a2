"""Configuration files of KataGo's GTP engine: what they change, what has no effect, and what is refused."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import keima
from engine.errors import GoError
from engine.rules import parse_rules
from engine.search.params import SEARCH_SETTINGS, SearchParams
from gtp.katago_config import lines_without_effect, parse_assignments, read_assignments, session_changes
from gtp.katago_names import MUTABLE, NO_EFFECT, why_no_effect
from gtp.params import PARAMS
from gtp.state import Perspective, SessionConfig

EXAMPLE = """\
# The settings that KataGo's gtp_example.cfg makes, and some that it shows in comments
logDir = gtp_logs
logAllGTPCommunication = true
logSearchInfo = true
logToStderr = false
rules = tromp-taylor
allowResignation = true
resignThreshold = -0.90
resignConsecTurns = 5
maxVisits = 500
ponderingEnabled = false
maxTimePondering = 60.0
lagBuffer = 1.0   # seconds
numSearchThreads = 6
searchFactorAfterOnePass = 0.50
searchFactorWhenWinning = 0.40
openclDeviceToUseThread0 = 0
cudaUseFP16 = auto
reportAnalysisWinratesAs = BLACK
cpuctExploration = 1.1
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[SessionConfig, SearchParams]]:
    """Keep sessions from running; return the configuration and the search parameters of each."""
    sessions: list[tuple[SessionConfig, SearchParams]] = []

    def run(config: SessionConfig, factory: object) -> int:
        sessions.append((config, factory(9, 9)))  # type: ignore[operator]
        return 0

    monkeypatch.setattr("gtp.session.run", run)
    monkeypatch.setattr(keima, "make_player", lambda params, *_: params)
    return sessions


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(keima.main, ["gtp", *arguments])


def test_an_example_of_katagos_loads_with_a_line_for_each_key_without_effect(
    tmp_path: Path, started: list[tuple[SessionConfig, SearchParams]]
) -> None:
    file = tmp_path / "gtp_example.cfg"
    file.write_text(EXAMPLE)
    result = invoke("-config", str(file))
    assert result.exit_code == 0, result.output
    [(config, params)] = started
    assert (config.visits, config.ponder, config.lag_buffer) == (500, False, 1.0)
    assert (config.rules, config.perspective) == (parse_rules("tromp-taylor"), Perspective.BLACK)
    assert (params.resign_threshold, params.resign_turns, params.c_puct) == (0.05, 5, 1.1)
    assert params.factor_after_pass == 0.5
    lines = result.stderr.splitlines()
    assert [line.split()[1] for line in lines] == [
        *("logDir", "logAllGTPCommunication", "logSearchInfo", "logToStderr", "numSearchThreads"),
        *("searchFactorWhenWinning", "openclDeviceToUseThread0", "cudaUseFP16"),
    ]
    assert all(" has no effect: " in line for line in lines)


def test_later_configurations_count_more_and_the_command_line_most(
    tmp_path: Path, started: list[tuple[SessionConfig, SearchParams]]
) -> None:
    first, second = tmp_path / "a.cfg", tmp_path / "b.cfg"
    first.write_text("maxVisits = 5\nmaxTime = 3\ncpuctExploration = 1.5\nwideRootNoise = 0.1\nlagBuffer = 0.25\n")
    second.write_text("maxVisits = 6\n")
    over = "cpuctExploration=1.75,wideRootNoise=0.2,defaultBoardSize=13"
    result = invoke(
        *("-config", str(first), "-config", str(second), "-override-config", over),
        *("--set", "wide_root_noise=0.3", "--time", "9"),
    )
    assert result.exit_code == 0, result.output
    [(config, params)] = started
    assert (config.visits, config.seconds, config.lag_buffer) == (6, 9.0, 0.25)
    assert (config.width, config.height) == (13, 13)
    assert (params.c_puct, params.wide_root_noise) == (1.75, 0.3)


def test_keimas_and_katagos_files_go_together(
    tmp_path: Path, started: list[tuple[SessionConfig, SearchParams]]
) -> None:
    own, katago = tmp_path / "keima.toml", tmp_path / "gtp.cfg"
    own.write_text("komi = 6.5\nvisits = 50\n[search]\nlcb_stdevs = 3.0\n")
    katago.write_text("maxVisits = 60\n")
    assert invoke("--config", str(own), "--config", str(katago)).exit_code == 0
    [(config, params)] = started
    assert (config.komi, config.visits, params.lcb_stdevs) == (6.5, 60, 3.0)


def test_single_rules_change_those_named() -> None:
    changes, _ = session_changes({"rules": "japanese", "hasButton": "false", "taxRule": "ALL"})
    assert changes.session["rules"] == parse_rules("ancient-territory")
    changes, _ = session_changes({"koRule": "SITUATIONAL", "friendlyPassOk": "true", "multiStoneSuicideLegal": "false"})
    assert changes.session["rules"].to_json() == parse_rules("koSITUATIONALscoreAREAtaxNONEsui0fpok1").to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maxVisist=5", "the command line, line 1: unknown key 'maxVisist'; the nearest is 'maxVisits'"),
        ("logdir=x", "the nearest is 'logDir'"),
        ("maxVisits=many", "maxVisits 'many': must be"),
        ("cpuctExploration=11", "cpuctExploration '11': must be from 0 to 10"),
        ("resignThreshold=0.05", "resignThreshold '0.05': must be from -1 to 0"),
        ("rules=chess", "rules: "),
        ("koRule=EASY", "rules: "),
        ("defaultBoardXSize=99", "defaultBoardXSize: expected a size"),
        ("maxVisits", "expected key = value"),
    ],
)
def test_what_is_unknown_or_wrong_is_one_line(
    text: str, message: str, started: list[tuple[SessionConfig, SearchParams]]
) -> None:
    result = invoke("-override-config", text)
    assert (result.exit_code, started) == (1, [])
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_a_parameter_of_a_human_network_that_is_not_there_is_refused_by_both_names() -> None:
    answer = invoke("-override-config", "humanSLChosenMoveProp=1")
    assert answer.exit_code == 2
    assert "human_move_share (humanSLChosenMoveProp) is for a human network" in answer.output


def test_a_file_that_is_not_there_is_one_line() -> None:
    result = invoke("-config", "absent.cfg")
    assert (result.exit_code, len(result.output.splitlines())) == (1, 1)
    assert "absent.cfg" in result.output


def test_a_key_has_an_effect_or_a_reason_and_never_both() -> None:
    assert NO_EFFECT.keys().isdisjoint(PARAMS)
    assert len(set(MUTABLE)) == 109
    assert [name for name in MUTABLE if name not in PARAMS and why_no_effect(name) is None] == []


def test_a_name_of_katagos_is_in_its_list_or_one_that_only_its_configuration_files_have() -> None:
    in_files_only = {"avoidRepeatedPatternUtility", "evalCacheMinVisits", "nnRandomize", "useEvalCache"}
    in_files_only |= {"resignConsecTurns", "resignMinScoreDifference", "resignThreshold"}
    in_files_only.add("dynamicPlayoutDoublingAdvantageCapPerOppLead")
    assert {each.katago for each in SEARCH_SETTINGS.values() if each.katago} - set(MUTABLE) == in_files_only


def test_the_documentation_lists_every_mutable_parameter_of_katagos_with_its_effect_here() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "analysis.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE))
    assert rows == {name: "yes" if name in PARAMS else why_no_effect(name) for name in MUTABLE}


def test_a_key_of_the_other_command_is_no_typing_error() -> None:
    assert lines_without_effect(["numAnalysisThreads", "rules"]) == [
        "keima: numAnalysisThreads has no effect: it belongs to another command",
        "keima: rules has no effect: it belongs to another command",
    ]
    with pytest.raises(GoError, match="line 1: unknown key 'numAnalysisThread'; the nearest is 'numAnalysisThreads'"):
        parse_assignments("numAnalysisThread=2")


def test_an_unknown_key_of_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "gtp.cfg").write_text("# visits\nmaxVisits = 5\nfooBar = 1\n", encoding="utf-8")
    with pytest.raises(GoError, match=r"gtp\.cfg, line 3: unknown key 'fooBar'; the nearest is "):
        read_assignments(tmp_path / "gtp.cfg")


def test_katagos_words_for_network_and_version_are_understood(
    started: list[tuple[SessionConfig, SearchParams]],
) -> None:
    assert invoke("-model", "none", "-override-version", "1.17").exit_code == 0
    [(config, _)] = started
    assert config.version == "1.17"
