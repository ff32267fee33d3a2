"""Handicap in a match: where the stones stand, how each program hears of them, and what they count."""

from pathlib import Path

import pytest

from engine.color import BLACK, WHITE
from engine.match.errors import MatchError
from engine.match.tournament import run_match
from engine.records.sgf import load_sgf
from engine.vertex import parse_vertex
from tests.match.players import fake, fast
from tests.match.test_tournament import GNUGO

NINE = {"width": 9, "height": 9}


def reported(log: Path) -> list[str]:
    """Return what a program heard from the board's clearing on."""
    lines = log.read_text().splitlines()
    return lines[lines.index("clear_board") + 1 :]


@pytest.mark.parametrize(
    ("also", "words"),
    [
        ("set_free_handicap", ["set_free_handicap G7 C3"]),
        ("", ["play black G7", "play black C3"]),
    ],
)
def test_programs_hear_of_the_stones_in_the_first_way_that_they_list(
    tmp_path: Path, also: str, words: list[str]
) -> None:
    black, white = tmp_path / "black.log", tmp_path / "white.log"
    players = fake("pass", log=black, also=also), fake("E5", log=white, also=also)
    run_match(fast(*players, handicap=2, **NINE))
    assert reported(white)[: len(words) + 2] == [*words, "genmove white", "play black pass"]
    assert reported(black)[: len(words) + 2] == [*words, "play white E5", "genmove black"]


@pytest.mark.skipif(not GNUGO.exists(), reason=f"no GNU Go at {GNUGO}")
@pytest.mark.parametrize("number", [2, 9])
def test_fixed_stones_of_gnu_go_are_those_of_the_arbiter(tmp_path: Path, number: int) -> None:
    gnugo = f"{GNUGO} --mode gtp --chinese-rules --level 1"
    settings = fast(gnugo, gnugo, rules="chinese", handicap=number, max_moves=1, referee=gnugo, **NINE)
    (record,) = run_match(settings, tmp_path).records
    assert record.scored_by == "referee"
    game = load_sgf(tmp_path / record.sgf).game()
    assert (game.handicap, game.color_at(parse_vertex("G7", 9, 9))) == (number, BLACK)


def test_a_program_that_places_fixed_stones_elsewhere_ends_the_match() -> None:
    astray = fake(also="fixed_handicap")
    with pytest.raises(MatchError, match=r"puts the handicap on '' instead of 'G7 C3'"):
        run_match(fast(astray, fake(), handicap=2, **NINE))


@pytest.mark.parametrize(
    ("rules", "number", "result"),
    [("tromp-taylor", 4, "B+80.5"), ("chinese", 4, "B+76.5"), ("aga", 4, "B+77.5"), ("japanese", 2, "B+78.5")],
)
def test_white_gets_what_the_rules_give_for_the_stones(rules: str, number: int, result: str) -> None:
    (record,) = run_match(fast(fake(), fake(), rules=rules, handicap=number, **NINE)).records
    assert (record.result, record.scored_by) == (result, "arbiter")
    assert record.moves == {"A": 1, "B": 1}


def test_the_record_says_which_stones_there_were_and_who_began(tmp_path: Path) -> None:
    (record,) = run_match(fast(fake("E3"), fake("E5"), handicap=4, **NINE), tmp_path).records
    text = (tmp_path / record.sgf).read_text()
    assert "HA[4]" in text
    assert "PL[W]" in text
    game = load_sgf(tmp_path / record.sgf).game()
    assert (game.handicap, len(game.setup_black), game.moves[0].color) == (4, 4, WHITE)


def test_the_referee_sets_the_stones_too(tmp_path: Path) -> None:
    log = tmp_path / "referee.log"
    referee = fake(score="W+1", log=log, also="set_free_handicap")
    run_match(fast(fake(), fake(), referee=referee, handicap=2, **NINE))
    assert reported(log)[0] == "set_free_handicap G7 C3"


@pytest.mark.parametrize(("number", "size"), [(1, 9), (10, 9), (-2, 9), (5, 8), (2, 5)])
def test_a_handicap_that_the_board_has_no_points_for_is_an_error(number: int, size: int) -> None:
    with pytest.raises(MatchError, match=rf"^handicap: expected (2 to \d stones|none) on {size}x{size}, got"):
        fast("a", "b", handicap=number, width=size, height=size)


def test_a_folder_of_a_match_without_handicap_stays_valid_and_takes_no_other(tmp_path: Path) -> None:
    run_match(fast(fake(), fake(), **NINE), tmp_path)
    path = tmp_path / "settings.json"
    path.write_text(path.read_text().replace(' "handicap": null,\n', ""))
    assert '"handicap"' not in path.read_text()
    run_match(fast(fake(), fake(), **NINE), tmp_path)
    with pytest.raises(MatchError, match="handicap was None there and is 3 now"):
        run_match(fast(fake(), fake(), handicap=3, **NINE), tmp_path)
