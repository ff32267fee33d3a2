"""The parameters of human play: how much a human network decides beside the playing network (KataGo's humanSL...)."""

from dataclasses import dataclass

from engine.settings.setting import Kind, number, option, truth


@dataclass(frozen=True)
class HumanParams:
    """What a human network decides in a search, each with its default, help, range and KataGo's name.

    A playout that chooses a move by the human policy may be weightless: it finds out how good the move is, and does not
    count for the value of the position. Without a human network all of these have no effect, except the profile, which
    a playing network that imitates people uses too.
    """

    human_profile: str = option(
        Kind.PROFILE,
        "",
        "Players for a human network to imitate: rank_5k, rank_3d_1k (Black's and White's), preaz_5k, proyear_1985.",
        metavar="PROFILE",
        katago="humanSLProfile",
    )
    human_c_puct: float = number(
        1.0,
        "Weight of the human policy against the value, where moves are chosen by it.",
        0.0,
        1000.0,
        katago="humanSLCpuctExploration",
    )
    human_c_puct_permanent: float = number(
        0.0,
        "The same, times the square root of the visits: this part of the exploration never ends.",
        0.0,
        1000.0,
        katago="humanSLCpuctPermanent",
    )
    human_root_temperature: float = number(
        1.0,
        "Temperature of the human policy at the root: above 1, unlikely moves get likelier.",
        0.01,
        100.0,
    )
    human_root_weightless: float = number(
        0.0,
        "Share of playouts that choose the root's move by the human policy and do not count for its value.",
        0.0,
        1.0,
        katago="humanSLRootExploreProbWeightless",
    )
    human_root_weightful: float = number(
        0.0,
        "Share of playouts that choose the root's move by the human policy and count for its value.",
        0.0,
        1.0,
        katago="humanSLRootExploreProbWeightful",
    )
    human_own_weightless: float = number(
        0.0,
        "The weightless share below the root at moves of the root's side to move.",
        0.0,
        1.0,
        katago="humanSLPlaExploreProbWeightless",
    )
    human_own_weightful: float = number(
        0.0,
        "The counted share below the root at moves of the root's side to move.",
        0.0,
        1.0,
        katago="humanSLPlaExploreProbWeightful",
    )
    human_opponent_weightless: float = number(
        0.0,
        "The weightless share below the root at moves of the opponent.",
        0.0,
        1.0,
        katago="humanSLOppExploreProbWeightless",
    )
    human_opponent_weightful: float = number(
        0.0,
        "The counted share below the root at moves of the opponent.",
        0.0,
        1.0,
        katago="humanSLOppExploreProbWeightful",
    )
    human_move_share: float = number(
        0.0,
        "Share of the human policy in the choice of the move to play; the rest is the search's.",
        0.0,
        1.0,
        katago="humanSLChosenMoveProp",
    )
    human_ignores_pass: bool = truth(
        False, "Leave the choice whether to pass to the search alone.", katago="humanSLChosenMoveIgnorePass"
    )
    human_move_scale: float = number(
        1e9,
        "Loss of utility that divides the chance of a human move by e; a large one follows the human policy alone.",
        0.0,
        1e9,
        katago="humanSLChosenMovePiklLambda",
    )

    @property
    def explores_as_human_in_tree(self) -> bool:
        """Whether moves below the root are chosen by the human policy, which then is computed for every node."""
        own, opponent = self.human_own_weightless + self.human_own_weightful, self.human_opponent_weightless
        return own + opponent + self.human_opponent_weightful > 0.0

    @property
    def explores_as_human(self) -> bool:
        """Whether any move is chosen by the human policy in the search."""
        return self.explores_as_human_in_tree or self.human_root_weightless + self.human_root_weightful > 0.0
