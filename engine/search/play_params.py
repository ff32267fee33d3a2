"""The parameters of play around a search: handicap, choice of the move, passing, resignation, time, pondering."""

import math
from dataclasses import dataclass

import engine.color as color_of
from engine.settings.setting import choice, number, truth

NOBODY, BLACK, WHITE = "none", "black", "white"
"""Values of `playout_doubling_color`."""
_FULL_SIDE = 19


@dataclass(frozen=True)
class PlayParams:
    """What surrounds a search, each with its default, help, range and KataGo's name."""

    playout_doubling_advantage: float = number(
        0.0,
        "Own playouts over the opponent's, as a logarithm to base 2, for networks trained with this input.",
        -3.0,
        3.0,
        katago="playoutDoublingAdvantage",
    )
    playout_doubling_color: str = choice(
        NOBODY,
        "The color that has this advantage; none: the side to move at the root.",
        (NOBODY, BLACK, WHITE),
        katago="playoutDoublingAdvantagePla",
    )
    doubling_per_lead: float = number(
        0.0,
        "In a handicap game, the weaker side's advantage in doublings for each point that it is behind; 0 turns it "
        "off. For networks trained with this input; KataGo has 0.045.",
        0.0,
        0.5,
        katago="dynamicPlayoutDoublingAdvantageCapPerOppLead",
    )
    repeated_shape_penalty: float = number(
        0.0,
        "Utility that the side to move at the root loses by playing a shape that it has played in this game.",
        -3.0,
        3.0,
        katago="avoidRepeatedPatternUtility",
    )
    anti_mirror: bool = truth(
        False,
        "In an analysis, search against an opponent who mirrors each move through the center.",
        katago="antiMirror",
    )
    genmove_anti_mirror: bool = truth(True, "The same in the search for a move to play.", katago="genmoveAntiMirror")
    conservative_pass: bool = truth(
        False, "Search on after an own pass that would end the game.", katago="conservativePass"
    )
    temperature: float = number(
        0.0,
        "Temperature for drawing the move to play by weight late in the game; 0 plays the best move.",
        0.0,
        100.0,
        katago="chosenMoveTemperature",
    )
    early_temperature: float = number(
        0.0, "The same at the start of the game.", 0.0, 100.0, katago="chosenMoveTemperatureEarly"
    )
    temperature_halflife: float = number(
        19.0,
        "Moves on 19x19 in which half of the difference between both is lost; in proportion to the side on others.",
        0.1,
        100000.0,
        unit="moves",
        katago="chosenMoveTemperatureHalflife",
    )
    temperature_only_below: float = number(
        1.0,
        "Share of the weight above which the temperature does not change how likely moves are.",
        0.0,
        1.0,
        katago="chosenMoveTemperatureOnlyBelowProb",
    )
    choice_subtract: float = number(
        0.0,
        "Weight to subtract from each move before one is chosen, at most 1/64 of the largest.",
        0.0,
        1e10,
        katago="chosenMoveSubtract",
    )
    choice_prune: float = number(
        0.0,
        "Weight below which no move is chosen, at most 1/64 of the largest.",
        0.0,
        1e10,
        katago="chosenMovePrune",
    )
    uses_lcb: bool = truth(
        True, "Choose the move by its lower confidence bound, not by its visits.", katago="useLcbForSelection"
    )
    bounds_first_move: bool = truth(
        True,
        "Let the bound choose the move that the search visited first, too; off repeats an error of KataGo before 1.8.",
        katago="useNonBuggyLcb",
    )
    lcb_stdevs: float = number(
        5.0,
        "Choose the move with the best lower confidence bound, this many standard errors below the mean; 0 chooses the "
        "most visited move.",
        0.0,
        12.0,
        katago="lcbStdevs",
    )
    lcb_least_share: float = number(
        0.15,
        "Minimum share of the most visited move's weight for a move to be chosen by its bound.",
        0.0,
        1.0,
        katago="minVisitPropForLCB",
    )
    # On against off: 52.4 % (47.5 to 57.2) of 400 games on 9x9 at 0.1 s a move (docs/performance.md).
    stops_early: bool = truth(True, "End a move of fixed time early once no continuation could change its choice.")
    allow_resignation: bool = truth(True, "Allow the engine to resign.", katago="allowResignation")
    resign_threshold: float = number(
        0.05, "Winrate below which the engine considers resigning; 0 never resigns.", 0.0, 1.0, katago="resignThreshold"
    )
    resign_turns: int = number(
        3, "Consecutive own turns that must be below that winrate.", 1, 100, katago="resignConsecTurns"
    )
    resign_min_lead: float = number(
        0.0, "Minimum lead of the opponent to resign.", 0.0, 1000.0, unit="points", katago="resignMinScoreDifference"
    )
    ponder_seconds: float = number(
        60.0,
        "Limit of a search in the opponent's time; 0 for none.",
        0.0,
        1e20,
        unit="seconds",
        katago="maxTimePondering",
    )
    ponder_visits: int = number(
        0,
        "Limit of a search in the opponent's time; 0 for none.",
        0,
        1 << 50,
        unit="visits",
        katago="maxVisitsPondering",
    )
    judge_visits: int = number(
        3000, "Visits of each of the two searches that judge dead stones without a network.", 1, 1_000_000_000
    )
    ponder_playouts: int = number(
        0,
        "Limit of new playouts of a search in the opponent's time; 0 for none.",
        0,
        1 << 50,
        unit="playouts",
        katago="maxPlayoutsPondering",
    )
    max_playouts: int = number(
        0,
        "Limit of new playouts of a search, without visits of earlier ones; 0 for none.",
        0,
        1 << 50,
        unit="playouts",
        katago="maxPlayouts",
    )
    factor_after_pass: float = number(
        1.0,
        "Factor of time and visits after a pass of the opponent.",
        0.0,
        1.0,
        katago="searchFactorAfterOnePass",
    )
    factor_after_two_passes: float = number(
        1.0,
        "The same if the opponent's move before was a pass, too.",
        0.0,
        1.0,
        katago="searchFactorAfterTwoPass",
    )
    time_factor: float = number(
        1.0, "Factor of the time that the clock allows for a move.", 0.01, 100.0, katago="overallocateTimeFactor"
    )
    midgame_time_factor: float = number(
        1.0, "Factor of that time in the middle of the game.", 0.01, 100.0, katago="midgameTimeFactor"
    )
    midgame_peak: float = number(
        130.0,
        "Move on 19x19 at which that factor is whole; in proportion to the area on other boards.",
        0.0,
        1000.0,
        unit="moves",
        katago="midgameTurnPeakTime",
    )
    endgame_decay: float = number(
        100.0,
        "Moves on 19x19 after this one in which the factor falls to 1/e of its distance from 1.",
        0.0,
        1000.0,
        unit="moves",
        katago="endgameTurnTimeDecay",
    )
    delay_scale: float = number(
        0.0,
        "Seconds to wait before a move is answered, longer for surprising moves; 0 for none.",
        0.0,
        10000.0,
        unit="seconds",
        katago="delayMoveScale",
    )
    delay_most: float = number(1000000.0, "Limit of that wait.", 0.0, 1000000.0, unit="seconds", katago="delayMoveMax")

    def doubling_of(self, root_color: int, color: int) -> float:
        """Return the advantage in playouts that a network is given when `color` is to move in a search of a root."""
        owner = {NOBODY: root_color, BLACK: color_of.BLACK, WHITE: color_of.WHITE}[self.playout_doubling_color]
        return self.playout_doubling_advantage if owner == color else -self.playout_doubling_advantage

    def at_move(self, early: float, late: float, move_number: int, area: int) -> float:
        """Return a value that falls from the early to the late one, with `temperature_halflife` (KataGo)."""
        halflives = move_number / self.temperature_halflife * _FULL_SIDE / math.sqrt(area)
        return float(late + (early - late) * 0.5**halflives)
