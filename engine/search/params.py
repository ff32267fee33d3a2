"""The parameters of a search. `--set name=value` and KataGo's parameter names set these fields."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import GoError
from engine.search.human_params import HumanParams
from engine.search.play_params import PlayParams
from engine.settings.setting import BadValue, number, settings_of, truth


@dataclass(frozen=True)
class SearchParams(HumanParams, PlayParams):
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
    root_fpu_reduction: float = number(0.1, "Like fpu_reduction, at the root.", 0.0, 2.0, katago="rootFpuReductionMax")
    fpu_loss_share: float = number(
        0.0, "Share of a certain loss in the utility of an unvisited move.", 0.0, 1.0, katago="fpuLossProp"
    )
    root_fpu_loss_share: float = number(0.0, "Like fpu_loss_share, at the root.", 0.0, 1.0, katago="rootFpuLossProp")
    fpu_by_visited_policy: bool = truth(
        True,
        "Mix the parent's own evaluation into the utility of an unvisited move the less, the more prior was visited.",
        katago="fpuParentWeightByVisitedPolicy",
    )
    fpu_parent_weight: float = number(
        0.0,
        "Share of the parent's own evaluation in the utility of an unvisited move, without fpu_by_visited_policy.",
        0.0,
        1.0,
        katago="fpuParentWeight",
    )
    fpu_policy_power: float = number(
        2.0,
        "With fpu_by_visited_policy the share of the parent's own evaluation is 1 - (visited prior) ** this.",
        0.0,
        5.0,
        katago="fpuParentWeightByVisitedPolicyPow",
    )
    virtual_loss: float = number(
        1.0, "Number of losses that a pending visit counts as.", 0.01, 1000.0, katago="numVirtualLossesPerThread"
    )
    win_loss_factor: float = number(1.0, "Utility of winning the game.", 0.0, 1.0, katago="winLossUtilityFactor")
    no_result_utility: float = number(
        0.0, "Utility for White of a game without a result.", -1.0, 1.0, katago="noResultUtilityForWhite"
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
    dynamic_score_zero_weight: float = number(
        0.2,
        "Share by which the present score is moved toward an even game there.",
        0.0,
        1.0,
        katago="dynamicScoreCenterZeroWeight",
    )
    value_weight_exponent: float = number(
        0.25,
        "How strongly good children outweigh bad ones in the parent's value; 0 weighs them by visits alone.",
        0.0,
        1.0,
        katago="valueWeightExponent",
    )
    prunes_noise: bool = truth(
        True, "Reduce the weight of visits that priors and values do not explain.", katago="useNoisePruning"
    )
    noise_prune_scale: float = number(
        0.15,
        "Utility by which a child must be worse before its excess visits lose most of their weight; 0 turns it off.",
        0.0,
        10.0,
        katago="noisePruneUtilityScale",
    )
    noise_prune_cap: float = number(
        1e50, "Largest weight that a child may lose by that.", 0.0, 1e50, katago="noisePruningCap"
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
    subtree_value_bias_free_share: float = number(
        0.8, "Share of its errors that is forgotten with a dropped node.", 0.0, 1.0, katago="subtreeValueBiasFreeProp"
    )
    uses_uncertainty: bool = truth(
        True, "Weigh evaluations by their expected error, if the network has one.", katago="useUncertainty"
    )
    uncertainty_coefficient: float = number(
        0.25,
        "An evaluation's weight is this divided by its expected error, if the network has one; 0 turns it off.",
        0.0,
        1.0,
        katago="uncertaintyCoeff",
    )
    uncertainty_exponent: float = number(
        1.0, "Exponent of the expected error in that weight.", 0.0, 2.0, katago="uncertaintyExponent"
    )
    uncertainty_max_weight: float = number(
        8.0, "Largest weight of an evaluation by its expected error.", 1.0, 100.0, katago="uncertaintyMaxWeight"
    )
    shares_nodes: bool = truth(
        True, "Share one node for a position that is reached by several orders of moves.", katago="useGraphSearch"
    )
    ends_settled: bool = truth(
        True, "End a line where every point is pass-alive: its score is known, and no evaluation needed."
    )
    catch_up_leak: float = number(
        0.0,
        "Chance to search deeper where another order of moves has already made the visits.",
        0.0,
        1.0,
        katago="graphSearchCatchUpLeakProb",
    )
    remembers: bool = truth(
        False, "Remember what searches find about positions, and bias later searches of them.", katago="useEvalCache"
    )
    remember_visits: int = number(
        100, "Minimum of visits of a position to be remembered.", 1, 1 << 30, unit="visits", katago="evalCacheMinVisits"
    )
    policy_temperature: float = number(
        1.0, "Temperature of all priors of the network.", 0.01, 5.0, katago="nnPolicyTemperature"
    )
    policy_optimism: float = number(
        1.0, "Weight of the optimistic policy of networks that have one.", 0.0, 1.0, katago="policyOptimism"
    )
    root_policy_optimism: float = number(
        0.2, "Like policy_optimism, at the root.", 0.0, 1.0, katago="rootPolicyOptimism"
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
    adds_noise: bool = truth(False, "Mix Dirichlet noise into the root's priors.", katago="rootNoiseEnabled")
    noise_fraction: float = number(
        0.25, "Share of the Dirichlet noise in the root's priors.", 0.0, 1.0, katago="rootDirichletNoiseWeight"
    )
    noise_concentration: float = number(
        10.83,
        "Concentration of the Dirichlet noise: alpha is this over the number of legal moves.",
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
        "Minimum of a visited root move: the square root of this * prior * all visits; 0 turns it off.",
        0.0,
        100.0,
        katago="rootDesiredPerChildVisitsCoeff",
    )
    root_policy_temperature: float = number(
        1.0, "Temperature of the root's priors.", 0.01, 100.0, katago="rootPolicyTemperature"
    )
    early_root_policy_temperature: float = number(
        0.0,
        "Temperature at the start of the game, with the half-life of the choice of moves; 0 for no difference.",
        0.0,
        100.0,
        katago="rootPolicyTemperatureEarly",
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
    ignores_all_past: bool = truth(
        False, "Hide the moves before every position from the evaluator.", katago="ignoreAllHistory"
    )
    prunes_symmetric_moves: bool = truth(
        True, "Search only one of several root moves that mirror each other.", katago="rootSymmetryPruning"
    )
    batch_size: int = number(
        0, "Leaves in a batch; 0 chooses by visits, in a timed search also by measured speed.", 0, 65536
    )
    visits_in_flight: int = number(
        0,
        "Most positions under evaluation at a time in a search that visits limit; more are faster and weaker. 0: "
        "as many as should cost about 10 Elo, 1 up to 884 visits.",
        0,
        65536,
    )
    max_memory_mib: int = number(512, "Memory limit of the search tree.", 1, 1 << 30, unit="MiB")
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
