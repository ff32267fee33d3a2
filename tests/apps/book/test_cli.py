"""`keima book build` and `show`, and `--book` in a GTP session."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import keima
from engine.book.file import read
from engine.rules import TROMP_TAYLOR, parse_rules
from tests.book.books import small_book

BUILD = ["--net", "none", "--size", "3", "--komi", "0.5", "--rules", "tromp-taylor", "--visits", "16", "--threads", "1"]


def run(*words: object) -> str:
    result = CliRunner().invoke(keima.main, ["book", *map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_a_book_is_built_made_larger_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    output = run("build", folder, *BUILD, "--positions", 20, "--at-once", 4)
    assert "3x3: 20 of 20 positions" in output
    first = len(read(folder / "opening.book")[1].key)
    run("build", folder, *BUILD, "--positions", 40, "--at-once", 4)
    about, entries = read(folder / "opening.book")
    assert 20 <= first < 40 <= len(entries.key)
    assert (about.width, about.komi, about.visits, about.made["searches"]) == (3, 0.5, 16, len(entries.key))
    shown = run("show", folder / "opening.book")
    assert "3x3, tromp-taylor, komi 0.5" in shown
    assert "16 visits each by playouts" in shown
    assert "black wins" in shown


def test_a_book_that_ends_before_its_positions_says_that_none_is_left_to_search(tmp_path: Path) -> None:
    words = ["build", tmp_path / "run", *BUILD, "--size", "2", "--komi", "20.5", "--positions", 3000]
    first = run(*words)
    assert "no position is left to search" in first
    assert "no position is left to search" in run(*words)
    assert "no position is left" not in run("build", tmp_path / "other", *BUILD, "--positions", 4, "--at-once", 2)


def test_the_position_after_moves_is_shown_with_its_moves(tmp_path: Path) -> None:
    path = small_book(tmp_path, 14)
    shown = run("show", path, "--moves", 2)
    row = next(line for line in shown.splitlines() if "%" in line and "│" in line)
    move = row.split("│")[1].split()[0]
    after = run("show", path, move)
    assert "white wins" in after
    assert "not in the book" in run("show", path, "a1", "pass", "a2", "pass", "a3")


@pytest.mark.parametrize(("words", "text"), [(["zz"], "expected a vertex"), (["a1", "a1"], "occupied")])
def test_moves_that_cannot_be_played_are_refused(words: list[str], text: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(keima.main, ["book", "show", str(small_book(tmp_path, 2)), *words])
    assert result.exit_code == 1
    assert text in result.output


def test_a_damaged_book_is_one_line_of_every_command(tmp_path: Path) -> None:
    path = tmp_path / "damaged.book"
    path.write_bytes(small_book(tmp_path, 2).read_bytes()[:-9])
    result = CliRunner().invoke(keima.main, ["book", "show", str(path)])
    assert result.exit_code == 1
    assert f"Error: {path}: expected " in result.output


def test_gtp_plays_the_books_move_and_says_once_where_it_is_not_used(tmp_path: Path) -> None:
    path = small_book(tmp_path, 14)
    options = ["--net", "none", "--visits", "2", "--size", "4", "--komi", "0.5", "--rules", "tromp-taylor"]
    session = subprocess.run(
        [sys.executable, "-m", "keima", "gtp", *options, "--book", str(path)],
        input="genmove b\nclear_board\nkomi 7.5\ngenmove b\ngenmove w\nquit\n",
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    shown = run("show", path, "--moves", 1)
    best = next(line for line in shown.splitlines() if "%" in line and "│" in line).split("│")[1].split()
    assert session.stdout.split("\n\n")[0].removeprefix("= ") in best
    assert session.stderr.count("is not used") == session.stderr.count("is not used: expected komi 0.5, got 7.5") == 1


def test_a_session_of_a_book_has_its_size_rules_and_komi(tmp_path: Path) -> None:
    path = small_book(tmp_path, 2)
    session = subprocess.run(
        [sys.executable, "-m", "keima", "book", "use", str(path), "--net", "none", "--visits", "2"],
        input="get_komi\nkata-get-rules\nquery_boardsize\nquit\n",
        capture_output=True,
        text=True,
        timeout=250,
        check=True,
    )
    komi, rules, size, _ = (each.removeprefix("= ") for each in session.stdout.split("\n\n", 3))
    assert (komi, size) == ("0.5", "4")
    assert parse_rules(rules) == TROMP_TAYLOR


def test_reflexes_and_a_book_are_refused_together(tmp_path: Path) -> None:
    result = CliRunner().invoke(keima.main, ["gtp", "--reflexes", "--book", "3x3"])
    assert result.exit_code == 2
    assert "--reflexes plays without a search and without --book" in result.output


def test_a_file_that_is_no_book_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("important\n")
    result = CliRunner().invoke(keima.main, ["book", "solve", str(path), "--size", "2"])
    assert result.exit_code == 1
    assert f"Error: {path}: expected a book that begins with b'keima-book 1\\n', got b'important\\n'" in result.output
    assert path.read_text() == "important\n"


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (["--size", "3x2", "--rules", "tromp-taylor"], "3x2, got one of 2x2"),
        (["--size", "2", "--rules", "new-zealand"], "rules new-zealand, got one of rules tromp-taylor"),
    ],
)
def test_the_solution_of_another_board_is_not_overwritten(options: list[str], difference: str, tmp_path: Path) -> None:
    path = tmp_path / "2x2.book"
    run("solve", path, "--size", "2", "--rules", "tromp-taylor")
    before = path.read_bytes()
    result = CliRunner().invoke(keima.main, ["book", "solve", str(path), *options])
    assert result.exit_code == 1
    assert f"Error: {path}: would be overwritten: expected a book of {difference}\n" in result.output
    assert path.read_bytes() == before
    run("solve", path, "--size", "2", "--rules", "tromp-taylor")
    assert path.read_bytes() == before


def test_a_book_of_searches_is_not_overwritten_by_a_solution(tmp_path: Path) -> None:
    path = small_book(tmp_path, 2)
    result = CliRunner().invoke(keima.main, ["book", "solve", str(path), "--size", "4", "--rules", "tromp-taylor"])
    assert result.exit_code == 1
    assert "expected a book of exact values, got one of searches" in result.output


@pytest.mark.slow
def test_a_board_of_more_than_sixteen_points_is_proved(tmp_path: Path) -> None:
    output = run("solve", tmp_path / "6x3.book", "--size", "6x3", "--rules", "chinese-kgs", "--moves", 3)
    assert "6x3: Black +18 without komi, decided after " in output
    assert "-18.0" in run("show", tmp_path / "6x3.book", "d2")


def test_a_proof_that_needs_more_memory_says_so(tmp_path: Path) -> None:
    arguments = ["--size", "5x4", "--max-memory", "1"]
    result = CliRunner().invoke(keima.main, ["book", "solve", str(tmp_path / "x.book"), *arguments])
    assert result.exit_code == 1
    assert re.search(r"5x4: the table of 55,\d+ positions is full: more memory may prove it", result.output)


def test_what_cannot_be_proved_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        keima.main, ["book", "solve", str(tmp_path / "x.book"), "--size", "5", "--rules", "tromp-taylor"]
    )
    assert result.exit_code == 1
    assert "expected rules that count area and forbid suicide" in result.output
