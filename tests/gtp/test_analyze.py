"""Analysis and searches that play nothing within a session: what starts them, what ends them."""

import io
import threading
import time
from typing import cast

import pytest

from engine.color import BLACK, WHITE
from engine.evaluators.raw import RawNetwork
from engine.game import Game
from engine.players.base import AnalysisRequest, Watch
from engine.search.statistics import SearchStats
from engine.vertex import parse_vertex
from gtp.commands import HANDLERS
from gtp.session import serve
from gtp.state import GtpState, Perspective, SessionConfig
from tests.gtp.analysis_lines import read_kata_line, read_lz_line
from tests.gtp.fake_player import FakePlayer
from tests.gtp.small_search import LEAD, VALUE, small_search
from tests.gtp.talk import Pipe, converse, new_state
from tests.gtp.test_networks import FACTS, FixedEvaluator
from tests.gtp.test_session import Channel, session, wait_until_thinking
from tests.waiting import wait_until


def lines_of(sink: io.BytesIO) -> list[str]:
    """Return the whole lines written so far."""
    return sink.getvalue().decode().split("\n")[:-1]


def analyze(command: str, ending: bytes = b"\n", config: SessionConfig | None = None) -> list[str]:
    """Return all lines of an analysis that is ended after its third one."""
    with session(FakePlayer(), config) as (pipe, sink, _):
        pipe.send(f"{command}\n".encode())
        wait_until(lambda: len(lines_of(sink)) > 3)
        pipe.send(ending)
        wait_until(lambda: sink.getvalue().endswith(b"\n\n"))
        if ending == b"\n":
            time.sleep(0.05)
    return lines_of(sink)


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"# a comment\n", b" \t\n"])
def test_a_line_that_is_no_command_ends_analysis_and_gets_nothing_more(ending: bytes) -> None:
    first, *lines, last = analyze("7 lz-analyze b interval 1", ending)
    assert (first, last) == ("=7", "")
    assert all(read_lz_line(line, 9, 9).moves[0]["move"] == "A9" for line in lines)


def test_a_command_ends_analysis_and_is_answered() -> None:
    first, *lines, end, name, last = analyze("kata-analyze 1", b"9 protocol_version\n")
    assert (first, end, name, last) == ("=", "", "=9 2", "")
    assert all(read_kata_line(line, 9, 9).moves for line in lines)


def test_every_field_comes_when_asked_for() -> None:
    flags = ["rootInfo", "ownership", "ownershipStdev", "movesOwnership", "movesOwnershipStdev"]
    flags += ["pvVisits", "pvEdgeVisits", "noResultValue"]
    _, line, *_ = analyze("kata-analyze 1 minmoves 5 " + " ".join(f"{flag} true" for flag in flags))
    found = read_kata_line(line, 9, 9, *flags)
    assert len(found.moves) == 5
    assert [move["visits"] for move in found.moves] == [6, 3, 0, 0, 0]
    assert found.moves[0]["pv"] == ["A9", "J1"]
    assert (found.moves[0]["pvVisits"], found.root["visits"]) == ([6, 4], 10)
    assert found.ownership[:3] == [0.3, 0.3, 0.0]


@pytest.mark.parametrize(
    ("perspective", "sign"), [(Perspective.SIDETOMOVE, -1), (Perspective.BLACK, 1), (Perspective.WHITE, -1)]
)
def test_chances_are_those_of_the_perspective(perspective: Perspective, sign: int) -> None:
    config = SessionConfig(width=9, height=9, perspective=perspective)
    _, line, *_ = analyze("kata-analyze w 1 movesOwnership true", config=config)
    moves = {move["move"]: move for move in read_kata_line(line, 9, 9, "movesOwnership").moves}
    assert moves["A9"]["winrate"] == (1 + sign * VALUE) / 2
    assert moves["A9"]["utility"] == sign * VALUE
    assert moves["A9"]["scoreLead"] == sign * LEAD
    assert moves["A9"]["movesOwnership"][0] == sign
    assert moves["B9"]["movesOwnership"][0] == -sign
    is_movers = sign == -1
    assert (moves["A9"]["utilityLcb"] < moves["A9"]["utility"]) == is_movers
    assert (moves["A9"]["lcb"] < moves["A9"]["winrate"]) == is_movers
    assert line.startswith("info move B9"), "White plays what is good for White"


def test_the_limits_of_moves_are_kept() -> None:
    _, line, *_ = analyze("lz-analyze b 1 maxmoves 1 minmoves 9")
    assert len(read_lz_line(line, 9, 9).moves) == 1
    player = FakePlayer()
    with session(player) as (pipe, sink, _):
        pipe.send(b"lz-analyze 1 maxmoves 0\n")
        wait_until(lambda: player.analyzed)
        time.sleep(0.05)
        pipe.send(b"\n")
        sink.wait_for(b"=\n\n")


def test_the_request_has_color_avoided_moves_and_noise() -> None:
    player = FakePlayer()
    config = SessionConfig(width=9, height=9, analysis_noise=0.5)
    pipe = b"play b e5\nkata-analyze\nlz-analyze b avoid w a1 3\n"
    converse(pipe, player, config)
    assert player.analyzed == [], "all of it was there at once, so nothing was worth a search"
    with session(player, config) as (stream, _, _):
        stream.send(b"play b e5\n")
        for number, line in enumerate((b"kata-analyze\n", b"lz-analyze b avoid w a1 3\n"), start=1):
            stream.send(line)
            wait_until(lambda number=number: len(player.analyzed) == number)
    (first, request), (second, narrow) = player.analyzed
    assert (first, second) == (WHITE, BLACK)
    assert (request.avoided, request.wide_root_noise) == ({}, 0.5)
    assert narrow.avoided == {WHITE: {parse_vertex("a1", 9, 9): 3}}


def test_a_frame_restricts_the_analysis_to_the_problem_and_leaves_the_board() -> None:
    player = FakePlayer()
    stones = b"play b A18\nplay w A17\nplay b B18\nplay w B17\nplay b C18\nplay w C17\n"
    with session(player, SessionConfig(width=19, height=19)) as (pipe, sink, _):
        pipe.send(stones + b"kata-analyze w frame true\n")
        wait_until(lambda: player.analyzed)
        pipe.send(b"list_stones black\n")
        wait_until(lambda: sink.getvalue().endswith(b"= A18 B18 C18\n\n"))
    [(color, request)] = player.analyzed
    assert color == WHITE
    for each in (BLACK, WHITE):
        assert parse_vertex("T1", 19, 19) in request.avoided[each]
        assert parse_vertex("D19", 19, 19) not in request.avoided[each]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("kata-analyze frame true", "no room for a frame"),
        ("kata-analyze frame true avoid w a1 3", "frame cannot be combined with avoid or allow"),
        ("kata-search_analyze b frame true", "frame is for kata-analyze"),
        ("lz-analyze frame true", "syntax error"),
    ],
)
def test_a_frame_that_cannot_be_is_an_error(command: str, message: str) -> None:
    assert converse(f"{command}\n".encode()).startswith(f"? {message}".encode())


@pytest.mark.parametrize("hides", ["true", "false"])
def test_an_analysis_hides_the_moves_before_the_position_where_that_is_set(hides: str) -> None:
    player = FakePlayer()
    with session(player) as (pipe, _, _):
        pipe.send(f"kata-set-param analysisIgnorePreRootHistory {hides}\nkata-analyze 1\n".encode())
        wait_until(lambda: player.analyzed)
    assert player.analyzed[0][1].ignores_past == (hides == "true")


def test_the_reply_stays_open_when_the_search_has_nothing_left_to_do() -> None:
    class Brief(FakePlayer):
        def analyze(self, *_: object) -> None:
            pass

    with session(Brief()) as (pipe, sink, _):
        pipe.send(b"kata-analyze 1\n")
        sink.wait_for(b"=\n")
        time.sleep(0.1)
        assert sink.getvalue() == b"=\n"
        pipe.send(b"\n")
        sink.wait_for(b"=\n\n")


def test_an_analysis_that_ends_before_its_first_interval_reports_its_end() -> None:
    class Brief(FakePlayer):
        def analyze(self, game: Game, color: int, request: AnalysisRequest, watch: Watch) -> None:
            watch(small_search(game, color), cast(SearchStats, None))

    with session(Brief()) as (pipe, sink, _):
        pipe.send(b"kata-analyze 1000\n")
        wait_until(lambda: len(lines_of(sink)) == 2)
        assert read_kata_line(lines_of(sink)[1], 9, 9).moves
        pipe.send(b"\n")
        wait_until(lambda: sink.getvalue().endswith(b"\n\n"))
    assert len(lines_of(sink)) == 3


def test_without_an_interval_there_is_nothing_to_read() -> None:
    player = FakePlayer()
    with session(player) as (pipe, sink, _):
        pipe.send(b"4 kata-analyze\n")
        wait_until(lambda: player.analyzed)
        sink.wait_for(b"=4\n")
        pipe.send(b"name\n")
        sink.wait_for(b"=4\n\n= Keima\n\n")


def test_the_network_is_asked_for_what_only_it_knows() -> None:
    evaluator = FixedEvaluator()
    player = FakePlayer(network=RawNetwork(evaluator, FACTS))
    with session(player) as (pipe, sink, _):
        pipe.send(b"kata-analyze w 1 rootInfo true\n")
        wait_until(lambda: len(lines_of(sink)) > 1)
    root = read_kata_line(lines_of(sink)[1], 9, 9, "rootInfo").root
    assert (root["rawStWrError"], root["rawStScoreError"], root["rawVarTimeLeft"]) == (0.5, 4.25, -1.0)
    assert [color for color, *_ in evaluator.asked] == [WHITE]


@pytest.mark.parametrize("name", ["lz-analyze", "kata-analyze", "lz-genmove_analyze", "kata-search_analyze"])
def test_bad_arguments_fail_before_anything_is_written(name: str) -> None:
    assert converse(f"3 {name} interval x\n".encode()) == b"?3 syntax error\n\n"


def test_a_script_with_analysis_ends() -> None:
    assert converse(b"kata-analyze 10\nlz-analyze 10\nname") == b"=\n\n=\n\n= Keima\n\n"
    assert converse(b"kata-analyze 10") == b"=\n\n"


def test_the_end_of_input_ends_analysis() -> None:
    player = FakePlayer()
    with session(player) as (pipe, sink, thread):
        pipe.send(b"lz-analyze\n")
        wait_until(lambda: player.analyzed)
        pipe.close()
        thread.join(2)
        assert sink.getvalue() == b"=\n\n"


def test_analysis_ends_while_the_player_still_loads() -> None:
    release = threading.Event()
    state = GtpState(SessionConfig(width=9, height=9), lambda *_: release.wait(20) and FakePlayer(), HANDLERS)
    pipe, sink = Pipe(), Channel()
    thread = threading.Thread(target=serve, args=(state, pipe, sink))
    thread.start()
    pipe.send(b"1 kata-analyze 10\n")
    sink.wait_for(b"=1\n")
    pipe.send(b"2 protocol_version\n")
    sink.wait_for(b"=1\n\n=2 2\n\n")
    release.set()
    pipe.close()
    thread.join(5)
    assert not thread.is_alive()


def test_a_player_that_cannot_be_made_fails_analysis(caplog: pytest.LogCaptureFixture) -> None:
    def fail(width: int, height: int) -> FakePlayer:
        raise OSError("no network file")

    sink = io.BytesIO()
    data = b"1 kata-genmove_analyze b\n2 kata-analyze 10\n3 kata-search_analyze b\n"
    serve(GtpState(SessionConfig(), fail, HANDLERS), io.BytesIO(data), sink)
    failed = "engine not available: no network file\n\n"
    assert sink.getvalue().decode() == f"?1 {failed}?2 {failed}?3 {failed}"
    assert "no network file" in caplog.text


def test_a_closed_output_in_mid_analysis_ends_the_session() -> None:
    class Breaking(io.BytesIO):
        def write(self, data: object, /) -> int:
            if self.tell() > 1000:
                raise BrokenPipeError
            assert isinstance(data, bytes)
            return super().write(data)

    player = FakePlayer()
    pipe = Pipe()
    thread = threading.Thread(target=serve, args=(new_state(player), pipe, Breaking()))
    thread.start()
    pipe.send(b"kata-analyze 1 ownership true\n")
    thread.join(20)
    assert not thread.is_alive()
    assert player.closed
    pipe.close()


@pytest.mark.parametrize("name", ["lz-genmove_analyze", "kata-genmove_analyze"])
def test_a_move_is_reported_and_played(name: str) -> None:
    player = FakePlayer(["e5"], thinking=True)
    state_config = SessionConfig(width=9, height=9, seconds=0.3)
    first, *lines, move, end, last, _, _ = (
        converse(f"5 {name} b 5\nlast\n".encode(), player, state_config).decode().split("\n")
    )
    assert (first, move, end, last) == ("=5", "play E5", "", "? unknown command")
    assert len(lines) > 2
    read = read_lz_line if name.startswith("lz") else read_kata_line
    assert [read(line, 9, 9).moves[0]["move"] for line in lines] == ["A9"] * len(lines)


@pytest.mark.parametrize(("answer", "reported"), [("pass", "pass"), ("resign", "pass"), ("c3", "C3")])
def test_a_move_without_a_search_has_its_one_line_too(answer: str, reported: str) -> None:
    output = converse(b"kata-genmove_analyze w ownership true\n", FakePlayer([answer])).decode()
    header, line, move, *_ = output.split("\n")
    assert (header, move) == ("=", f"play {answer.upper() if answer == 'c3' else answer}")
    assert [found["pv"] for found in read_kata_line(line, 9, 9).moves] == [[reported]]


def test_genmove_analyze_ends_by_itself_whatever_comes() -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, _):
        pipe.send(b"lz-genmove_analyze b\n")
        wait_until_thinking(player)
        pipe.send(b"\nname\nstop\n")
        time.sleep(0.2)
        assert sink.getvalue() == b"=\n"
        pipe.send(b"# interrupt\n")
        wait_until(lambda: b"play A9\n\n= Keima\n\n= \n\n" in sink.getvalue())


def test_genmove_analyze_passes_on_what_to_avoid() -> None:
    player = FakePlayer(["e5"])
    converse(b"kata-genmove_analyze b avoid b a1 1\n", player)
    assert player.avoided == {BLACK: {parse_vertex("a1", 9, 9): 1}}


@pytest.mark.parametrize(
    ("command", "answer"), [("kata-search w", "= C3\n\n"), ("kata-search_cancellable w", "= C3\n\n")]
)
def test_a_search_plays_nothing(command: str, answer: str) -> None:
    player = FakePlayer(["c3", "d4"])
    with session(player) as (pipe, sink, _):
        pipe.send(f"{command}\n".encode())
        sink.wait_for(answer.encode())
        pipe.send(b"undo\n")
        sink.wait_for(answer.encode() + b"? cannot undo\n\n")


def test_a_search_is_reported_with_its_move() -> None:
    output = converse(b"kata-search_analyze b\nundo\n", FakePlayer(["c3"])).decode().split("\n")
    assert output[0] == "="
    assert output[2:] == ["play C3", "", "? cannot undo", "", ""]


@pytest.mark.parametrize(
    ("command", "before", "cancelled"),
    [
        ("kata-search_cancellable b", b"", b"= cancelled\n\n"),
        ("kata-search_analyze_cancellable b", b"=\n", b"=\nplay cancelled\n\n"),
    ],
)
def test_the_next_line_cancels_a_search(command: str, before: bytes, cancelled: bytes) -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, _):
        pipe.send(f"{command}\n".encode())
        wait_until_thinking(player)
        assert sink.getvalue() == before
        pipe.send(b"\n")
        sink.wait_for(cancelled)


@pytest.mark.parametrize("command", ["kata-search b", "kata-search_analyze b"])
def test_stop_ends_a_search_with_its_best_move_and_other_lines_wait(command: str) -> None:
    player = FakePlayer(thinking=True)
    with session(player) as (pipe, sink, _):
        pipe.send(f"{command}\n".encode())
        wait_until_thinking(player)
        pipe.send(b"name\n")
        time.sleep(0.1)
        assert sink.getvalue() in (b"", b"=\n")
        pipe.send(b"stop\n")
        wait_until(lambda: sink.getvalue().endswith(b" A9\n\n= Keima\n\n= \n\n"))


def test_every_analysis_is_interrupted_by_the_next_line() -> None:
    player = FakePlayer()
    with session(player) as (pipe, _, _):
        for number in range(20):
            pipe.send(b"kata-analyze\n")
            wait_until(lambda number=number: len(player.analyzed) > number)
            pipe.send(b"\n")
            wait_until(lambda number=number: len(player.interrupted) > number)
    assert player.interrupted == [True] * 20


def test_the_cache_is_cleared_and_the_benchmark_counts_visits() -> None:
    player = FakePlayer()
    output = converse(b"genmove b\nclear_cache\nkata-benchmark 10\n", player).decode()
    assert player.cleared == 2
    assert output.startswith("= A9\n\n= \n\n= visits 10 seconds 0.")
    assert player.analyzed[0][1].limits.visits == 10
