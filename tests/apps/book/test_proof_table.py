"""The table of proofs beside a dictionary, its keys beside all images of a position, and the efforts beside counts."""

import numpy as np
import pytest

from engine.apps.book.effort import FEATURES, WEIGHTS, efforts_of
from engine.apps.book.proof_table import ENDLESS, LOST, OPEN, PROVED, find, key_of, known_of, new_proof, store
from engine.apps.book.stone_sets import NO_KO, masks_of
from engine.symmetry import applicable, map_planes

Grid = np.ndarray[tuple[int, int], np.dtype[np.int64]]
"""0 for an empty point, 1 for Black, 2 for White, [height, width]."""
BLACK, WHITE = 1, 2


def stones(grid: Grid, color: int) -> int:
    return sum(1 << row for row, each in enumerate(grid.ravel().tolist()) if each == color)


def random_grids(width: int, height: int, count: int) -> list[Grid]:
    generator = np.random.default_rng(1)
    return [generator.choice(3, (height, width), p=[0.4, 0.35, 0.25]) for _ in range(count)]


@pytest.mark.parametrize(("width", "height"), [(5, 5), (6, 4), (3, 2)])
def test_images_of_a_position_have_one_key_and_others_have_others(width: int, height: int) -> None:
    proof, seen = new_proof(width, height, 100), dict[int, set[bytes]]()
    for grid in random_grids(width, height, 300):
        ko = next((row for row, each in enumerate(grid.ravel().tolist()) if each == 0), NO_KO)
        marked = np.zeros(grid.size, np.int64)
        if ko != NO_KO:
            marked[ko] = 1
        keys, images = set(), set()
        for turn in applicable(width, height):
            image, ko_image = map_planes(grid, turn), map_planes(marked.reshape(grid.shape), turn).ravel()
            place = int(ko_image.argmax()) if ko_image.any() else NO_KO
            keys.add(key_of(proof, stones(image, BLACK), stones(image, WHITE), place, True))
            images.add(image.tobytes() + ko_image.tobytes())
        (key,) = keys
        assert key != key_of(proof, stones(grid, BLACK), stones(grid, WHITE), ko, False)
        assert seen.setdefault(key, images) == images


def test_the_table_knows_what_a_dictionary_knows_until_it_forgets() -> None:
    proof, generator, known = new_proof(5, 5, 5000), np.random.default_rng(1), dict[int, tuple[int, int]]()
    for _ in range(2000):
        key, height = int(generator.integers(1, 500)), int(generator.integers(1, 60))
        what = int(generator.choice([OPEN, LOST, PROVED]))
        efforts = {OPEN: (3, 4), LOST: (ENDLESS, 0), PROVED: (0, ENDLESS)}[what]
        store(proof, key, *efforts, height, 1)
        if known.get(key, (OPEN, 0))[0] != PROVED:  # a proof stays as it is
            known[key] = what, height
    for key, (what, height) in known.items():
        slot = find(proof, key)
        assert (known_of(proof, slot), proof.heights[slot]) == (what, height)
    assert find(proof, 501) == -1
    assert known_of(proof, -1) == OPEN


def chains(grid: Grid, color: int) -> list[set[tuple[int, int]]]:
    """Return the chains of a color; of 3 the regions of the points without Black, of 4 without White."""
    inside = {BLACK: grid == BLACK, WHITE: grid == WHITE, 3: grid != BLACK, 4: grid != WHITE}[color]
    left, found = {(int(y), int(x)) for y, x in np.argwhere(inside)}, list[set[tuple[int, int]]]()
    while left:
        chain, edge = set[tuple[int, int]](), [left.pop()]
        while edge:
            chain.add(point := edge.pop())
            edge += (near := around({point}, grid) & left)
            left -= near
        found.append(chain)
    return found


def around(group: set[tuple[int, int]], grid: Grid) -> set[tuple[int, int]]:
    near = {(y + dy, x + dx) for y, x in group for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0))}
    return {(y, x) for y, x in near if 0 <= y < grid.shape[0] and 0 <= x < grid.shape[1]} - group


@pytest.mark.parametrize(("width", "height"), [(5, 5), (6, 3)])
def test_efforts_are_those_of_what_the_stones_show(width: int, height: int) -> None:
    masks, features, compared = masks_of(width, height, suicide=False), np.zeros(FEATURES), 0
    for grid in random_grids(width, height, 1000):
        black, white, empty = ({(int(y), int(x)) for y, x in np.argwhere(grid == color)} for color in (BLACK, WHITE, 0))
        mine, others = around(black, grid) & empty, around(white, grid) & empty
        everything = black | white | empty
        expected = [len(black), len(white), len(mine - others), len(others - mine), len(mine & others)]
        expected += [len((around(one, grid) & empty) - one - two) for one, two in ((mine, others), (others, mine))]
        expected += [len(everything - group - around(group, grid)) for group in (black, white)]
        groups = chains(grid, BLACK), chains(grid, WHITE)
        if not all(around(chain, grid) & empty for each in groups for chain in each):
            continue  # no position of a game
        expected += [len(each) for each in groups]
        for liberties in (1, 2):
            for each in groups:
                expected.append(sum(len(c) for c in each if len(around(c, grid) & empty) == liberties))
        regions = chains(grid, 3), chains(grid, 4)
        sizes = [[len(each), max(map(len, each), default=0)] for each in regions]
        for white_to_move in (False, True):
            efforts = efforts_of(stones(grid, BLACK), stones(grid, WHITE), white_to_move, masks, features, WEIGHTS)
            assert features.tolist() == [*expected, features[15], *sizes[0], *sizes[1], 1.0]
            odds, to_prove, to_refute = (WEIGHTS[row + white_to_move] @ features for row in (0, 2, 4))
            odds = np.clip(odds, -13, 13)
            for effort, doublings, sign in zip(efforts, (to_prove, to_refute), (-1, 1), strict=True):
                wanted = min(2 ** np.clip(doublings, 0, 22) * (1 + np.exp(sign * odds)), 1 << 26)
                assert effort == pytest.approx(int(wanted), rel=1e-9, abs=1)
            compared += 1
    assert compared > 100
