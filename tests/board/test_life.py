"""Proofs of life and death beside every position that can arise, and problems whose answers are known."""

import random

import numpy as np
import pytest

from engine.board.layout import Board
from engine.board.life import GAVE_UP, MOST_MOVES, REFUTED, has_room_for_eyes, life_line, new_life_memory, prove_life
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.vertex import PASS, point_at
from tests.board.positions import diagram_of
from tests.oracle.naive_board import NaiveBoard
from tests.oracle.naive_life import NaiveLife, TooMany

POSITIONS = 20_000


def random_problem(generator: random.Random, width: int, height: int) -> NaiveLife:
    """Return a corner with random stones and a white ring around it. Black stones are most likely beside the ring."""
    while True:
        board = NaiveBoard(width + 2, height + 2)
        region = [point_at(row, column, width + 2) for row in range(height) for column in range(width)]
        ring = [point_at(row, width, width + 2) for row in range(height + 1)]
        ring += [point_at(height, column, width + 2) for column in range(width)]
        for point in ring:
            board.colors[point] = WHITE
        for point in region:
            is_beside = any(board.colors[neighbor] == WHITE for neighbor in board.neighbors[point])
            chances = (1, 8, 1) if is_beside else (6, 1, 1)
            board.colors[point] = generator.choices((EMPTY, BLACK, WHITE), chances)[0]
        held = [board.colors[point] for point in region]
        if BLACK in held and held.count(EMPTY) <= 4 and all(liberties for _, _, liberties in board.chains()):
            return NaiveLife(board, region, ring, BLACK)


def board_of(problem: NaiveLife) -> Board:
    return diagram_of(problem.board).board()


def proved(problem: NaiveLife, color: int, prover: int, target: int) -> tuple[int, list[int]]:
    """Return the length of the proof, or the code without one, and the proof's line."""
    region, ring = (np.array(sorted(part), dtype=np.int16) for part in (problem.region, problem.ring))
    memory = new_life_memory(board_of(problem), region, ring, POSITIONS)
    length = prove_life(memory, color, prover, problem.defender, target, POSITIONS)
    line = np.zeros(MOST_MOVES, dtype=np.int16)
    return length, line[: life_line(memory, color, line)].tolist() if length >= 0 else []


@pytest.mark.parametrize(("width", "height", "count", "dying"), [(4, 2, 25, 5), (5, 2, 15, 3), (4, 3, 15, 0)])
def test_every_proof_is_a_win_among_all_positions(width: int, height: int, count: int, dying: int) -> None:
    generator = random.Random(width * 10 + height)
    found = {"lives": 0, "dies": 0, "missed": 0}
    for _ in range(count):
        problem = random_problem(generator, width, height)
        target = generator.choice([point for point in problem.region if problem.board.colors[point] == BLACK])
        color = generator.choice((BLACK, WHITE))
        for goal, prover, end in (
            ("lives", BLACK, problem.lives_end(target)),
            ("dies", WHITE, problem.dies_end),
        ):
            length, line = proved(problem, color, prover, target)
            try:
                wins = problem.forces(color, prover, end)
            except TooMany:
                continue
            assert length != GAVE_UP
            assert wins or length == REFUTED, f"{goal} is not true\n{diagram_of(problem.board)}"
            found[goal] += length >= 0
            found["missed"] += wins and length == REFUTED
            assert len(line) == max(length, 0)
    assert found["lives"] > 0
    assert found["dies"] >= dying
    # Positions that repeat on the way from the root hide few proofs.
    assert found["missed"] <= count // 20


def test_the_line_of_a_proof_leads_to_its_end() -> None:
    generator, lengths = random.Random(5), set()
    for _ in range(40):
        problem = random_problem(generator, 5, 2)
        target = next(point for point in sorted(problem.region) if problem.board.colors[point] == BLACK)
        for prover, end in ((BLACK, problem.lives_end(target)), (WHITE, problem.dies_end)):
            length, line = proved(problem, BLACK, prover, target)
            if length < 0:
                continue
            lengths.add(length)
            board, color = NaiveBoard(problem.board.width, problem.board.height), BLACK
            board.colors[:] = problem.board.colors
            for move in line:
                assert end(board) == 0
                if move != PASS:
                    board.play(move, color)
                color = opponent(color)
            assert end(board) == 1
    assert len(lengths) >= 3


def test_who_has_no_room_for_eyes_is_captured_even_if_he_moves_first() -> None:
    generator, without = random.Random(3), 0
    for _ in range(100):
        problem = random_problem(generator, *generator.choice([(2, 2), (3, 2)]))
        board = board_of(problem)
        region, ring = (np.array(sorted(part), dtype=np.int16) for part in (problem.region, problem.ring))
        room = has_room_for_eyes(board, WHITE, region, ring, np.empty((3, board.shape[1]), dtype=np.int32))
        assert room == problem.has_room(problem.board)
        if not room:
            try:
                assert problem.forces(BLACK, WHITE, problem.captured_end)
                without += 1
            except TooMany:
                continue
    assert without > 30
