"""The input planes of every encoder, against hand-written diagrams and what must always hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.board.kernels import is_suicide
from engine.board.layout import COLOR, HEADER, KO_POINT
from engine.color import BLACK, EMPTY, WHITE, opponent
from engine.encoders import ENCODERS, katago
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import CHINESE, JAPANESE, TROMP_TAYLOR
from engine.vertex import PASS, point_at, points, policy_index, row_column
from tests.positions import batch_of, game_from_diagram, game_of, random_game

NAMES = sorted(ENCODERS)


def encode(name: str, positions: PositionBatch, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (planes, globals) of a batch, written over garbage so that an unwritten input shows."""
    encoder = ENCODERS[name]
    planes = np.full((positions.capacity, encoder.planes, positions.height, positions.width), 77.0, np.float32)
    globals_ = np.full((positions.capacity, encoder.globals), 77.0, np.float32)
    encoder.encode(positions, positions.capacity if count is None else count, planes, globals_)
    return planes, globals_


def drawn(plane: np.ndarray) -> str:
    """Return a plane as rows of digits, '.' for 0 and '-' for -1."""
    marks = {0.0: ".", 1.0: "1", -1.0: "-"}
    return " ".join("".join(marks[float(value)] for value in row) for row in plane)


OPENING = "C3 B2 C2 B3 pass A1"
"""On 4x3, rows from the top: .OX. / .OX. / O... ; then Black is to move."""

GOLDEN = {
    "agz": {
        0: "..1. ..1. ....",  # own now
        1: "..1. ..1. ....",  # before A1, after the pass
        2: "..1. ..1. ....",  # before the pass
        3: "..1. ..1. ....",  # before B3
        4: "..1. .... ....",  # before C2
        5: "..1. .... ....",
        6: ".... .... ....",  # the empty starting board
        7: ".... .... ....",  # before the start
        8: ".1.. .1.. 1...",
        9: ".1.. .1.. ....",
        10: ".1.. .1.. ....",
        11: ".... .1.. ....",
        12: ".... .1.. ....",
        13: ".... .... ....",
        14: ".... .... ....",
        15: ".... .... ....",
        16: "1111 1111 1111",
    },
    "oneplane": {0: ".-1. .-1. -..."},
    "gomoku4": {
        0: "..1. ..1. ....",
        1: ".1.. .1.. 1...",
        2: ".... .... 1...",
        3: "1111 1111 1111",
    },
    "liberties": {
        0: "1111 1111 1111",
        1: ".... .... ....",
        2: ".... .... ....",
        3: "..1. ..1. ....",
        4: ".... .... ....",
        5: ".... .... 1...",
        6: ".1.. .1.. ....",
        7: ".... .... ....",
        8: ".... .... ....",
        9: ".... .... 1...",
        10: ".... .... ....",
    },
}

GOLDEN["reflexes"] = {**GOLDEN["liberties"], 11: ".... .... ...."}
GOLDEN["leela"] = {**GOLDEN["agz"], 17: ".... .... ...."}


def test_every_encoder_has_golden_planes_here_or_beside_katago() -> None:
    assert GOLDEN.keys() | {each.name for each in katago.ENCODERS} == ENCODERS.keys()


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_the_opening_gives_the_golden_planes(name: str) -> None:
    planes, _ = encode(name, batch_of([game_of(OPENING, 4, 3)]))
    assert {index: drawn(plane) for index, plane in enumerate(planes[0])} == GOLDEN[name]


def test_liberties_counts_one_two_and_three_or_more_for_both_sides() -> None:
    game = game_from_diagram("""
        X O . X .
        . O X O .
        . . O . .
        O O . X X
        X . . X .
    """)
    planes, globals_ = encode("liberties", batch_of([game]))
    assert [drawn(plane) for plane in planes[0, 1:7]] == [
        "1.... ..1.. ..... ..... 1....",
        "...1. ..... ..... ..... .....",
        "..... ..... ..... ...11 ...1.",
        "..... ..... ..... ..... .....",
        "..... ...1. ..... ..... .....",
        ".1... .1... ..1.. 11... .....",
    ]
    assert globals_[0].tolist() == [-0.5, 0.0, 0.0]


def test_a_ko_point_is_marked_for_the_side_that_may_not_take_it() -> None:
    game = game_from_diagram("""
        . X O .
        X . X O
        . X O .
    """)
    game.play(WHITE, point_at(1, 1, 4))
    planes, _ = encode("liberties", batch_of([game]))
    assert drawn(planes[0, 7]) == ".... ..1. ...."
    assert drawn(planes[0, 8]) == "...1 .... ...1"
    assert drawn(planes[0, 9]) == ".... .1.. ...."


def test_a_point_without_breath_is_suicide_and_no_repetition() -> None:
    diagram = """
        . X .
        X X .
        . . .
    """
    planes, _ = encode("liberties", batch_of([game_from_diagram(diagram)], [WHITE]))
    assert drawn(planes[0, 7]) == "... ... ..."
    assert drawn(planes[0, 8]) == "1.. ... ..."


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", [0, 0]), ("C3", [1, 0]), ("C3 D3", [1, 1]), ("C3 pass", [0, 1]), ("C3 pass pass", [0, 0])],
)
def test_last_move_planes_hold_points_and_no_passes(text: str, expected: list[int]) -> None:
    planes, globals_ = encode("liberties", batch_of([game_of(text, 5)]))
    moves = text.split()
    assert [int(planes[0, 9].sum()), int(planes[0, 10].sum())] == expected
    assert globals_[0, 1] == (moves[-1:] == ["pass"])
    assert globals_[0, 2] == (moves[-2:-1] == ["pass"])


@pytest.mark.parametrize(
    ("moves", "expected"), [("", "... ... ..."), ("A1 B2", "... .1. ..."), ("A1 pass", "... ... ...")]
)
def test_the_last_move_is_one_point_after_a_play_and_none_after_a_pass(moves: str, expected: str) -> None:
    planes, _ = encode("gomoku4", batch_of([game_of(moves, 3)]))
    assert drawn(planes[0, 2]) == expected


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_the_planes_of_gomoku_are_the_stones_and_the_mover(seed: int, size: int) -> None:
    game = random_game(seed, size, moves=30)
    planes, _ = encode("gomoku4", batch_of([game]))
    own, enemy, last, black = planes[0]
    stones = game.board[COLOR, points(size, size)].reshape(size, size)
    assert np.array_equal(own, stones == game.to_play)
    assert np.array_equal(enemy, (stones != game.to_play) & (stones != EMPTY))
    assert last.sum() == (bool(game.moves) and game.moves[-1].vertex != PASS)
    assert np.all(black == (game.to_play == BLACK))


def test_the_reflex_plane_holds_captures_rescues_and_double_ataris_only() -> None:
    game = game_from_diagram("""
        . O . . .
        O X . . .
        . O . . O
        . . . . X
        . . . X .
    """)
    planes, _ = encode("reflexes", batch_of([game]))
    assert drawn(planes[0, 11]) == "..... ..1.. ..... ..... ....."
    assert np.array_equal(planes[0, :11], encode("liberties", batch_of([game]))[0][0])


def test_komi_is_seen_by_the_side_to_move() -> None:
    game = game_of("", 5, komi=6.0)
    _, globals_ = encode("liberties", batch_of([game, game], [BLACK, WHITE]))
    assert globals_[:, 0].tolist() == pytest.approx([-0.4, 0.4])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 7), (9, 5), (5, 9), (25, 25)])
def test_every_input_of_every_board_size_is_written(name: str, width: int, height: int) -> None:
    planes, globals_ = encode(name, batch_of([random_game(seed, width, height) for seed in range(4)]))
    assert set(np.unique(planes)) <= ({-1.0, 0.0, 1.0} if ENCODERS[name].signed else {0.0, 1.0})
    assert np.abs(globals_).max(initial=0.0) <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_rows_beyond_the_count_are_left_alone(name: str) -> None:
    planes, globals_ = encode(name, batch_of([random_game(seed, 5) for seed in range(3)]), count=2)
    assert (planes[2] == 77.0).all()
    assert (globals_[2] == 77.0).all()


def test_a_buffer_of_the_wrong_shape_is_refused() -> None:
    positions = batch_of([game_of("", 5)])
    wrong = np.zeros((1, 17, 5, 6), np.float32)
    with pytest.raises(ValueError, match=r"encoder agz: 1 positions need float32 planes \[>= 1, 17, 5, 5\]"):
        ENCODERS["agz"].encode(positions, 1, wrong, np.zeros((1, 0), np.float32))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), moves=st.integers(0, 80), rules=st.sampled_from([TROMP_TAYLOR, CHINESE, JAPANESE]))
def test_liberty_planes_partition_the_stones_and_forbidden_planes_the_illegal_points(
    seed: int, moves: int, rules: object
) -> None:
    game = random_game(seed, 5, 4, moves=moves, rules=rules)  # type: ignore[arg-type]
    positions = batch_of([game])
    planes, _ = encode("liberties", positions)
    own, enemy = planes[0, 1:4].sum(axis=0), planes[0, 4:7].sum(axis=0)
    for index, vertex in enumerate(points(5, 4)):
        row, column = row_column(vertex, 5)
        color = game.color_at(vertex)
        assert own[row, column] == (color == game.to_play)
        assert enemy[row, column] == (color not in (EMPTY, game.to_play))
        forbidden = color == EMPTY and not positions.legal[0, index]
        assert planes[0, 7:9, row, column].sum() == forbidden
        reason = game.legality(game.to_play, vertex)
        assert planes[0, 7, row, column] == (reason in ("ko", "superko"))
        assert planes[0, 8, row, column] == (reason == "suicide")


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32), symmetry=st.integers(0, 7))
def test_a_mirrored_game_gives_mirrored_planes(name: str, seed: int, symmetry: int) -> None:
    width, height = 5, 4
    game = random_game(seed, width, height, moves=40)
    mirrored = Game(height, width) if symmetry & 4 else Game(width, height)
    for color, vertex in game.moves:
        mirrored.play(color, moved(vertex, width, height, symmetry))
    planes, globals_ = encode(name, batch_of([game]))
    other, other_globals = encode(name, batch_of([mirrored]))
    expected = planes[0]
    expected = expected[:, ::-1] if symmetry & 1 else expected
    expected = expected[:, :, ::-1] if symmetry & 2 else expected
    expected = expected.transpose(0, 2, 1) if symmetry & 4 else expected
    assert np.array_equal(other[0], expected)
    assert np.array_equal(other_globals, globals_)


@pytest.mark.parametrize("name", NAMES)
def test_exchanged_colors_give_the_same_inputs_where_an_encoder_does_not_see_colors(name: str) -> None:
    games = [random_game(seed, 5, moves=30) for seed in range(8)]
    exchanged = [Game(5, rules=game.rules, komi=-game.komi) for game in games]
    for game, other in zip(games, exchanged, strict=True):
        for color, vertex in game.moves:
            other.play(opponent(color), vertex)
    found = encode(name, batch_of(games, [game.to_play for game in games]))
    others = encode(name, batch_of(exchanged, [opponent(game.to_play) for game in games]))
    assert all(map(np.array_equal, found, others)) != ENCODERS[name].sees_color


def moved(vertex: int, width: int, height: int, symmetry: int) -> int:
    """Return where a symmetry (1 flips rows, 2 flips columns, 4 then transposes) moves a vertex."""
    if vertex == PASS:
        return PASS
    row, column = row_column(vertex, width)
    row = height - 1 - row if symmetry & 1 else row
    column = width - 1 - column if symmetry & 2 else column
    return point_at(column, row, height) if symmetry & 4 else point_at(row, column, width)


@pytest.mark.parametrize("name", NAMES)
def test_a_position_encodes_the_same_after_the_game_went_on(name: str) -> None:
    finished = random_game(5, 7, moves=90)
    growing = Game(7)
    samples = []
    for color, vertex in finished.moves:
        samples.append(encode(name, batch_of([growing], [color])))
        growing.play(color, vertex)
    assert len(samples) > 60
    for planes, globals_ in reversed(samples):
        growing.undo()
        color = finished.moves[growing.move_number].color
        again, again_globals = encode(name, batch_of([growing], [color]))
        assert np.array_equal(planes, again)
        assert np.array_equal(globals_, again_globals)


def test_agz_shows_swapped_colors_to_the_other_side() -> None:
    game = random_game(3, 6, moves=30)
    black, _ = encode("agz", batch_of([game], [BLACK]))
    white, _ = encode("agz", batch_of([game], [WHITE]))
    assert np.array_equal(black[0, :8], white[0, 8:16])
    assert np.array_equal(black[0, 8:16], white[0, :8])
    assert (black[0, 16] == 1).all()
    assert (white[0, 16] == 0).all()


def test_forbidden_planes_agree_with_the_board_kernels() -> None:
    for seed in range(30):
        game = random_game(seed, 4, moves=50)
        planes, _ = encode("liberties", batch_of([game]))
        for vertex in game_empty_points(game):
            row, column = row_column(vertex, 4)
            if planes[0, 8, row, column]:
                assert is_suicide(game.board.copy(), vertex, game.to_play)
        ko = int(game.board[HEADER, KO_POINT])
        if ko > 0 and not game.is_legal(game.to_play, ko):
            assert planes[0, 7].ravel()[policy_index(ko, 4, 4)] == 1


def game_empty_points(game: Game) -> list[int]:
    """Return the empty points of a game."""
    return [vertex for vertex in points(game.width, game.height) if game.board[COLOR, vertex] == EMPTY]
