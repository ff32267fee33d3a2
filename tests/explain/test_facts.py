"""Facts of positions and moves: what the board shows exactly, and what follows from numbers that are given."""

import json
from collections.abc import Sequence

import pytest

from engine.color import BLACK, WHITE
from engine.explain.as_json import move_object, position_object
from engine.explain.facts import Measured, MoveFacts, PositionFacts, move_facts, position_facts
from engine.explain.regions import owned_points, regions
from engine.explain.words import move_text, position_text, reasons
from engine.game import Game
from engine.vertex import PASS, format_vertex, parse_vertex, policy_index
from tests.positions import game_from_diagram

FIGHT = """
. . . . . . .
. . X O . . .
. X O O X . .
. X O X X . .
. . X . . . .
. . . . . . .
. . . . . . .
"""
"""White's four stones have the liberties E6 and D7; Black is to move."""
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
GROUPS = """
. . . . . . .
. X X . X X .
. . . . . . .
. . . . . . .
. O . . . O .
. . O . . O .
. . . . . . .
"""


def measured(game: Game, pv: str = "", lead: float = 0.0, owner: float = 0.0, **owners: float) -> Measured:
    """Return a made-up search: owner is the ownership of all points but those named."""
    size = game.width, game.height
    ownership = [owner] * (game.width * game.height)
    for name, value in owners.items():
        ownership[policy_index(parse_vertex(name, *size), *size)] = value
    moves = tuple(parse_vertex(name, *size) for name in pv.split())
    return Measured(winrate=0.5 + lead / 50, lead=lead, visits=100, ownership=ownership, pv=moves)


def names(game: Game, vertices: Sequence[int]) -> set[str]:
    """Return vertices as GTP names."""
    return {format_vertex(vertex, game.width, game.height) for vertex in vertices}


def facts_of(game: Game, color: int, move: str, **found: Measured) -> MoveFacts:
    """Return the facts of a move; what is not given is measured as an even game."""
    even = measured(game)
    before = position_facts(game, color, found.get("before", even), found.get("passed_before"))
    vertex = parse_vertex(move, game.width, game.height)
    return move_facts(game, (color, vertex), before, found.get("after", even), found.get("passed"))


def position_of(game: Game, **found: Measured) -> PositionFacts:
    """Return the facts of a position with Black to move."""
    return position_facts(game, BLACK, found.get("measured", measured(game)), found.get("passed"))


def test_a_move_that_gives_atari_names_the_chain_and_its_liberty() -> None:
    game = game_from_diagram(FIGHT)
    [atari] = facts_of(game, BLACK, "E6").gives_atari
    assert names(game, atari.stones) == {"D6", "C5", "D5", "C4"}
    assert names(game, [atari.liberty]) == {"D7"}


def test_a_chain_in_atari_that_runs_into_the_edge_cannot_escape() -> None:
    game = game_from_diagram(FIGHT)
    [atari] = facts_of(game, BLACK, "E6").gives_atari
    assert not atari.escapes


def test_a_capture_lists_the_stones_that_leave_the_board() -> None:
    game = game_from_diagram(FIGHT)
    game.play(BLACK, parse_vertex("E6", 7, 7))
    found = facts_of(game, BLACK, "D7")
    assert [names(game, chain) for chain in found.captured] == [{"D6", "C5", "D5", "C4"}]
    assert not found.takes_ko


def test_own_stones_in_atari_are_saved_or_left() -> None:
    game = game_from_diagram(". . . . .\n. X . . .\nX O X . .\n. . . . .\n. . . . .")
    assert [names(game, chain) for chain in facts_of(game, WHITE, "B2").saved] == [{"B3"}]
    left = facts_of(game, WHITE, "E5").left_in_atari
    assert [names(game, each.stones) for each in left] == [{"B3"}]
    assert facts_of(game, WHITE, "E5").saved == []


def test_a_move_that_takes_a_ko_says_so() -> None:
    game = game_from_diagram(". X O . .\nX O . O .\n. X O . .\n. . . . .\n. . . . .")
    assert facts_of(game, BLACK, "C4").takes_ko


def test_self_atari_is_a_fact_of_the_own_stones() -> None:
    game = game_from_diagram(". . O . .\nO O . . .\n. . . . .\n. . . . .\n. . . . .")
    [atari] = facts_of(game, BLACK, "A5").self_atari
    assert (names(game, atari.stones), names(game, [atari.liberty])) == ({"A5"}, {"B5"})


def test_a_working_ladder_is_a_fact_of_the_position() -> None:
    game = game_from_diagram(LADDER)
    [ladder] = position_of(game).ladders
    assert ladder.works
    assert (ladder.color, names(game, ladder.chain), ladder.liberties) == (WHITE, {"C6"}, 1)


def test_a_ladder_names_the_stone_that_breaks_it_and_the_move_that_broke_it() -> None:
    game = game_from_diagram(LADDER)
    found = facts_of(game, WHITE, "G3")
    assert [names(game, ladder.chain) for ladder in found.ladders_broken] == [{"C6"}]
    [ladder] = found.after.ladders
    assert not ladder.works
    assert names(game, ladder.breakers) == {"G3"}


def test_a_ladder_that_a_move_makes_possible_has_its_first_move() -> None:
    game = game_from_diagram(LADDER.replace(". X O .", ". . O ."))
    [ladder] = position_of(game).ladders
    assert (ladder.liberties, names(game, ladder.starts)) == (2, {"B6"})


def test_chains_are_one_group_if_one_move_cannot_cut_them() -> None:
    game = game_from_diagram(GROUPS)
    found = [names(game, group.stones) for group in position_of(game).groups]
    # B3 and C2 share two liberties; the black pairs share one, where White would not be in atari.
    assert sorted(map(sorted, found)) == [["B3", "C2"], ["B6", "C6"], ["E6", "F6"], ["F2", "F3"]]


def test_a_group_s_survival_is_the_mean_ownership_of_its_stones() -> None:
    game = game_from_diagram(GROUPS)
    found = position_of(game, measured=measured(game, owner=-1.0, B6=0.5, C6=1.0))
    groups = {frozenset(names(game, group.stones)): group for group in found.groups}
    assert groups[frozenset({"B6", "C6"})].survival == pytest.approx(0.875)
    assert groups[frozenset({"B6", "C6"})].status == "unsettled"
    assert groups[frozenset({"E6", "F6"})].status == "dead"
    assert groups[frozenset({"F2", "F3"})].status == "safe"


def test_a_move_lists_the_groups_whose_survival_it_changes() -> None:
    game = game_from_diagram(GROUPS)
    before, after = measured(game, B6=0.8, C6=0.8, F2=-0.9, F3=-0.9), measured(game, B6=-0.6, C6=-0.6, F2=-0.9, F3=-0.9)
    [change] = facts_of(game, BLACK, "G1", before=before, after=after).groups
    assert names(game, change.stones) == {"B6", "C6"}
    assert (change.before, change.after) == (pytest.approx(0.9), pytest.approx(0.2))
    # Two stones, whose points were worth 0.8 each and are worth -0.6 each now.
    assert change.points == pytest.approx(-2.8)


def test_regions_cover_the_board_once() -> None:
    for width, height in ((19, 19), (9, 9), (13, 9), (2, 5)):
        found = [point for points in regions(width, height).values() for point in points]
        assert len(found) == len(set(found)) == width * height
    assert {name: len(points) for name, points in regions(19, 19).items()} == {
        "upper left corner": 36,
        "upper side": 42,
        "upper right corner": 36,
        "left side": 42,
        "center": 49,
        "right side": 42,
        "lower left corner": 36,
        "lower side": 42,
        "lower right corner": 36,
    }


def test_a_region_s_points_are_the_sum_of_its_ownership() -> None:
    game = Game(9)
    found = owned_points(measured(game, A9=1.0, B8=0.5, J1=-1.0, E5=0.25).ownership, 9, 9)
    assert (found["upper left corner"], found["lower right corner"], found["center"]) == (1.5, -1.0, 0.25)
    assert found["upper right corner"] == 0.0


def test_points_lost_are_the_player_s_and_none_for_the_first_choice() -> None:
    game = Game(9)
    before, after = measured(game, "E5 C3", lead=2.0), measured(game, "C3", lead=-3.0)
    bad = facts_of(game, BLACK, "A1", before=before, after=after)
    assert bad.points_lost == pytest.approx(5.0)
    assert bad.better is not None
    assert names(game, bad.better.moves) == {"E5", "C3"}
    assert names(game, bad.refutation.moves) == {"C3"}
    best = facts_of(game, BLACK, "E5", before=before, after=after)
    assert (best.points_lost, best.better) == (0.0, None)
    assert facts_of(game, WHITE, "A1", before=before, after=after).points_lost == 0.0


def test_a_variation_counts_the_stones_that_it_captures() -> None:
    game = game_from_diagram(FIGHT)
    line = position_of(game, measured=measured(game, "E6 A1 D7")).best
    assert line.captured == {BLACK: 0, WHITE: 4}


def test_a_variation_ends_where_it_cannot_be_played() -> None:
    game = game_from_diagram(FIGHT)
    assert names(game, position_of(game, measured=measured(game, "E6 D6 D7")).best.moves) == {"E6"}


def test_the_threat_is_what_the_opponent_loses_by_passing() -> None:
    game = Game(9)
    after, passed = measured(game, lead=1.0), measured(game, "C3", lead=9.0)
    found = facts_of(game, BLACK, "E5", after=after, passed=passed)
    assert found.threat is not None
    assert found.threat.points == pytest.approx(8.0)
    assert names(game, found.threat.line.moves) == {"C3"}
    of_white = facts_of(game, WHITE, "E5", after=measured(game, lead=-1.0), passed=measured(game, "C3", lead=-9.0))
    assert of_white.threat is not None
    assert of_white.threat.points == pytest.approx(8.0)


@pytest.mark.parametrize(("value_of_turn", "is_sente"), [(3.0, True), (7.5, False), (12.0, False)])
def test_a_move_is_sente_if_ignoring_it_costs_more_than_a_turn_did(value_of_turn: float, is_sente: bool) -> None:
    game = Game(9)
    passed_before = measured(game, lead=-value_of_turn)
    found = facts_of(game, BLACK, "E5", passed_before=passed_before, passed=measured(game, lead=8.0))
    assert found.is_sente is is_sente


def test_what_was_not_searched_is_not_claimed() -> None:
    found = facts_of(Game(9), BLACK, "E5")
    assert (found.threat, found.is_sente) == (None, None)
    assert not {"threat", "sente"} & move_object(found).keys()
    assert "passing" not in position_object(found.after)


def test_without_ownership_safety_and_regions_are_not_known() -> None:
    game = game_from_diagram(GROUPS)
    unknown = Measured(winrate=0.5, lead=0.0, visits=1, ownership=None)
    found = facts_of(game, BLACK, "G1", before=unknown, after=unknown)
    assert (found.groups, found.regions, found.after.regions) == ([], {}, {})
    assert {group.survival for group in found.after.groups} == {None}
    assert "survival" not in "".join(position_text(found.after))


def test_a_mirror_image_of_the_first_choice_loses_nothing() -> None:
    game = Game(9)
    mirrored = tuple(parse_vertex(name, 9, 9) for name in ("C3", "C7"))
    before = Measured(0.5, 3.0, 100, [0.0] * 81, pv=mirrored[:1], best=mirrored)
    assert facts_of(game, BLACK, "C7", before=before).points_lost == 0.0
    assert facts_of(game, BLACK, "G7", before=before).points_lost == pytest.approx(3.0)


def test_a_search_of_one_visit_prefers_no_move() -> None:
    game = Game(9)
    found = facts_of(game, BLACK, "C7", before=Measured(0.5, 3.0, 1, None), after=Measured(0.5, -3.0, 1, None))
    assert found.better is None
    assert found.points_lost == pytest.approx(6.0)
    text = "\n".join([*move_text(found), *position_text(found.after)])
    assert "too few visits to prefer a move" in text
    assert "first choice" not in text
    assert "none" not in text


def test_a_pass_is_a_move_without_shape_that_may_cost_points() -> None:
    game = game_from_diagram(FIGHT)
    found = facts_of(game, BLACK, "pass", before=measured(game, "E6", lead=4.0), after=measured(game, lead=-2.0))
    assert found.vertex == PASS
    assert (found.shapes, found.captured, found.points_lost) == ([], [], pytest.approx(6.0))


def test_facts_are_plain_json_with_numbers() -> None:
    game = game_from_diagram(FIGHT)
    found = facts_of(game, BLACK, "E6", before=measured(game, "E6 D7", lead=1.0), passed=measured(game, lead=2.0))
    given = json.loads(json.dumps(move_object(found)))
    assert given["givesAtari"] == [
        {"color": "W", "stones": ["D6", "C5", "D5", "C4"], "liberty": "D7", "escapes": False}
    ]
    assert given["before"] == {"winrate": 0.52, "scoreLead": 1.0, "visits": 100}
    assert given["threat"]["points"] == pytest.approx(2.0)
    position = json.loads(json.dumps(position_object(found.after)))
    assert position["currentPlayer"] == "W"
    assert sum(position["regions"].values()) == 0.0
    assert {"color", "stones", "survival", "status", "liberties", "chains"} == position["groups"][0].keys()


def test_reasons_name_what_cost_the_most_first() -> None:
    game = game_from_diagram(GROUPS)
    before = measured(game, "D4", lead=5.0, B6=0.9, C6=0.9, F2=-0.9, F3=-0.9)
    after = measured(game, "B5", lead=-2.0, B6=-0.9, C6=-0.9, F2=-0.9, F3=-0.9)
    found = reasons(facts_of(game, BLACK, "G1", before=before, after=after))
    assert found[0] == "Black's 2 stones at B6 get weaker: survival 95% to 5%."
    assert len(found) == 2


def test_an_answer_that_captures_is_a_reason() -> None:
    game = game_from_diagram(FIGHT.replace("X", "o").replace("O", "X").replace("o", "O"))
    found = reasons(facts_of(game, BLACK, "A1", after=measured(game, "E6 G1 D7", lead=-9.0)))
    assert "White answers E6 G1 D7 and captures 4 stones." in found


def test_what_the_better_move_would_capture_is_a_reason() -> None:
    game = game_from_diagram(FIGHT)
    before, after = measured(game, "E6 A1 D7", lead=9.0), measured(game, "D7")
    found = reasons(facts_of(game, BLACK, "A1", before=before, after=after))
    assert found[0] == "E6 A1 D7 would capture 4 stones."


def test_a_chain_left_in_atari_is_a_reason_only_if_the_answer_captures_it() -> None:
    game = game_from_diagram(". . . . .\n. X . . .\nX O X . .\n. . . . .\n. . . . .")
    ignored, taken = measured(game, "D4"), measured(game, "B2 D4", lead=5.0)
    assert not any("leaves" in reason for reason in reasons(facts_of(game, WHITE, "E5", after=ignored)))
    assert "It leaves stone B3 in atari." in reasons(facts_of(game, WHITE, "E5", after=taken))


def test_a_good_move_has_no_reason_against_it() -> None:
    assert reasons(facts_of(Game(9), BLACK, "E5")) == []


def test_the_texts_have_the_numbers() -> None:
    game = game_from_diagram(FIGHT)
    even, passed = measured(game, "A1", lead=3.0), measured(game, "D7", lead=9.0)
    lines = move_text(facts_of(game, BLACK, "E6", before=measured(game, "D7 E6", lead=6.0), after=even, passed=passed))
    assert lines[0] == "Move 1, Black E6: push (D6 D5 E5)"
    text = "\n".join(lines)
    assert "Loses 3.0 points (B+6.0 to B+3.0)" in text
    assert "Better: D7 E6." in text
    assert "Gives atari. White's 4 stones at C5 in atari, liberty D7: cannot escape." in text
    assert "If White passes now, that costs 6.0 points: D7, which captures 4 white stones." in text
    position = "\n".join(position_text(position_of(game, measured=measured(game, "E6", lead=2.5), passed=even)))
    assert "Black to play: B+2.5" in position
    assert position.splitlines()[-3:] == ["     B+0.0" * 3] * 3
