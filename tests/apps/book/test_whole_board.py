"""Boards that Black takes whole are proved, soundly, and their books win against every answer."""

from pathlib import Path

import numpy as np
import pytest

from engine.apps.book.enclosing import is_taken, pass_alive_stones
from engine.apps.book.exact import Exact
from engine.apps.book.rows import State
from engine.apps.book.show import text
from engine.apps.book.stone_sets import NO_KO, masks_of, size_of
from engine.apps.book.whole_board import Progress, WholeBoard, write_whole_board
from engine.board.area import new_scratch, pass_alive
from engine.board.layout import new_board
from engine.board.setup import build_board
from engine.book.book import Book
from engine.color import BLACK, WHITE
from engine.errors import GoError
from engine.game import Game
from engine.rules import CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Rules
from engine.vertex import NO_POINT, PASS, points
from tests.book.books import opened

ENTRIES = 1 << 16


@pytest.mark.parametrize(("width", "height", "moves"), [(3, 3, 13), (4, 2, 11), (5, 2, 15), (5, 3, 31)])
def test_black_takes_boards_that_are_solved_otherwise_too(width: int, height: int, moves: int) -> None:
    height_of_proof = WholeBoard(width, height, CHINESE_KGS, 1 << 22).prove()
    assert height_of_proof is not None
    assert height_of_proof + 1 <= moves


@pytest.mark.slow
def test_black_takes_six_by_three() -> None:
    assert WholeBoard(6, 3, CHINESE_KGS, 1 << 24).prove() is not None


@pytest.mark.parametrize(("width", "height"), [(2, 2), (3, 2), (4, 2), pytest.param(3, 3, marks=pytest.mark.slow)])
def test_what_is_proved_is_true_in_every_position(width: int, height: int) -> None:
    exact, board = Exact(width, height, CHINESE_KGS), WholeBoard(width, height, CHINESE_KGS, ENTRIES)
    found = {True: [], False: []}  # type: dict[bool, list[bool]]
    for state in _states(width, height):
        low, high = exact.bounds_of(state)
        worst = low if state.color == BLACK else -high
        found[worst == width * height].append(board.prove_from(state) is not None)
    assert not any(found[False])
    # Black does not pass here, and in a few positions that is the only way.
    assert np.mean(found[True]) > 0.85


@pytest.mark.slow
def test_what_is_proved_is_true_in_random_positions_of_four_by_three() -> None:
    exact, board = Exact(4, 3, CHINESE_KGS), WholeBoard(4, 3, CHINESE_KGS, 1 << 22)
    generator, found = np.random.default_rng(3), {True: [], False: []}  # type: ignore[var-annotated]
    while len(found[True]) + len(found[False]) < 3000:
        colors = generator.choice(3, 12, p=[0.4, 0.36, 0.24]).tolist()
        mine, others = (sum(1 << row for row, each in enumerate(colors) if each == side) for side in (1, 2))
        if all(_breathes(each, mine, others, 4, 3) for each in (mine, others)):
            state = State(mine, others, NO_KO, 0, int(generator.choice([BLACK, WHITE])))
            low, high = exact.bounds_of(state)
            found[(low if state.color == BLACK else -high) == 12].append(board.prove_from(state) is not None)
    assert not any(found[False])
    assert np.mean(found[True]) > 0.99


def test_a_search_that_reports_can_be_stopped() -> None:
    seen = list[Progress]()

    def stop(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) < 2

    assert WholeBoard(5, 5, CHINESE_KGS, 1 << 20).prove(stop) is None
    assert [each.visits for each in seen] == [100_000, 200_000]
    # Five points by symmetry, and a pass.
    assert {each.answers for each in seen} == {6}


def test_a_table_that_is_full_of_proofs_is_an_error() -> None:
    with pytest.raises(GoError, match="4x2: the table of 40 positions is full"):
        WholeBoard(4, 2, CHINESE_KGS, 50).prove()


@pytest.mark.parametrize("entries", [ENTRIES, 500], ids=["enough memory", "a table that forgets"])
def test_the_book_has_a_move_against_every_answer_until_nothing_of_white_can_live(tmp_path: Path, entries: int) -> None:
    width, height = 4, 2
    board = WholeBoard(width, height, CHINESE_KGS, entries)
    assert board.prove() is not None
    write_whole_board(tmp_path / "x.book", board, CHINESE_KGS, 63)
    book, ends = opened(tmp_path / "x.book"), list[Game]()

    def follow(game: Game) -> None:
        best = book.best(game)
        if best is None:
            ends.append(game)
            return
        assert best.lead == width * height
        after = game.copy()
        assert after.is_legal(BLACK, best.vertices[0])
        after.play(BLACK, best.vertices[0])
        if is_taken(*_sets(after), masks_of(width, height, False)):
            return
        for vertex in [*(each for each in points(width, height) if after.is_legal(WHITE, each)), PASS]:
            answered = after.copy()
            answered.play(WHITE, vertex)
            follow(answered)

    # Else a pass of White at the beginning would make Black's stones a handicap.
    rules = CHINESE_KGS.with_field("whiteHandicapBonus", "0")
    follow(Game(width, height, rules=rules, komi=0.0))
    assert all(is_taken(*_sets(game), masks_of(width, height, False)) for game in ends)


@pytest.mark.parametrize(("width", "height"), [(4, 2), (5, 2), pytest.param(5, 3, marks=pytest.mark.slow)])
def test_no_line_of_a_proof_has_black_restore_stones(width: int, height: int) -> None:
    board = WholeBoard(width, height, CHINESE_KGS)
    assert board.prove() is not None
    after = dict[State, list[State]]()
    waiting = [(board.root, board.height_of(board.root))]
    while waiting:
        state, left = waiting.pop()
        if state not in after:
            answers = board.answers(state, left) if left else []
            assert all(lower < left for _, _, lower in answers)
            after[state] = [answer for _, answer, _ in answers]
            waiting += ((answer, lower) for _, answer, lower in answers)
    stones_of_white_to_move = {(state.others, state.mine) for state in after if state.color == WHITE}
    for state in after:
        if state.color == BLACK and (state.mine, state.others) in stones_of_white_to_move:
            reached, edge = set[State](), [state]
            while edge:
                reached.add(here := edge.pop())
                edge += (each for each in after[here] if each not in reached)
            restored = [each for each in reached if each.color == WHITE and each.others == state.mine]
            assert state.others not in [each.mine for each in restored]


def test_a_book_of_a_few_moves_ends_there(tmp_path: Path) -> None:
    board = WholeBoard(5, 3, CHINESE_KGS, 1 << 22)
    board.prove()
    sizes = [len(board.rows(plies)) for plies in (1, 2, 3)]
    # The center, then White's answers, a pass among them, in their images; then Black's move against each.
    assert sizes[0] == 2
    assert sizes[1] == 2 + 5 + 1
    assert sizes[2] <= 2 * sizes[1] - 2


def test_the_answers_that_resist_longest_come_first_and_a_pass_last() -> None:
    board = WholeBoard(3, 3, CHINESE_KGS, 1 << 18)
    board.prove()
    answers = board.answers(board.root, board.height_of(board.root))
    assert answers[-1][0] == PASS
    heights = [left for *_, left in answers[:-1]]
    assert heights == sorted(heights, reverse=True) and len(heights) > 2


def test_where_a_book_of_moves_ends_it_says_so(tmp_path: Path) -> None:
    board = WholeBoard(3, 3, CHINESE_KGS, 1 << 18)
    board.prove()
    write_whole_board(tmp_path / "b.book", board, CHINESE_KGS, 2)
    book, game = Book.open(tmp_path / "b.book"), Game(3, rules=CHINESE_KGS, komi=0.0)
    while (best := book.best(game)) is not None:
        game.play(game.to_play, best.vertices[0])
    found = book.find(game)
    assert found is not None
    assert "the book ends here" in text(game, found)
    assert "search" not in text(game, found)


@pytest.mark.parametrize(("width", "height"), [(5, 5), (6, 4), (3, 2)])
def test_chains_are_pass_alive_as_on_the_board(width: int, height: int) -> None:
    """Its kernels are `pass_alive_stones`, `spread` and `grown`."""
    generator, vertices, found = np.random.default_rng(1), points(width, height), 0
    like, masks = new_board(width, height), masks_of(width, height, False)
    board, scratch = like.copy(), new_scratch(like)
    owner = np.empty(like.shape[1], np.int8)
    for _ in range(3000):
        share = generator.choice([0.5, 0.65, 0.8])
        colors = np.zeros(like.shape[1], np.int8)
        colors[vertices] = generator.choice([0, BLACK, WHITE], len(vertices), p=[1 - share, share * 0.8, share * 0.2])
        sets = [sum(1 << i for i, v in enumerate(vertices) if colors[v] == color) for color in (BLACK, WHITE)]
        build_board(like, colors, NO_POINT, board)
        pass_alive(board, False, False, scratch, owner)
        for mine, others, color in ((sets[0], sets[1], BLACK), (sets[1], sets[0], WHITE)):
            expected = sum(1 << i for i, v in enumerate(vertices) if colors[v] == owner[v] == color)
            assert pass_alive_stones(mine, others, masks) == expected
            found += expected != 0
    assert found > 20


def test_the_size_of_a_set_is_its_number_of_points() -> None:
    sets = [int(each) for each in np.random.default_rng(1).integers(0, 1 << 25, 500)]
    assert [size_of(each) for each in [0, *sets]] == [each.bit_count() for each in [0, *sets]]


@pytest.mark.parametrize(
    ("size", "rules", "text"),
    [
        ((6, 5), CHINESE_KGS, "expected a board of 2x2 to 25 points to solve, got 6x5"),
        ((17, 1), CHINESE_KGS, "got 17x1"),
        ((5, 5), TROMP_TAYLOR, "forbid suicide"),
        ((5, 5), JAPANESE, "expected rules that count area"),
    ],
)
def test_other_boards_and_rules_are_refused(size: tuple[int, int], rules: Rules, text: str) -> None:
    with pytest.raises(GoError, match=text):
        WholeBoard(*size, rules, ENTRIES)


def _sets(game: Game) -> tuple[int, int]:
    """Return the stones of Black and of White."""
    vertices = points(game.width, game.height)
    black, white = (
        sum(1 << row for row, vertex in enumerate(vertices) if game.color_at(vertex) == color)
        for color in (BLACK, WHITE)
    )
    return black, white


def _states(width: int, height: int) -> list[State]:
    """Return all positions without a ko, for both sides."""
    count, found = width * height, list[State]()
    for mine in range(1 << count):
        for others in range(1 << count):
            if mine & others == 0 and all(_breathes(each, mine, others, width, height) for each in (mine, others)):
                found += (State(mine, others, NO_KO, 0, color) for color in (BLACK, WHITE))
    return found


def _breathes(stones: int, mine: int, others: int, width: int, height: int) -> bool:
    """Return whether every chain of a set has a liberty, point by point."""
    cells = [divmod(row, width) for row in range(width * height)]
    taken, left = mine | others, {row for row in range(width * height) if stones >> row & 1}
    while left:
        chain, edge, free = set[int](), [left.pop()], False
        while edge:
            row = edge.pop()
            chain.add(row)
            for other, (y, x) in enumerate(cells):
                if abs(y - cells[row][0]) + abs(x - cells[row][1]) == 1:
                    free |= not taken >> other & 1
                    if other in left:
                        left.discard(other)
                        edge.append(other)
        if not free:
            return False
    return True


def test_a_book_says_its_board_and_the_positions_visited(tmp_path: Path) -> None:
    board = WholeBoard(5, 2, CHINESE_KGS, ENTRIES)
    board.prove()
    write_whole_board(tmp_path / "x.book", board, CHINESE_KGS, 4)
    book = Book.open(tmp_path / "x.book")
    assert (book.about.width, book.about.height, book.about.made) == (5, 2, {"visits": board.visits})
