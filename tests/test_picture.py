"""Pictures show the stones, numbers and marks of a position where they lie, and tell what they cannot show."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.apps.picture.svg import UNIT, Mark, picture
from engine.color import BLACK, WHITE
from engine.game import Game
from engine.records.sgf_writer import write_game
from engine.vertex import PASS, parse_vertex, points, row_column
from keima import main
from tests.positions import game_of

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str, kind: str) -> list[ElementTree.Element]:
    return ElementTree.fromstring(svg).findall(f"{SVG}{kind}")


def place(vertex: int, width: int) -> tuple[float, float]:
    row, column = row_column(vertex, width)
    return (column + 1.5) * UNIT, (row + 1.5) * UNIT


def stones(svg: str, color: str) -> set[tuple[float, float]]:
    discs = drawn(svg, "circle")
    return {(float(d.attrib["cx"]), float(d.attrib["cy"])) for d in discs if d.attrib["fill"] == f"url(#{color})"}


def words(svg: str) -> list[str]:
    return [str(text.text) for text in drawn(svg, "text")]


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 25), st.integers(2, 25), st.lists(st.integers(0, 624), max_size=40))
def test_every_stone_lies_on_its_point(width: int, height: int, choices: list[int]) -> None:
    game = Game(width, height)
    for choice in choices:
        legal = game.legal_vertices()
        if legal:
            game.play(game.to_play, legal[choice % len(legal)])
    svg = picture(game)
    for color, name in ((BLACK, "black"), (WHITE, "white")):
        expected = {place(vertex, width) for vertex in points(width, height) if game.color_at(vertex) == color}
        assert stones(svg, name) == expected
    assert {"A", "1", str(height)} <= set(words(svg))


def test_numbers_stand_on_stones_and_what_they_cannot_show_is_reported_below() -> None:
    game = game_of("B1 A1 A2 pass A1 C3", 5)
    svg = picture(game, numbered_from=2)
    assert [word for word in words(svg) if word.isdigit() and int(word) > 5] == ["6"]
    assert "2 at A1, 4 pass" in words(svg)
    assert not any(word.startswith("2 at") for word in words(picture(game)))


def test_moves_before_a_setup_count() -> None:
    assert "101" in words(picture(game_of("C3 D3", 5), numbered_from=101, earlier=100))


def test_marks_ownership_and_dead_stones_are_drawn() -> None:
    game = game_of("C3 D3", 5)
    free, stone = (parse_vertex(name, 5, 5) for name in ("A1", "D3"))
    marks = [Mark(free, ("61", "<12>"), is_best=True), Mark(PASS, ("40",))]
    svg = picture(game, marks=marks, ownership=[1.0] + [0.0] * 23 + [-0.5], dead=[stone])
    assert {"61", "<12>"} <= set(words(svg))
    assert "40" not in words(svg)
    squares = [(each.attrib["fill"], float(each.attrib["width"])) for each in drawn(svg, "rect")[1:]]
    assert squares == [("#000000", 0.9 * UNIT), ("#ffffff", 0.45 * UNIT)]
    pale = [each for each in drawn(svg, "circle") if each.attrib.get("opacity") == "0.4"]
    assert [each.attrib["fill"] for each in pale] == ["url(#white)"]


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "game.sgf"
    path.write_text(write_game(game_of("C3 D3 B2", 5)), encoding="utf-8")
    return path


def test_a_position_of_a_record_is_drawn_on_stdout_or_into_a_file(record: Path) -> None:
    result = CliRunner().invoke(main, ["draw", str(record), "--move", "2", "--numbers", "1"])
    assert result.exit_code == 0
    assert len(stones(result.output, "black")) == len(stones(result.output, "white")) == 1
    assert CliRunner().invoke(main, ["draw", str(record), "-", "--move", "2", "--numbers", "1"]).output == result.output
    out = record.parent / "new" / "game.svg"
    assert CliRunner().invoke(main, ["draw", str(record), str(out)]).output == ""
    assert len(stones(out.read_text(encoding="utf-8"), "black")) == 2


def test_a_place_without_a_name_is_no_traceback(record: Path) -> None:
    result = CliRunner().invoke(main, ["draw", str(record), ""])
    assert result.exit_code != 0 and "directory" in result.output


def test_a_name_for_another_format_is_refused(record: Path) -> None:
    out = record.parent / "game.png"
    result = CliRunner().invoke(main, ["draw", str(record), str(out)])
    assert result.exit_code == 1
    assert "expected a name that ends with .svg" in result.output
    assert not out.exists()


def test_a_move_that_a_record_does_not_have_is_one_line(record: Path) -> None:
    result = CliRunner().invoke(main, ["draw", str(record), "--move", "4"])
    assert result.exit_code == 1
    assert re.fullmatch(r"Error: .*game\.sgf: expected a move from 0 to 3, got 4\n", result.output)


def test_moves_before_a_setup_that_are_asked_for_are_said_to_have_no_numbers(record: Path) -> None:
    record.write_text("(;SZ[5];B[bb];W[cc];AE[bb];B[dd])", encoding="utf-8")
    result = CliRunner().invoke(main, ["draw", str(record), "--numbers", "1"])
    assert result.exit_code == 0
    assert result.stderr == f"{record}: stones are set up after move 2: moves are numbered from 3\n"
    assert words(result.stdout).count("3") == 1 + words(CliRunner().invoke(main, ["draw", str(record)]).stdout).count(
        "3"
    )
