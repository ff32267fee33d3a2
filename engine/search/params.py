"""The parameters of a search. `--set name=value` and KataGo's parameter names set these fields."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import GoError
from engine.settings.setting import BadValue, number, settings_of, truth


@dataclass(frozen=True)
class SearchParams:
    """The parameters of a search, each with its default, help, range and KataGo's name.

    Ranges are KataGo's, extended by values that turn something off. PUCT: Silver et al., "Mastering the game of Go
    without human knowledge" (2017). All-moves-as-first values: Silver, "Reinforcement learning and simulation-based
    search in computer Go" (2009), where `rave_bias` is 4 * b^2.
    """

    # The defaults are KataGo's: changing one of them made no search measurably stronger. With the part turned off, the
    # points of 200 games on 9x9 at 100 visits were (docs/performance.md): stdev_scale 44.8 %, lcb_stdevs 44.8,
    # fpu_reduction 47.0, value_weight_exponent 48.0, subtree_value_bias_factor 48.2, shares_nodes 48.5,
    # noise_prune_scale 48.8, random_symmetries 49.2, fpu_policy_power 50.7, both score factors 50.7, c_puct_log 51.7.
    c_puct: float = number(1.0, "Weight of the prior against the value.", 0.0, 10.0, katago="cpuctExploration")
    c_puct_log: float = number(
        0.45, "Growth of that weight with the logarithm of visits.", 0.0, 10.0, katago="cpuctExplorationLog"
    )
    c_puct_base: float = number(
        500.0, "Visits after which that weight starts to grow.", 10.0, 100000.0, katago="cpuctExplorationBase"
    )
    stdev_prior: float = number(
        0.4, "Expected standard deviation of utility under a node.", 1e-8, 10.0, katago="cpuctUtilityStdevPrior"
    )
    stdev_prior_weight: float = number(
        2.0, "Visits that the expected deviation is worth.", 0.0, 100.0, katago="cpuctUtilityStdevPriorWeight"
    )
    stdev_scale: float = number(
        0.85,
        "Growth of exploration with the standard deviation of utility under a node; 0 turns it off.",
        0.0,
        1.0,
        katago="cpuctUtilityStdevScale",
    )
    fpu_reduction: float = number(
        0.2,
        "Utility below its parent's that an unvisited move is given, times the square root of the visited prior.",
        0.0,
        2.0,
        katago="fpuReductionMax",
    )
    root_fpu_reduction: float = number(0.1, "The same at the root.", 0.0, 2.0, katago="rootFpuReductionMax")
    fpu_policy_power: float = number(
        2.0,
        "The parent's own evaluation has the share 1 - (visited prior) ** power of that; 0 uses its mean alone.",
        0.0,
        5.0,
        katago="fpuParentWeightByVisitedPolicyPow",
    )
    virtual_loss: float = number(
        1.0, "Number of losses that a pending visit counts as.", 0.01, 1000.0, katago="numVirtualLossesPerThread"
    )
    static_score_factor: float = number(
        0.1, "Utility of points, measured around an even game.", 0.0, 1.0, katago="staticScoreUtilityFactor"
    )
    dynamic_score_factor: float = number(
        0.3, "Utility of points, measured around the present score.", 0.0, 1.0, katago="dynamicScoreUtilityFactor"
    )
    dynamic_score_scale: float = number(
        0.75, "Width of the score utility around the present score.", 0.2, 5.0, katago="dynamicScoreCenterScale"
    )
    value_weight_exponent: float = number(
        0.25,
        "How strongly good children outweigh bad ones in the parent's value; 0 weighs them by visits alone.",
        0.0,
        1.0,
        katago="valueWeightExponent",
    )
    noise_prune_scale: float = number(
        0.15,
        "Utility by which a child must be worse before its excess visits lose most of their weight; 0 turns it off.",
        0.0,
        10.0,
        katago="noisePruneUtilityScale",
    )
    subtree_value_bias_factor: float = number(
        0.45,
        "Strength of correcting an evaluation by the errors seen after the same local moves; 0 turns it off.",
        0.0,
        1.0,
        katago="subtreeValueBiasFactor",
    )
    subtree_value_bias_exponent: float = number(
        0.85,
        "Exponent of the weight of a subtree among these errors.",
        0.0,
        1.0,
        katago="subtreeValueBiasWeightExponent",
    )
    uncertainty_coefficient: float = number(
        0.25,
        "An evaluation's weight is this divided by its expected error, if the network has one; 0 turns it off.",
        0.0,
        1.0,
        katago="uncertaintyCoeff",
    )
    uncertainty_max_weight: float = number(
        8.0, "Largest weight of an evaluation by its expected error.", 1.0, 100.0, katago="uncertaintyMaxWeight"
    )
    shares_nodes: bool = truth(
        True, "Share one node for a position that is reached by several orders of moves.", katago="useGraphSearch"
    )
    policy_optimism: float = number(
        1.0, "Weight of the optimistic policy of networks that have one.", 0.0, 1.0, katago="policyOptimism"
    )
    root_policy_optimism: float = number(0.2, "The same at the root.", 0.0, 1.0, katago="rootPolicyOptimism")
    playout_doubling_advantage: float = number(
        0.0,
        "Own playouts over the opponent's, as a logarithm to base 2, for networks trained with this input.",
        -3.0,
        3.0,
        katago="playoutDoublingAdvantage",
    )
    rave_bias: float = number(
        0.0,
        "Squared bias of all-moves-as-first values, for evaluators that report them: a higher one trusts them for "
        "fewer visits; 0 turns them off.",
        0.0,
        100.0,
    )
    rave_prior: float = number(
        30.0, "Weight in visits of the first-play urgency against the all-moves-as-first value.", 0.0, 1e6
    )
    noise_fraction: float = number(
        0.0, "Share of Dirichlet noise in the root's priors.", 0.0, 1.0, katago="rootDirichletNoiseWeight"
    )
    noise_concentration: float = number(
        10.83,
        "Concentration of that noise: alpha is this over the number of legal moves.",
        0.001,
        10000.0,
        katago="rootDirichletNoiseTotalConcentration",
    )
    wide_root_noise: float = number(
        0.0,
        "Random bonus of utility, and flatter priors, at the root; a larger one makes it search more moves.",
        0.0,
        5.0,
        katago="wideRootNoise",
    )
    forced_playouts: float = number(
        0.0,
        "Minimum of a visited root move: the square root of this * prior * all visits (KataGo's "
        "rootDesiredPerChildVisitsCoeff); 0 turns it off.",
        0.0,
        100.0,
    )
    root_policy_temperature: float = number(
        1.0, "Temperature of the root's priors.", 0.01, 100.0, katago="rootPolicyTemperature"
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
    root_symmetries: int = number(
        1,
        "Random symmetries under which a network evaluates a new root; their mean is one visit.",
        1,
        8,
        katago="rootNumSymmetriesToSample",
    )
    random_symmetries: bool = truth(True, "Evaluate every position under a random symmetry.", katago="nnRandomize")
    ignores_past: bool = truth(
        False, "Hide the moves before the searched position from the evaluator.", katago="ignorePreRootHistory"
    )
    prunes_symmetric_moves: bool = truth(
        True, "Search only one of several root moves that mirror each other.", katago="rootSymmetryPruning"
    )
    batch_size: int = number(0, "Leaves in a batch; 0 chooses by visits and measured speed.", 0, 65536)
    visits_in_flight: int = number(
        0,
        "Positions under evaluation at the same time in a search that visits limit; 0 weighs speed against strength.",
        0,
        65536,
    )
    max_memory_mib: int = number(512, "Memory limit of the search tree.", 1, 1 << 30, unit="MiB")
    stops_early: bool = truth(True, "End a move of fixed time early once no other move can overtake the best.")
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
    seed: int = number(1, "Seed of all random numbers of a search; 0 draws a new one each time.", 0, (1 << 63) - 1)


ROLLOUT_PARAMS = SearchParams(
    c_puct=1.1,
    c_puct_log=0.0,
    stdev_scale=0.0,
    root_fpu_reduction=0.2,
    fpu_policy_power=0.0,
    static_score_factor=0.0,
    dynamic_score_factor=0.0,
    value_weight_exponent=0.0,
    noise_prune_scale=0.0,
    subtree_value_bias_factor=0.0,
    shares_nodes=False,
    rave_bias=0.02,
    lcb_stdevs=0.0,
)
"""Defaults for evaluators by playouts, whose values are samples of a result, far noisier than a network's."""

SEARCH_SETTINGS = settings_of(SearchParams)
"""The settings that the fields of `SearchParams` declare, by name."""


def with_settings(params: SearchParams, settings: Mapping[str, object]) -> SearchParams:
    """Return params with some fields replaced. settings: texts or plain values by name.

    Raises GoError, naming the unknown key or bad value.
    """
    changes: dict[str, Any] = {}
    for key, value in settings.items():
        if key not in SEARCH_SETTINGS:
            raise GoError(f"unknown setting {key!r}, expected one of {' '.join(sorted(SEARCH_SETTINGS))}")
        try:
            changes[key] = SEARCH_SETTINGS[key].read(value)
        except BadValue as error:
            raise GoError(f"setting {key!r}: {error}") from None
    return replace(params, **changes)
