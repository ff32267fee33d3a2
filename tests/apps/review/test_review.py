"""`keima review`: the files it writes, how it goes on, what it skips and refuses."""

import html
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import keima
from engine.apps.analysis_server.answer import Asked
from engine.apps.analysis_server.pool import AnalysisPool
from engine.apps.analysis_server.task import Task
from engine.apps.review.analyzer import AnalysisStore, Effort
from engine.apps.review.cli import ReviewOptions, cli_review
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.evaluation.evaluation import Evaluation
from engine.evaluation.positions import PositionBatch
from engine.evaluators.named import NamedEvaluator
from engine.records.sgf import load_sgf, load_variations
from engine.search.params import SearchParams
from engine.support.run_kinds import REVIEW
from engine.support.stopping import INTERRUPTED
from tests.search.fakes import FakeEvaluator

PARAMS = SearchParams(max_memory_mib=16, seed=1)
MOVES = ";B[ee];W[gc];B[cc];W[cg];B[gg];W[aa];B[ba];W[ii];B[ab];W[hi];B[dd];W[fd]"
GAME = f"(;GM[1]SZ[9]KM[7]RU[Chinese]PB[Anna]PW[Bert]BR[3d]WR[12k]RE[B+2]DT[2024-05-01]C[A game]{MOVES})"
TURNS = MOVES.count(";") + 1


class SwingingEvaluator(FakeEvaluator):
    """A fake whose leads swing from position to position, so that there are good and bad moves."""

    def evaluate(self, positions: PositionBatch, count: int, out: Evaluation) -> None:
        """Write the made-up evaluation."""
        super().evaluate(positions, count, out)
        black_leads = (positions.hashes[:count] % 41).astype(np.float32) - 20
        out.score[:count] = np.where(positions.to_play[:count] == BLACK, black_leads, -black_leads)


def write(folder: Path, **texts: str) -> Path:
    """Write records by name to a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.sgf").write_text(text, encoding="utf-8")
    return folder


def run(
    out: Path, *sources: Path, evaluator: FakeEvaluator | None = None, name: str = "fake", **options: Any
) -> tuple[int, str, str]:
    """Run the command with a fake evaluator; return (status, stdout, stderr)."""
    asked = replace(ReviewOptions(sources, out, Effort(6)), **options)
    opened = NamedEvaluator(name, "fake", evaluator or SwingingEvaluator(), (2, 9))
    stdout, stderr = io.StringIO(), io.StringIO()
    status = cli_review(asked, lambda: opened, PARAMS, threads=2, stdout=stdout, stderr=stderr)
    return status, stdout.getvalue(), stderr.getvalue()


def answers(out: Path) -> list[dict[str, Any]]:
    """Return the stored analyses."""
    return [json.loads(line) for line in (out / "analysis.jsonl").read_text(encoding="utf-8").splitlines()]


def summary(out: Path, name: str = "game") -> dict[str, Any]:
    """Return the summary of a game."""
    found = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def test_odd_names_of_files_are_reviewed_like_others(tmp_path: Path) -> None:
    games = tmp_path / "in"
    games.mkdir()
    try:
        (games / os.fsdecode(b"g\xe4me.sgf")).write_text(GAME, encoding="utf-8")
        (games / (83 * "李" + ".sgf")).write_text(GAME, encoding="utf-8")
    except OSError as error:
        pytest.skip(f"the file system refuses such names: {error}")
    status, stdout, stderr = run(tmp_path / "out", games)
    assert (status, "skipped" in stderr) == (0, False)
    assert sorted({each["id"] for each in answers(tmp_path / "out")}) == ["g_xe4me.sgf", 83 * "李" + ".sgf"]
    assert summary(tmp_path / "out", "g_xe4me")["moves"]
    assert len([*(tmp_path / "out").glob("李*.html")]) == 1
    assert stdout.encode("utf-8")
    assert (tmp_path / "out" / "index.html").exists()


@pytest.mark.parametrize(("file", "line"), [("analysis.jsonl", "{}"), ("games.jsonl", '{"id": "game.sgf"}')])
def test_a_line_that_lacks_something_is_named(tmp_path: Path, file: str, line: str) -> None:
    games = write(tmp_path / "in", game=GAME)
    assert run(tmp_path / "out", games)[0] == 0
    with (tmp_path / "out" / file).open("a", encoding="utf-8") as lines:
        lines.write(line + "\n")
    with pytest.raises(GoError, match=rf"{file}:\d+: no (analysis|record) of a .*: it lacks '"):
        run(tmp_path / "out", games)


def test_the_index_lists_the_games_of_the_last_command(tmp_path: Path) -> None:
    games = write(tmp_path / "in", one=GAME, two=GAME.replace("PB[Anna]", "PB[Carl]"))
    run(tmp_path / "out", games)
    assert "one.html" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    run(tmp_path / "out", games, player="carl")
    listed = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert "two.html" in listed and "one.html" not in listed


def test_every_position_has_an_answer_with_the_fields_of_the_analysis_engine(tmp_path: Path) -> None:
    status, _, stderr = run(tmp_path / "out", write(tmp_path / "in", game=GAME))
    assert status == 0
    assert f"1 of 1 games, {TURNS}/{TURNS} positions" in stderr
    assert f"{TURNS} positions in" in stderr.splitlines()[-1]
    assert "evaluations/s" in stderr.splitlines()[-1]
    found = answers(tmp_path / "out")
    assert sorted(each["turnNumber"] for each in found) == list(range(TURNS))
    for each in found:
        assert each["id"] == "game.sgf"
        assert each["rootInfo"]["visits"] >= 6
        assert len(each["ownership"]) == 81
        assert {"move", "visits", "winrate", "scoreLead", "pv", "order"} <= each["moveInfos"][0].keys()


@pytest.mark.parametrize("remembers", [False, True])
def test_a_game_is_analyzed_from_its_end_where_positions_are_remembered(
    remembers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The order of the questions: two positions are searched side by side, so the answers' order is left to chance.
    asked_turns: list[int] = []
    submit = AnalysisPool.submit

    def recorded(pool: AnalysisPool, tasks: Iterable[Task]) -> None:
        tasks = list(tasks)
        asked_turns.extend(task.subject.turn for task in tasks if isinstance(task.subject, Asked))
        submit(pool, tasks)

    monkeypatch.setattr(AnalysisPool, "submit", recorded)
    params = replace(PARAMS, remembers=remembers, remember_visits=2)
    asked = ReviewOptions((write(tmp_path / "in", game=GAME),), tmp_path / "out", Effort(20))
    opened = NamedEvaluator("fake", "fake", SwingingEvaluator(), (2, 9))
    assert cli_review(asked, lambda: opened, params, threads=1, stdout=io.StringIO(), stderr=io.StringIO()) == 0
    assert asked_turns == sorted(range(TURNS), reverse=remembers)
    assert sorted(each["turnNumber"] for each in answers(tmp_path / "out")) == list(range(TURNS))
    assert summary(tmp_path / "out")["moves"][0]["number"] == 1


def test_win_rates_are_black_s_whoever_moves(tmp_path: Path) -> None:
    stones = "AB[aa][ba][ca][da][ea][fa][ga][ha]"
    run(tmp_path / "out", write(tmp_path / "in", game=f"(;SZ[9]{stones};W[ee];B[dd])"))
    assert all(each["rootInfo"]["winrate"] > 0.8 for each in answers(tmp_path / "out"))


def test_the_summary_has_each_move_with_its_cost(tmp_path: Path) -> None:
    run(tmp_path / "out", write(tmp_path / "in", game=GAME))
    found, leads = summary(tmp_path / "out"), {}
    for each in answers(tmp_path / "out"):
        leads[each["turnNumber"]] = each["rootInfo"]["scoreLead"]
    assert [move["number"] for move in found["moves"]] == list(range(1, TURNS))
    for move in found["moves"]:
        change = leads[move["number"] - 1] - leads[move["number"]]
        lost = 0.0 if move["is_top"] else max(0.0, change if move["color"] == "B" else -change)
        assert move["points_lost"] == pytest.approx(lost, abs=1e-3)
    assert found["limits"]["black"]["group"] == "dan players"
    assert found["limits"]["white"]["group"] == "10 to 19 kyu"
    assert found["players"]["black"]["game"]["moves"] == 6


def test_the_annotated_record_has_the_same_game_with_its_comment_and_legal_variations(tmp_path: Path) -> None:
    source = write(tmp_path / "in", game=GAME.replace(";W[fd])", ";W[fd]C[Last](;B[df])(;B[ff]C[An idea]))"))
    run(tmp_path / "out", source, rank="9p")
    data = (tmp_path / "out" / "game.sgf").read_bytes()
    original, found = load_sgf(source / "game.sgf"), load_sgf(data)
    assert (found.moves, found.setups, found.komi) == (original.moves, original.setups, original.komi)
    assert (found.black, found.white, found.result) == ("Anna", "Bert", "B+2")
    assert found.comments[0] == "A game"
    assert found.comments[len(original.moves) - 1].startswith("Last")
    assert any("loses" in text for text in found.comments.values())
    variations = load_variations(data, found, 100)
    assert any("An idea" in each.comments.values() for each in variations)
    better = [each for each in variations if any(text.startswith("Better: ") for text in each.comments.values())]
    assert len(better) == sum(each["class"] != "fine" for each in summary(tmp_path / "out")["moves"])
    for each in better:
        for game, move in zip(each.positions(), each.moves, strict=False):
            assert game.is_legal(*move)


def test_handicap_stones_stay_in_the_annotated_record(tmp_path: Path) -> None:
    run(tmp_path / "out", write(tmp_path / "in", game="(;SZ[9]HA[2]AB[cc][gg];W[ee];B[dd])"))
    found = load_sgf(tmp_path / "out" / "game.sgf")
    assert found.handicap == 2
    assert len(found.setups[0].stones) == 2
    assert found.game().moves[0].color == WHITE


def test_what_the_record_does_not_say_is_assumed_and_reported(tmp_path: Path) -> None:
    run(tmp_path / "out", write(tmp_path / "in", game="(;SZ[9]HA[2]AB[cc][gg];W[ee];B[dd])"))
    found = summary(tmp_path / "out")
    assert (found["rules"], found["komi"], found["assumed"]) == ("chinese", 0.5, ["rules", "komi"])
    assert "rules and komi assumed" in (tmp_path / "out" / "game.html").read_text(encoding="utf-8")


def test_a_stopped_review_goes_on_and_analyzes_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # More positions than are begun ahead of those that are stored.
    games = dict.fromkeys("abcdefgh", GAME)
    source, out, total = write(tmp_path / "in", **games), tmp_path / "out", len(games) * TURNS
    add, added, last = AnalysisStore.add, Counter[str](), list[str]()

    def stopping(self: AnalysisStore, answer: dict[str, Any]) -> None:
        add(self, answer)
        added[f"{answer['id']} {answer['turnNumber']}"] += 1
        last[:] = [answer["id"]]
        if added.total() == TURNS + 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(AnalysisStore, "add", stopping)
    status, _, stderr = run(out, source)
    assert status == INTERRUPTED
    assert "the same command goes on" in stderr
    # Not if the answer at which it was stopped is the one that completes the game.
    is_whole = all(added[f"a.sgf {turn}"] for turn in range(TURNS)) and last != ["a.sgf"]
    assert (out / "a.html").exists() == is_whole
    assert TURNS + 3 <= added.total() < total
    assert run(out, source)[0] == 0
    assert set(added.values()) == {1}
    assert len(answers(out)) == total
    assert all((out / f"{name}.html").exists() for name in games)


def test_other_players_and_ranks_need_no_new_analysis(tmp_path: Path) -> None:
    source, out, evaluator = write(tmp_path / "in", game=GAME), tmp_path / "out", FakeEvaluator()
    run(out, source)
    run(out, source, evaluator=evaluator, player="Bert", rank="9p")
    assert evaluator.calls == 0
    assert summary(out)["limits"]["white"]["group"] == "professionals"


def test_only_one_player_is_reported_on(tmp_path: Path) -> None:
    other = GAME.replace("Anna", "Carl")
    _, stdout, _ = run(tmp_path / "out", write(tmp_path / "in", game=GAME, other=other), player=" anna")
    assert {move["color"] for move in summary(tmp_path / "out")["moves"]} == {"B"}
    assert "Bert" not in stdout
    assert not (tmp_path / "out" / "other.html").exists()
    comments = load_sgf(tmp_path / "out" / "game.sgf").comments
    assert not any("White" in text and "loses" in text for text in comments.values())


def test_an_unknown_player_is_refused_with_the_names_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(GoError, match=r"'Dora'.*Anna, Bert"):
        run(tmp_path / "out", write(tmp_path / "in", game=GAME), player="Dora")


def test_a_damaged_file_is_reported_in_one_line_and_the_others_are_reviewed(tmp_path: Path) -> None:
    large = GAME.replace("SZ[9]", "SZ[11]")
    source = write(tmp_path / "in", bad="(;SZ[9];B[zz])", game=GAME, illegal="(;SZ[9];B[aa];W[aa])", large=large)
    status, _, stderr = run(tmp_path / "out", source)
    assert status == 1
    skipped = [line for line in stderr.splitlines() if "skipped" in line]
    assert [name for line, name in zip(skipped, ("bad", "illegal", "large"), strict=True) if name in line]
    assert (tmp_path / "out" / "game.html").exists()


def test_names_from_the_record_are_escaped_in_the_pages(tmp_path: Path) -> None:
    nasty = GAME.replace("Anna", "<script>alert(1)</script>").replace("DT[", 'EV["><img src=x>]DT[')
    run(tmp_path / "out", write(tmp_path / "in", one=nasty, two=nasty))
    for page in ("one.html", "index.html"):
        text = (tmp_path / "out" / page).read_text(encoding="utf-8")
        assert "<script" not in text
        assert "<img" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_the_report_draws_two_boards_for_each_bad_move_and_needs_no_other_file(tmp_path: Path) -> None:
    run(tmp_path / "out", write(tmp_path / "in", game=GAME), rank="9p")
    text = (tmp_path / "out" / "game.html").read_text(encoding="utf-8")
    bad = [move for move in summary(tmp_path / "out")["moves"] if move["class"] != "fine"]
    assert text.count("<figure>") == 2 * min(10, len(bad)) > 0
    assert text.count("as played, and the answer: ") == min(10, len(bad))
    assert 'class="graph"' in text
    assert "src=" not in text
    assert "Win rates and leads are Black&#x27;s" in text


def test_subfolders_keep_their_place_and_equal_names_get_numbers(tmp_path: Path) -> None:
    write(tmp_path / "in" / "sub", game=GAME)
    write(tmp_path / "in", index=GAME)
    write(tmp_path / "more", index=GAME)
    run(tmp_path / "out", tmp_path / "in", tmp_path / "more" / "index.sgf")
    assert {each["id"] for each in answers(tmp_path / "out")} == {"sub/game.sgf", "index.sgf", "index-2.sgf"}
    for name in ("sub/game", "index-2", "index-3"):
        assert (tmp_path / "out" / f"{name}.html").exists()
    assert 'href="sub/game.html"' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")


def test_records_in_the_folder_of_the_review_are_not_reviewed(tmp_path: Path) -> None:
    source = write(tmp_path, game=GAME)
    run(tmp_path / "out", source)
    run(tmp_path / "out", source)
    assert {each["id"] for each in answers(tmp_path / "out")} == {"game.sgf"}


@pytest.mark.parametrize("source", [".", "game.sgf", "sub", "sub/game.sgf"])
def test_a_review_would_not_replace_the_records_that_it_is_given(tmp_path: Path, source: str) -> None:
    write(tmp_path / "sub", game=GAME)
    write(tmp_path, game=GAME)
    with pytest.raises(GoError, match=r"the review's own files would replace records in .*: choose another --out"):
        run(tmp_path, tmp_path / source)
    assert (tmp_path / "game.sgf").read_text(encoding="utf-8") == GAME


def test_all_games_of_a_file_are_reviewed_but_for_those_that_are_damaged(tmp_path: Path) -> None:
    source = write(tmp_path / "in", many=GAME + "(;GM[1]SZ[5];B[zz])" + GAME)
    (source / "lines.sgfl").write_text(f"{GAME}\n".replace("PB[", "PB[Another "), encoding="utf-8")
    status, _, errors = run(tmp_path / "out", source, source / "lines.sgfl")
    assert status == 1
    assert "many.sgf#2: " in errors
    assert {each["id"] for each in answers(tmp_path / "out")} == {"many.sgf#1", "many.sgf#3", "lines.sgfl:000001"}
    assert {each.name for each in (tmp_path / "out").glob("*.html")} == {
        *("index.html", "many.html", "many-2.html", "lines.html")
    }


@pytest.mark.parametrize("name", ["games.sgfl", "games.zip"])
def test_a_folder_may_hold_its_games_in_lines_or_in_an_archive(tmp_path: Path, name: str) -> None:
    source = tmp_path / "in"
    source.mkdir()
    if name.endswith(".zip"):
        with zipfile.ZipFile(source / name, "w") as packed:
            packed.writestr("sub/one.sgf", GAME)
    else:
        (source / name).write_text(f"\n{GAME}\n", encoding="utf-8")
    assert run(tmp_path / "out", source)[0] == 0
    number = "/sub/one.sgf" if name.endswith(".zip") else ":000002"
    assert {each["id"] for each in answers(tmp_path / "out")} == {name + number}
    assert (tmp_path / "out" / "games.html").exists()


def test_a_record_that_changed_is_not_mixed_with_its_old_analysis(tmp_path: Path) -> None:
    source = write(tmp_path / "in", game=GAME)
    run(tmp_path / "out", source)
    write(source, game=GAME.replace("KM[7]", "KM[6]"))
    with pytest.raises(GoError, match=r"game\.sgf has changed"):
        run(tmp_path / "out", source)


def test_other_visits_need_another_folder(tmp_path: Path) -> None:
    source = write(tmp_path / "in", game=GAME)
    run(tmp_path / "out", source)
    assert REVIEW.is_in(tmp_path / "out")
    with pytest.raises(GoError, match="visits was 6"):
        run(tmp_path / "out", source, effort=Effort(7))


def test_the_time_of_a_game_is_divided_among_positions_searched_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float | None] = []
    submit = AnalysisPool.submit
    monkeypatch.setattr(
        AnalysisPool,
        "submit",
        lambda self, tasks: (seconds.extend(task.seconds for task in tasks), submit(self, tasks)),
    )
    run(tmp_path / "out", write(tmp_path / "in", game=GAME), effort=Effort(6, 26.0))
    assert seconds == [pytest.approx(26.0 * 2 / TURNS)] * TURNS


def test_an_analysis_that_fails_ends_the_review_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(GoError, match="made to fail"):
        run(tmp_path / "out", write(tmp_path / "in", game=GAME), evaluator=FakeEvaluator(fail_at=3))


def test_a_record_without_moves_has_a_report(tmp_path: Path) -> None:
    status, _, _ = run(tmp_path / "out", write(tmp_path / "in", game="(;SZ[9])"))
    assert status == 0
    assert summary(tmp_path / "out")["largest_swing"] is None
    assert "None by these limits" in (tmp_path / "out" / "game.html").read_text(encoding="utf-8")


def test_stones_set_up_in_the_middle_stay_in_the_annotated_record(tmp_path: Path) -> None:
    source = write(tmp_path / "in", game="(;SZ[9]XX[unknown];B[ee];W[cc]TR[cc];AB[gg]LB[gg:A];B[dd];W[fd])")
    run(tmp_path / "out", source, rank="9p")
    original, found = load_sgf(source / "game.sgf"), load_sgf(tmp_path / "out" / "game.sgf")
    assert (found.moves, found.setups, found.markup) == (original.moves, original.setups, original.markup)
    assert "XX[unknown]" in (tmp_path / "out" / "game.sgf").read_text(encoding="utf-8")
    assert len(summary(tmp_path / "out")["moves"]) == 4


def test_each_mistake_has_its_facts_and_the_reasons_stand_in_every_file(tmp_path: Path) -> None:
    run(tmp_path / "out", write(tmp_path / "in", game=GAME), rank="9p")
    moves = summary(tmp_path / "out")["moves"]
    mistakes = [move for move in moves if move["class"] != "fine"]
    assert mistakes
    assert all(("facts" in move) == (move["class"] != "fine") for move in moves)
    for move in mistakes:
        assert move["facts"]["moveNumber"] == move["number"]
        assert move["facts"]["pointsLost"] == pytest.approx(move["points_lost"], abs=1e-3)
    reasons = [reason for move in mistakes for reason in move["reasons"]]
    assert reasons
    comments = "\n".join(load_sgf(tmp_path / "out" / "game.sgf").comments.values())
    page = html.unescape((tmp_path / "out" / "game.html").read_text(encoding="utf-8"))
    assert all(reason in comments and reason in page for reason in reasons)


def test_the_command_reviews_a_file_with_the_shipped_9x9_network(tmp_path: Path) -> None:
    source = write(tmp_path / "in", game=GAME) / "game.sgf"
    options = ["--out", str(tmp_path / "out"), "--net", "zero9", "--visits", "3", "--only-player", "Anna"]
    done = CliRunner().invoke(keima.main, ["review", str(source), *options])
    assert done.exit_code == 0, done.output
    assert summary(tmp_path / "out")["effort"] == "3 visits a position"
    assert "zero9" in summary(tmp_path / "out")["network"]


@pytest.mark.parametrize("rank", ["best", "40k", "0k", "10d", "12p"])
def test_a_rank_that_is_none_is_refused_before_the_network_is_loaded(tmp_path: Path, rank: str) -> None:
    source = write(tmp_path / "in", game=GAME)
    done = CliRunner().invoke(keima.main, ["review", str(source), "--out", str(tmp_path / "out"), "--rank", rank])
    assert done.exit_code == 1
    assert f"expected a rank such as 12k, 3d or 9p, got {rank!r}" in done.output
    assert not (tmp_path / "out").exists()
