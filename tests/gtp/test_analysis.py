"""The grammar of analysis: what its arguments mean, and its lines byte for byte."""

from dataclasses import replace

import numpy as np
import pytest

from engine.color import BLACK, WHITE
from engine.search.analysis import Analysis, MoveInfo, RootInfo
from engine.vertex import PASS, parse_vertex, points
from gtp.analysis import AnalyzeOptions, kata_line, lz_line, parse_options
from gtp.errors import GtpError
from tests.gtp.analysis_lines import BadLine, read_kata_line, read_lz_line

WIDTH, HEIGHT = 3, 2
RAW = (0.125, 2.5, -1.0)


def at(*names: str) -> tuple[int, ...]:
    """Return the vertices of these names."""
    return tuple(parse_vertex(name, WIDTH, HEIGHT) for name in names)


BEST = MoveInfo(
    vertex=at("b2")[0],
    visits=120,
    edge_visits=100,
    utility=0.25,
    winrate=0.61234567,
    lead=1.5,
    score_mean=2.25,
    score_stdev=10.0,
    no_result=0.001,
    prior=0.00004,
    lcb=0.6,
    utility_lcb=-0.0000001,
    weight=98.5,
    order=0,
    pv=at("b2", "c1", "pass"),
    pv_visits=(120, 60, 5),
    pv_edge_visits=(100, 59, 5),
    ownership=np.array([1.0, 0.5, -0.25, 0.0, -1.0, 1e-9]),
    ownership_stdev=np.array([0.0, 0.5, 0.25, 0.0, 1.0, 0.125]),
)
SECOND = replace(BEST, vertex=PASS, order=1, pv=(PASS,), pv_visits=(7,), pv_edge_visits=(7,), winrate=1.0, lcb=-0.02)
ROOT = RootInfo(
    visits=128,
    utility=-0.125,
    winrate=0.5,
    lead=-3.0,
    score_mean=-4.0,
    score_stdev=11.5,
    weight=120.0,
    ownership=np.zeros(6),
    ownership_stdev=np.ones(6),
)
ANALYSIS = Analysis(ROOT, (BEST, SECOND))
KATA_BEST = (
    "info move B2 visits 120 edgeVisits 100 utility 0.250000 winrate 0.612346 scoreMean 1.500000 "
    "scoreStdev 10.000000 scoreLead 1.500000 scoreSelfplay 2.250000{no_result} prior 0.000040 lcb 0.600000 "
    "utilityLcb 0.000000 weight 98.500000{twin} order 0 pv B2 C1 pass{rest}"
)
KATA_SECOND = (
    "info move pass visits 120 edgeVisits 100 utility 0.250000 winrate 1.000000 scoreMean 1.500000 "
    "scoreStdev 10.000000 scoreLead 1.500000 scoreSelfplay 2.250000{no_result} prior 0.000040 lcb -0.020000 "
    "utilityLcb 0.000000 weight 98.500000 order 1 pv pass{rest}"
)
OWNERS = "1.000000 0.500000 -0.250000 0.000000 -1.000000 0.000000"
STDEVS = "0.000000 0.500000 0.250000 0.000000 1.000000 0.125000"
EVERYTHING = AnalyzeOptions(
    is_kata=True,
    root_info=True,
    ownership=True,
    ownership_stdev=True,
    moves_ownership=True,
    moves_ownership_stdev=True,
    pv_visits=True,
    pv_edge_visits=True,
    no_result=True,
)
FLAGS = (
    *("rootInfo", "ownership", "ownershipStdev", "movesOwnership", "movesOwnershipStdev"),
    *("pvVisits", "pvEdgeVisits", "noResultValue"),
)


def test_a_leela_zero_line_has_whole_numbers() -> None:
    line = lz_line(ANALYSIS, WIDTH, HEIGHT)
    assert line == (
        "info move B2 visits 120 winrate 6123 prior 0 lcb 6000 order 0 pv B2 C1 pass "
        "info move pass visits 120 winrate 10000 prior 0 lcb -200 order 1 pv pass"
    )
    assert [move["visits"] for move in read_lz_line(line, WIDTH, HEIGHT).moves] == [120, 120]


def test_a_katago_line_has_fixed_decimals_and_no_more_than_asked_for() -> None:
    line = kata_line(ANALYSIS, AnalyzeOptions(is_kata=True), RAW, WIDTH, HEIGHT)
    nothing = {"no_result": "", "twin": "", "rest": ""}
    assert line == f"{KATA_BEST.format(**nothing)} {KATA_SECOND.format(**nothing)}"
    assert read_kata_line(line, WIDTH, HEIGHT).root == {}


def test_a_katago_line_with_everything_has_its_fields_in_order() -> None:
    twin = replace(ANALYSIS, moves=(replace(BEST, is_symmetry_of=at("a1")[0]), SECOND))
    line = kata_line(twin, EVERYTHING, RAW, WIDTH, HEIGHT)
    owners = f" movesOwnership {OWNERS} movesOwnershipStdev {STDEVS}"
    first = f" pvVisits 120 60 5 pvEdgeVisits 100 59 5{owners}"
    second = f" pvVisits 7 pvEdgeVisits 7{owners}"
    assert line == (
        KATA_BEST.format(no_result=" noResultValue 0.001000", twin=" isSymmetryOf A1", rest=first)
        + " "
        + KATA_SECOND.format(no_result=" noResultValue 0.001000", rest=second)
        + " rootInfo visits 128 utility -0.125000 winrate 0.500000 scoreMean -3.000000 scoreStdev 11.500000"
        + " scoreLead -3.000000 scoreSelfplay -4.000000 weight 120.000000"
        + " rawStWrError 0.125000 rawStScoreError 2.500000 rawVarTimeLeft -1.000000"
        + f" ownership {' '.join(['0.000000'] * 6)} ownershipStdev {' '.join(['1.000000'] * 6)}"
    )
    found = read_kata_line(line, WIDTH, HEIGHT, *FLAGS)
    assert found.moves[0]["isSymmetryOf"] == "A1"
    assert found.root["rawStScoreError"] == 2.5


def test_an_analysis_without_moves_has_no_line() -> None:
    nothing = Analysis(ROOT, ())
    assert lz_line(nothing, WIDTH, HEIGHT) == kata_line(nothing, EVERYTHING, RAW, WIDTH, HEIGHT) == ""


def test_unknown_owners_are_left_out() -> None:
    blind = Analysis(replace(ROOT, ownership=None, ownership_stdev=None), (replace(SECOND, order=0, ownership=None),))
    line = kata_line(blind, replace(EVERYTHING, moves_ownership_stdev=False), RAW, WIDTH, HEIGHT)
    assert "wnership" not in line
    read_kata_line(line, WIDTH, HEIGHT, "rootInfo", "pvVisits", "pvEdgeVisits", "noResultValue")


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("", {}),
        ("b", {"color": BLACK}),
        ("WHITE 50", {"color": WHITE, "interval": 0.5}),
        ("0", {"interval": 0.0}),
        ("12.5", {"interval": 0.125}),
        ("2147483647", {"interval": 21474836.47}),
        ("interval 100", {"interval": 1.0}),
        ("w 10 interval 100", {"color": WHITE, "interval": 1.0}),
        ("minmoves 5 maxmoves 7", {"min_moves": 5, "max_moves": 7}),
        ("maxmoves 0", {"max_moves": 0}),
        ("rootInfo true ownership TRUE pvVisits false", {"root_info": True, "ownership": True}),
        ("ownershipStdev true movesOwnership true", {"ownership_stdev": True, "moves_ownership": True}),
        ("movesOwnershipStdev true pvEdgeVisits true", {"moves_ownership_stdev": True, "pv_edge_visits": True}),
        ("noResultValue true", {"no_result": True}),
    ],
)
def test_arguments_are_read(text: str, fields: dict[str, object]) -> None:
    expected = replace(AnalyzeOptions(is_kata=True), **fields)  # type: ignore[arg-type]
    assert parse_options(text.split(), WIDTH, HEIGHT, is_kata=True) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("nonsense", "interval", "interval x", "interval -1", "-1", "nan", "1e999", "b b", "10 b", "10 20"),
        *("minmoves -1", "minmoves 1.5", "maxmoves", "ownership", "ownership 1", "ownership maybe", "Ownership true"),
        *("avoid", "avoid b", "avoid b a1", "avoid b a1 0", "avoid b a1 x", "avoid x a1 1", "avoid b z9 1"),
        *("avoid b a1:pass 1", "avoid b a1: 1", "allow b a1 1 allow b a2 1", "avoid b a1 1 allow b a2 1"),
        "allow b a1 1 avoid b a2 1",
    ],
)
def test_bad_arguments_are_a_syntax_error(text: str) -> None:
    with pytest.raises(GtpError, match="syntax error"):
        parse_options(text.split(), WIDTH, HEIGHT, is_kata=True)


@pytest.mark.parametrize("flag", FLAGS)
def test_katagos_flags_are_unknown_to_leela_zero(flag: str) -> None:
    with pytest.raises(GtpError):
        parse_options([flag, "true"], WIDTH, HEIGHT, is_kata=False)


def avoided_by(text: str) -> dict[int, dict[int, int]]:
    return parse_options(text.split(), WIDTH, HEIGHT, is_kata=True).avoided


def test_avoided_moves_add_up_and_ranges_are_rectangles() -> None:
    avoided = avoided_by("avoid b a1 3 avoid b c2:b1,pass 2 avoid w A2, 1")
    assert avoided[BLACK] == dict.fromkeys(at("a1"), 3) | dict.fromkeys(at("b1", "b2", "c1", "c2", "pass"), 2)
    assert avoided[WHITE] == dict.fromkeys(at("a2"), 1)


def test_to_allow_is_to_avoid_all_else_for_that_color() -> None:
    avoided = avoided_by("allow w a1:a2,pass 4 avoid b b1 1")
    assert avoided[WHITE] == dict.fromkeys(at("b1", "b2", "c1", "c2"), 4)
    assert avoided[BLACK] == dict.fromkeys(at("b1"), 1)
    assert avoided_by("allow b pass 9") == {BLACK: dict.fromkeys(points(WIDTH, HEIGHT), 9)}


GOOD = kata_line(ANALYSIS, AnalyzeOptions(is_kata=True), RAW, WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("winrate 1.000000", "winrate 1"),
        ("winrate 1.000000", "winrate 1.100000"),
        ("edgeVisits 100 ", ""),
        ("order 1", "order 2"),
        ("pv pass", "pv"),
        ("pv pass", "pv B1"),
        ("move pass", "move B2"),
        ("scoreLead 1.500000", "scoreLead 1.600000"),
        ("utility 0.250000", "utility 2.5e-1"),
        ("info move pass", "info  move pass"),
        ("pv pass", "pv pass rootInfo visits 1"),
    ],
)
def test_the_strict_reader_refuses_other_lines(old: str, new: str) -> None:
    assert old in GOOD
    read_kata_line(GOOD, WIDTH, HEIGHT)
    with pytest.raises(BadLine):
        read_kata_line(GOOD.replace(old, new), WIDTH, HEIGHT)
