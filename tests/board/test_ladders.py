"""Ladders of the kernel against plain search, and the ladder that every beginner learns."""

import random

import numpy as np
import pytest

from engine.board.ladders import find_ladders, new_ladder_scratch
from engine.color import BLACK, WHITE
from engine.records.diagram import format_diagram
from engine.vertex import format_vertex, points
from tests.board.positions import diagram_of, random_position
from tests.diagrams import parse_diagram
from tests.oracle.naive_ladders import GaveUp, NaiveLadders

LADDER = """
. . . . . . . . .
. . . . . . . . .
. . X X . . . . .
. X O . . . . . .
. . X . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
. . . . . . . . .
"""
"""White's stone C6 is in atari and runs to the right and down."""


def ladders_of(text: str) -> tuple[set[str], dict[int, set[str]]]:
    """Return the stones in ladders and the working moves by the color attacked, as GTP vertices."""
    diagram = parse_diagram(text)
    board = diagram.board()
    laddered, working = np.zeros(board.shape[1], dtype=np.int8), np.zeros(board.shape[1], dtype=np.int8)
    find_ladders(board, new_ladder_scratch(board), np.empty_like(board), laddered, working)
    places = points(diagram.width, diagram.height)
    names = {vertex: format_vertex(vertex, diagram.width, diagram.height) for vertex in places}
    moves = {color: {names[v] for v in places if working[v] & color} for color in (BLACK, WHITE)}
    return {names[vertex] for vertex in places if laddered[vertex]}, moves


def test_a_ladder_works_on_an_open_board() -> None:
    assert ladders_of(LADDER)[0] == {"C6"}


def test_a_stone_in_the_way_breaks_the_ladder() -> None:
    assert ladders_of(with_stone(LADDER, row=6, column=6, stone="O"))[0] == set()
    assert ladders_of(with_stone(LADDER, row=6, column=0, stone="O"))[0] == {"C6"}


def test_the_attacker_may_begin_a_ladder() -> None:
    laddered, working = ladders_of(with_stone(LADDER, row=3, column=1, stone="."))
    assert laddered == {"C6"}
    assert working == {BLACK: set(), WHITE: {"B6"}}


def with_stone(text: str, row: int, column: int, stone: str) -> str:
    """Return a drawing with one point changed; row 0 is the top one."""
    rows = [line.split() for line in text.strip().splitlines()]
    rows[row][column] = stone
    return "\n".join(" ".join(line) for line in rows)


@pytest.mark.parametrize(("width", "height"), [(4, 4), (5, 5), (6, 6), (3, 7), (7, 7), (9, 9)])
def test_ladders_of_random_positions_are_those_of_plain_search(width: int, height: int) -> None:
    generator = random.Random(width)
    found = compared = 0
    for _ in range(150):
        naive = random_position(generator, width, height)
        try:
            laddered, working = NaiveLadders(naive).find()
        except GaveUp:
            continue
        diagram = diagram_of(naive)
        board = diagram.board()
        marks, moves = np.zeros(board.shape[1], dtype=np.int8), np.zeros(board.shape[1], dtype=np.int8)
        find_ladders(board, new_ladder_scratch(board), np.empty_like(board), marks, moves)
        drawing = format_diagram(diagram)
        assert set(np.flatnonzero(marks).tolist()) == laddered, drawing
        for color in (BLACK, WHITE):
            assert set(np.flatnonzero(moves & color).tolist()) == working[color], drawing
        compared += 1
        found += bool(laddered)
    assert compared > 100
    assert found > 20
