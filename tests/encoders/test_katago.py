"""KataGo's inputs (`encode_katago`) against the naive encoder, and what the golden records do not show."""

import random
from dataclasses import replace

import numpy as np
import pytest

from engine.board.ladders import find_ladders, new_ladder_scratch
from engine.color import BLACK, WHITE, opponent
from engine.encoders import ENCODERS
from engine.encoders.game_positions import write_position
from engine.evaluation.positions import PositionBatch
from engine.game import Game
from engine.rules import PRESETS, TROMP_TAYLOR, HandicapBonus, Ko, Rules, Tax
from engine.vertex import NO_POINT, PASS, parse_vertex, points
from tests.oracle.naive_encoder import NaiveInputs
from tests.oracle.naive_history import NaiveHistory
from tests.oracle.naive_ladders import GaveUp
from tests.positions import game_of, random_game

TERRITORY = [
    replace(PRESETS["japanese"], tax=tax, ko=ko, suicide=suicide)
    for tax, ko, suicide in (
        (Tax.NONE, Ko.SIMPLE, True),
        (Tax.SEKI, Ko.SIMPLE, False),
        (Tax.ALL, Ko.SITUATIONAL, False),
        (Tax.NONE, Ko.POSITIONAL, True),
    )
]
AREA = [
    TROMP_TAYLOR,
    *(replace(PRESETS[name], handicap_bonus=HandicapBonus.ZERO) for name in ("chinese", "aga-button", "ancient-area")),
    replace(TROMP_TAYLOR, tax=Tax.SEKI, button=True),
]
SIZES = [(2, 2), (3, 2), (3, 3), (4, 3), (3, 5)]
SETTINGS = [
    *((rules, encore, size) for rules in TERRITORY for encore in (False, True) for size in SIZES),
    *((rules, False, size) for rules in AREA for size in SIZES),
]


class Inputs:
    """Encodes positions of games of one size, with one memory of ladders for all."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self.encoder = ENCODERS[name]
        self.scratch = self.encoder.new_scratch(width, height)
        self.positions = PositionBatch(1, width, height)
        self.planes = np.full((1, self.encoder.planes, height, width), 77.0, np.float32)
        self.globals = np.full((1, self.encoder.globals), 77.0, np.float32)

    def of(self, game: Game, color: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (planes [P, height, width], globals [G]), valid until the next call."""
        write_position(game, color, self.positions, 0)
        self.encoder.encode(self.positions, 1, self.planes, self.globals, self.scratch)
        return self.planes[0], self.globals[0]


def compare(game: Game, naive: NaiveHistory, inputs: Inputs, color: int, *, alive: bool) -> None:
    """Assert that legal moves, planes and globals are the naive ones."""
    planes, globals_ = inputs.of(game, color)
    try:
        expected = NaiveInputs(naive, color, alive=alive)
        compared = list(range(len(planes)))
    except GaveUp:
        expected = NaiveInputs(naive, color, alive=alive, ladders=False)
        compared = [plane for plane in range(len(planes)) if not 14 <= plane <= 17]
    wrong = [inputs.encoder.plane_names[plane] for plane in compared if (planes[plane] != expected.planes[plane]).any()]
    assert wrong == []
    assert globals_ == pytest.approx(expected.globals, abs=1e-6)
    legal = expected.history.legal()
    assert set(np.array(points(game.width, game.height))[inputs.positions.legal[0, :-1]].tolist()) == legal


def name_of(value: object) -> str:
    """Return what tells a setting apart in the name of a test."""
    if isinstance(value, Rules):
        return f"{value.ko}-{value.scoring}-{value.tax}"
    return str(value)


@pytest.mark.parametrize(("rules", "encore", "size"), SETTINGS, ids=name_of)
def test_random_games_look_as_to_the_naive_encoder(rules: Rules, encore: bool, size: tuple[int, int]) -> None:
    chance = random.Random(f"{rules}{encore}{size}")
    alive = chance.random() < 0.5
    inputs = Inputs("katago-v7-alive" if alive else "katago-v7", *size)
    for _ in range(3):
        game, naive = Game(*size, rules=rules, encore=encore), NaiveHistory(*size, rules, encore=encore)
        for _ in range(40):
            compare(game, naive, inputs, game.to_play, alive=alive)
            color = game.to_play if chance.random() < 0.95 else opponent(game.to_play)
            if color != game.to_play:
                compare(game, naive, inputs, color, alive=alive)
            legal = game.legal_vertices(color)
            vertex = PASS if not legal or chance.random() < 0.15 else chance.choice(legal)
            game.play(color, vertex)
            naive.play(color, vertex)
            assert (game.is_over, game.no_result, game.phase) == (naive.over, naive.no_result, naive.phase)
            assert game.white_bonus == naive.komi + naive.bonus


KO = "B5 C5 A4 D4 B3 C3 E1 B4 C4"
"""On 5x5: Black has just taken the ko at B4 with C4."""
KO_TAKEN_TWICE = "B4 C4 pass C4 B4 pass"
"""White takes it, Black passes for the ko, takes it back, White passes for it: now White may not take it again."""


@pytest.mark.parametrize("rules", TERRITORY, ids=name_of)
@pytest.mark.parametrize("passes", [2, 4])
def test_kos_of_the_clean_up_phases_look_as_to_the_naive_encoder(rules: Rules, passes: int) -> None:
    chance = random.Random(3)
    inputs = Inputs("katago-v7", 5, 5)
    begun = [*KO.split(), *["pass"] * passes, *KO_TAKEN_TWICE.split()]
    ko = [parse_vertex(name, 5, 5) for name in ("B4", "C4")]
    lifted = banned = 0
    for _ in range(3):
        game, naive = Game(5, rules=rules, encore=True), NaiveHistory(5, 5, rules, encore=True)
        for number in range(len(begun) + 20):
            compare(game, naive, inputs, game.to_play, alive=False)
            banned += naive.phase > 0 and len(naive.banned())
            legal = game.legal_vertices()
            local = [vertex for vertex in ko if vertex in legal]
            others = [PASS] if chance.random() < 0.5 or not legal else legal
            vertex = chance.choice(local if local and chance.random() < 0.8 else others)
            if number < len(begun):
                vertex = parse_vertex(begun[number], 5, 5)
            lifted += naive.phase > 0 and vertex != PASS and naive.lifted(vertex) != NO_POINT
            naive.play(game.to_play, vertex)
            game.play(game.to_play, vertex)
            assert (game.is_over, game.no_result, game.phase) == (naive.over, naive.no_result, naive.phase)
            assert game.white_bonus == naive.komi + naive.bonus
    assert lifted >= 6
    assert banned >= 3


@pytest.mark.parametrize(("width", "height"), [(9, 9), (13, 7)])
def test_what_was_read_on_earlier_boards_changes_nothing(width: int, height: int) -> None:
    warm = Inputs("katago-v7", width, height)
    for seed in range(3):
        game = random_game(seed, width, height, moves=0)
        for color, vertex in random_game(seed, width, height, moves=100).moves:
            game.play(color, vertex)
            planes = warm.of(game, game.to_play)[0]
            fresh = Inputs("katago-v7", width, height)
            assert np.array_equal(planes, fresh.of(game, game.to_play)[0])
            scratch, laddered = new_ladder_scratch(game.board), np.zeros(game.board.shape[1], np.int8)
            for age, board in enumerate(game.recent_boards(3)):
                find_ladders(board, scratch, np.empty_like(board), laddered, np.zeros_like(laddered))
                assert np.array_equal(planes[14 + age].ravel(), laddered[points(width, height)])


def test_version_6_forgets_what_came_before_a_forbidden_move() -> None:
    game = game_of(KO + " pass pass", 5)
    game.play(WHITE, parse_vertex("B4", 5, 5), lenient=True)
    for name, shown in (("katago-v6", 0), ("katago-v7", 2)):  # the pass that ended the game, and the move
        planes, globals_ = Inputs(name, 5, 5).of(game, BLACK)
        assert planes[9:14].sum() + globals_[:5].sum() == shown
    game.play(BLACK, parse_vertex("A1", 5, 5))
    planes, _ = Inputs("katago-v6", 5, 5).of(game, WHITE)
    assert planes[9:14].sum() == 1


@pytest.mark.parametrize("name", ["chinese", "tromp-taylor"])
def test_a_friendly_pass_is_hidden(name: str) -> None:
    game = game_of("C3 D4 pass", 5, rules=PRESETS[name])
    planes, globals_ = Inputs("katago-v7", 5, 5).of(game, WHITE)
    hidden = name == "chinese"
    assert (globals_[0], globals_[14], planes[10:12].sum()) == ((0, 0, 0) if hidden else (1, 1, 2))


def test_a_finished_game_shows_its_last_pass_only() -> None:
    game = game_of("C3 D4 pass pass", 5)
    planes, globals_ = Inputs("katago-v7", 5, 5).of(game, BLACK)
    assert (globals_[:5].tolist(), planes[9:14].sum()) == ([1, 0, 0, 0, 0], 0)
    old_planes, old_globals = Inputs("katago-v3", 5, 5).of(game, BLACK)
    assert (old_globals[:5].sum(), old_globals[12], old_planes[9:14].sum()) == (0, 0, 0)


def test_playout_doubling_is_seen_by_the_side_to_move() -> None:
    inputs = Inputs("katago-v7", 5, 5)
    inputs.positions.playout_doubling = 1.5
    assert inputs.of(Game(5), BLACK)[1][15:17].tolist() == [1.0, 0.75]
    assert inputs.of(Game(5), WHITE)[1][15:17].tolist() == [1.0, -0.75]


def test_pass_alive_chains_are_found_as_if_suicide_were_legal_where_a_network_wants_it() -> None:
    differing = 0
    for seed in range(60):
        game = random_game(seed, 5, 4, moves=60, rules=PRESETS["chinese"])
        plain, alive = (Inputs(name, 5, 4).of(game, BLACK)[0] for name in ("katago-v7", "katago-v7-alive"))
        differing += not np.array_equal(plain[18:20], alive[18:20])
        assert np.array_equal(plain[:18], alive[:18])
    assert differing > 0
