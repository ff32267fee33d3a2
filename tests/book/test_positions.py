"""A position and its images have one key, other positions another, as a slow comparison of all images finds."""

import itertools

import pytest

from engine.book.positions import inverse, place_of, same_values
from engine.game import Game
from engine.rules import AGA, CHINESE_KGS, JAPANESE, TROMP_TAYLOR, Rules, parse_rules
from engine.symmetry import IDENTITY, applicable, compose, map_vertex
from engine.vertex import points
from tests.positions import game_from_diagram, game_of, random_game, turned


def naive_images(game: Game) -> set[str]:
    """Return a text of the position for each symmetry: stones, forbidden point, mover, passes, points beside them."""
    rest = f"{game.to_play} {game.consecutive_passes} {game.has_button} {game.white_bonus - game.komi}"
    found = set()
    for symmetry in applicable(game.width, game.height):
        image = turned(game, symmetry)
        reasons = [
            "ko" if image.legality(image.to_play, each) == "ko" else "" for each in points(game.width, game.height)
        ]
        stones = [str(image.color_at(each)) for each in points(game.width, game.height)]
        found.add(f"{game.width} {game.height} {''.join(stones)} {','.join(reasons)} {rest}")
    return found


@pytest.mark.parametrize(
    "rules", [TROMP_TAYLOR, CHINESE_KGS, JAPANESE], ids=["tromp-taylor", "chinese-kgs", "japanese"]
)
@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 3)])
def test_keys_are_equal_where_one_position_is_an_image_of_the_other_and_only_there(
    width: int, height: int, rules: Rules
) -> None:
    keys: dict[str, int] = {}
    for seed, moves in itertools.product(range(12), range(9)):
        game = random_game(seed, width, height, moves=moves, rules=rules)
        place = place_of(game)
        assert (place is None) == game.is_over
        if place is not None:
            for image in naive_images(game):
                assert keys.setdefault(image, place.key) == place.key
    by_key: dict[int, set[str]] = {}
    for image, key in keys.items():
        by_key.setdefault(key, set()).add(image.partition(" ")[2])
    for images in by_key.values():
        assert len(images) <= len(applicable(width, height))
    assert len(by_key) > 40


@pytest.mark.parametrize("symmetry", range(8))
def test_the_symmetry_of_a_place_maps_every_image_to_the_same_stones(symmetry: int) -> None:
    game = game_of("C4 B2 D1 pass A4", 5)
    mine, its = place_of(game), place_of(turned(game, symmetry))
    assert mine is not None and its is not None and mine.key == its.key
    for move in game.moves:
        if move.vertex:
            here = map_vertex(move.vertex, mine.symmetry, 5, 5)
            image = map_vertex(map_vertex(move.vertex, symmetry, 5, 5), its.symmetry, 5, 5)
            assert here == image


@pytest.mark.parametrize(
    ("moves", "count"), [("", 8), ("C3", 8), ("C4", 2), ("B4", 2), ("B2 D4", 2), ("B3 C4", 1), ("C3 D4", 2)]
)
def test_the_stabilizer_has_the_symmetries_of_the_stones(moves: str, count: int) -> None:
    game = game_of(moves, 5)
    place = place_of(game)
    assert place is not None and IDENTITY in place.stabilizer
    stones = {map_vertex(move.vertex, place.symmetry, 5, 5): move.color for move in game.moves}
    for symmetry in applicable(5, 5):
        is_same = {map_vertex(vertex, symmetry, 5, 5): color for vertex, color in stones.items()} == stones
        assert (symmetry in place.stabilizer) == is_same
    assert len(place.stabilizer) == count


@pytest.mark.parametrize("symmetry", range(8))
def test_an_inverse_undoes_its_symmetry(symmetry: int) -> None:
    assert compose(symmetry, inverse(symmetry)) == IDENTITY
    for vertex in points(4, 4):
        assert map_vertex(map_vertex(vertex, symmetry, 4, 4), inverse(symmetry), 4, 4) == vertex


def test_what_decides_a_position_beside_its_stones_decides_its_key() -> None:
    capture = """
    . X O . .
    X O . O .
    . X O . .
    . . . . .
    . . . . .
    """
    ko = game_from_diagram(capture)
    ko.play(ko.to_play, points(5, 5)[7])
    free = ko.copy()
    for vertex in (points(5, 5)[20], points(5, 5)[24]):
        free.play(free.to_play, vertex)
    keys = {place.key for each in (ko, free) if (place := place_of(each)) is not None}
    assert len(keys) == 2
    passed = {
        place.key for text in ("C3", "pass C3", "C3 pass", "C3 pass pass") if (place := place_of(game_of(text, 5)))
    }
    assert len(passed) == 3


def test_rules_that_differ_in_agreement_and_handicap_alone_give_the_same_values() -> None:
    assert same_values(CHINESE_KGS, parse_rules("cgos"))
    assert same_values(TROMP_TAYLOR, parse_rules("goe"))
    assert not same_values(CHINESE_KGS, TROMP_TAYLOR)
    assert not same_values(CHINESE_KGS, AGA)
    assert not same_values(CHINESE_KGS, JAPANESE)
