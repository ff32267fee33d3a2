"""Playing on where players differ on dead stones."""

from engine.players import Decision, Limits
from engine.vertex import PASS
from tests.gtp.fake_player import FakePlayer
from tests.gtp.talk import ask, new_state


class Watched(FakePlayer):
    """Remembers the rules of the games that it is asked about."""

    def genmove(self, game, color, limits=Limits(), *others):  # type: ignore[no-untyped-def]  # noqa: B008
        """Remember the rules, and answer."""
        self.rules = game.rules
        return super().genmove(game, color, limits, *others)


def test_cleaning_up_counts_what_stands_and_changes_no_rules() -> None:
    player = Watched(["c3"])
    state = new_state(player)
    ask(state, "kata-set-rules japanese")
    assert ask(state, "kgs-genmove_cleanup b") == "C3"
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
