"""Playing on where players differ on dead stones."""

from dataclasses import replace

import pytest

from engine.clock import Clock
from engine.color import BLACK
from engine.players import Decision, Limits
from engine.vertex import PASS, parse_vertex
from gtp.state import GtpState, SessionConfig
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state

CORNER = "play w A1|play b A3|play b B3|play b C3|play b C2|play b C1|play w E5"
"""On 5x5, a white stone with two liberties in Black's corner, and one in nobody's."""
DEAD = "A1"


class Careful(FakePlayer):
    """Holds what stands on A1 and nothing else dead, in the positions of which it is asked first: then all lives.

    Plays the first point that it may think of.
    """

    rules = None
    verdicts = 1

    def genmove(self, game, color, limits=Limits(), watch=None, avoided=None):  # type: ignore[no-untyped-def]  # noqa: B008
        """Remember the rules, and answer."""
        self.rules = game.rules
        self.avoided = avoided
        forbidden = avoided.get(color, {}) if avoided else {}
        if self.script:
            return super().genmove(game, color, limits, watch, avoided)
        return Decision(next((v for v in [*game.legal_vertices(color), PASS] if v not in forbidden), PASS))

    def dead_stones(self, game, limits=None):  # type: ignore[no-untyped-def]
        """Return the stone on A1 once."""
        self.judged += 1
        stone = parse_vertex(DEAD, game.width, game.height)
        return [[stone]] if self.judged <= self.verdicts and game.color_at(stone) else []


def after(lines: str, player: FakePlayer) -> GtpState:
    """Return a session on 5x5 after some commands."""
    state = new_state(player, SessionConfig(width=5, height=5))
    for line in lines.split("|"):
        assert not ask(state, line).startswith("?")
    return state


def test_cleaning_up_counts_what_stands_and_changes_no_rules() -> None:
    player = Careful(["c3"])
    state = new_state(player)
    ask(state, "kata-set-rules japanese")
    assert ask(state, "kgs-genmove_cleanup b") == "C3"
    assert player.rules is not None
    assert (player.rules.is_area, player.rules.friendly_pass) == (True, False)
    assert not state.game.rules.is_area
    assert state.game.move_number == 1


def test_nobody_resigns_while_cleaning_up() -> None:
    class Desperate(FakePlayer):
        """Resigns at once."""

        def genmove(self, *_):  # type: ignore[no-untyped-def]
            """Resign."""
            return Decision(PASS, resign=True)

    assert ask(new_state(Desperate()), "kgs-genmove_cleanup w") == "pass"


@pytest.mark.parametrize("rules", ["chinese-kgs", "japanese", "tromp-taylor"])
def test_dead_stones_lose_their_liberties_one_after_the_other_and_nothing_else_is_played(rules: str) -> None:
    player = Careful()
    state = after(f"kata-set-rules {rules}|{CORNER}", player)
    played = []
    while not played or played[-1] != "pass":
        played.append(ask(state, "kgs-genmove_cleanup b"))
        ask(state, "play w pass")
    # The verdict of the beginning holds, though nobody asked later finds a dead stone.
    assert (sorted(played), player.judged) == (["A2", "B1", "pass"], 1)
    assert ask(state, "list_stones w") == "E5"


def test_own_dead_stones_are_left_to_the_opponent_who_passed() -> None:
    state = after(f"{CORNER}|play b pass|play w pass|undo|undo|play b pass", Careful(["d5"]))
    assert ask(state, "kgs-genmove_cleanup w") == "pass"


def test_a_game_that_was_not_passed_out_goes_on_where_nothing_is_dead() -> None:
    player = Careful(["d5", "a5"])
    player.verdicts = 0
    state = after(CORNER, player)
    assert ask(state, "kgs-genmove_cleanup b") == "D5"
    ask(state, "play w pass")
    assert ask(state, "kgs-genmove_cleanup b") == "A5"
    assert (player.avoided, player.judged) == (None, 2)


def test_the_dead_are_those_that_were_reported_after_the_passes() -> None:
    state = after(f"{CORNER}|play b pass|play w pass", Careful())
    assert ask(state, "final_status_list dead") == "A1"
    ask(state, "undo")
    ask(state, "undo")
    assert ask(state, "kgs-genmove_cleanup b") in ("A2", "B1")


def test_a_stone_of_the_opponent_is_answered_and_the_dead_are_judged_anew() -> None:
    player = Careful(["a2", "d4"])
    state = after(CORNER, player)
    assert ask(state, "kgs-genmove_cleanup b") == "A2"
    assert player.avoided is not None
    ask(state, "play w D5")
    assert ask(state, "kgs-genmove_cleanup b") == "D4"
    assert (player.judged, player.avoided) == (2, None)


def test_an_undo_or_another_game_begins_a_clean_up_anew() -> None:
    player = Careful()
    player.verdicts = 3
    state = after(CORNER, player)
    ask(state, "kgs-genmove_cleanup b")
    ask(state, "undo")
    ask(state, "kgs-genmove_cleanup b")
    assert player.judged == 2
    ask(state, "clear_board")
    for line in CORNER.split("|"):
        ask(state, line)
    assert ask(state, "kgs-genmove_cleanup b") in ("A2", "B1")
    assert player.judged == 3


@pytest.mark.parametrize(("lead", "found"), [(-30.0, "near"), (30.0, "liberty")])
def test_a_liberty_that_costs_points_is_left_for_a_better_move_near_by(lead: float, found: str) -> None:
    class Doubtful(Careful):
        """Expects little of a liberty, and more of any other move."""

        def genmove(self, game, color, limits=Limits(), watch=None, avoided=None):  # type: ignore[no-untyped-def]  # noqa: B008
            """Play B2, which is no liberty of A1, where that is allowed."""
            near = parse_vertex("B2", 5, 5)
            if near not in avoided[color]:
                return Decision(near, score_lead=lead + 5)
            return Decision(parse_vertex("A2", 5, 5), score_lead=lead)

    state = after(CORNER, Doubtful())
    assert ask(state, "kgs-genmove_cleanup b") == {"near": "B2", "liberty": "A2"}[found]


def test_a_turn_of_the_clean_up_takes_the_time_of_one_move() -> None:
    used = [0.0]

    class Slow(Careful):
        """Takes all its time, and thinks that each move costs points."""

        def dead_stones(self, game, limits=None):  # type: ignore[no-untyped-def]
            """Judge for as long as the limits say."""
            used.append(limits.seconds)
            return super().dead_stones(game)

        def genmove(self, game, color, limits=Limits(), watch=None, avoided=None):  # type: ignore[no-untyped-def]  # noqa: B008
            """Think for as long as the limits say."""
            used.append(limits.seconds)
            return replace(super().genmove(game, color, limits, watch, avoided), score_lead=-100.0)

    state = after(CORNER, Slow())
    state.clock = Clock(now=lambda: sum(used))
    assert ask(state, "time_settings 0 8 4") == ""
    assert ask(state, "kgs-genmove_cleanup b") in ("A2", "B1")
    assert len(used) == 4
    assert sum(used) < 2
    assert state.clock.time_left(BLACK) == (8 - sum(used), 3)
