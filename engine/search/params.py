"""Every number that shapes a search, in one frozen value. `--set name=value` reaches these fields."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import GoError
from engine.settings.setting import BadValue, number, settings_of, truth


@dataclass(frozen=True)
class SearchParams:
    """How a search selects, explores and decides: each field with its default, meaning, range and KataGo's name.

    The ranges are KataGo's, widened where a value turns something off. PUCT: Silver et al., "Mastering the game of Go
    without human knowledge" (2017). All-moves-as-first values: Silver, "Reinforcement learning and simulation-based
    search in computer Go" (2009), with b^2 * 4 for `rave_bias`.
    """

    c_puct: float = number(1.0, "Weight of the prior against the value.", 0.0, 10.0, katago="cpuctExploration")
    c_puct_log: float = number(
        0.45, "Growth of that weight with the logarithm of the visits.", 0.0, 10.0, katago="cpuctExplorationLog"
    )
    c_puct_base: float = number(
        500.0, "Visits after which that weight starts to grow.", 10.0, 100000.0, katago="cpuctExplorationBase"
    )
    stdev_prior: float = number(
        0.4, "Standard deviation of utility that is expected under a node.", 1e-8, 10.0, katago="cpuctUtilityStdevPrior"
    )
    stdev_prior_weight: float = number(
        2.0, "Visits that the expected deviation is worth.", 0.0, 100.0, katago="cpuctUtilityStdevPriorWeight"
    )
    stdev_scale: float = number(
        0.85,
        "How far exploration grows with the standard deviation of utility under a node; 0 turns it off.",
        0.0,
        1.0,
        katago="cpuctUtilityStdevScale",
    )
    fpu_reduction: float = number(
        0.2,
        "How much worse than its parent an unvisited move counts, times the root of the prior already visited.",
        0.0,
        2.0,
        katago="fpuReductionMax",
    )
    root_fpu_reduction: float = number(0.1, "The same at the root.", 0.0, 2.0, katago="rootFpuReductionMax")
    fpu_policy_power: float = number(
        2.0,
        "The parent's own evaluation counts in that by 1 - (prior visited) ** power; 0 counts the parent's mean alone.",
        0.0,
        5.0,
        katago="fpuParentWeightByVisitedPolicyPow",
    )
    virtual_loss: float = number(
        1.0, "Losses that a pending visit counts as.", 0.01, 1000.0, katago="numVirtualLossesPerThread"
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
        "How strongly good children outweigh bad ones in their parent; 0 weighs them by visits alone.",
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
        "How far an evaluation is corrected by the errors seen after the same local moves; 0 turns it off.",
        0.0,
        1.0,
        katago="subtreeValueBiasFactor",
    )
    subtree_value_bias_exponent: float = number(
        0.85, "How visits weigh those errors.", 0.0, 1.0, katago="subtreeValueBiasWeightExponent"
    )
    uncertainty_coefficient: float = number(
        0.25,
        "Evaluations weigh this over their expected error, where the network reports one; 0 turns it off.",
        0.0,
        1.0,
        katago="uncertaintyCoeff",
    )
    uncertainty_max_weight: float = number(
        8.0, "The largest weight of an evaluation by its expected error.", 1.0, 100.0, katago="uncertaintyMaxWeight"
    )
    shares_nodes: bool = truth(
        True, "Positions that several orders of moves reach share a node.", katago="useGraphSearch"
    )
    policy_optimism: float = number(
        1.0, "Weight of the optimistic policy of networks that have one.", 0.0, 1.0, katago="policyOptimism"
    )
    root_policy_optimism: float = number(0.2, "The same at the root.", 0.0, 1.0, katago="rootPolicyOptimism")
    playout_doubling_advantage: float = number(
        0.0,
        "Advantage over the opponent, as the logarithm to base 2 of playouts, for networks trained with it.",
        -3.0,
        3.0,
        katago="playoutDoublingAdvantage",
    )
    rave_bias: float = number(
        0.0,
        "Squared bias of all-moves-as-first values, for evaluators that report them: higher trusts them for fewer "
        "visits; 0 turns them off.",
        0.0,
        100.0,
    )
    rave_prior: float = number(
        30.0, "Visits that the first-play urgency is worth against the all-moves-as-first value.", 0.0, 1e6
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
        "Random bonus of utility, and flatter priors, at the root, so that an analysis looks at more moves.",
        0.0,
        5.0,
        katago="wideRootNoise",
    )
    forced_playouts: float = number(
        0.0,
        "A visited root move gets at least the root of this times its prior times all visits (KataGo's "
        "rootDesiredPerChildVisitsCoeff); 0 turns it off.",
        0.0,
        100.0,
    )
    root_policy_temperature: float = number(
        1.0, "Temperature of the root's priors.", 0.01, 100.0, katago="rootPolicyTemperature"
    )
    temperature: float = number(
        0.0, "Temperature at which moves are drawn by their weight; 0 plays the best move.", 0.0, 100.0
    )
    temperature_moves: int = number(30, "Moves of the game after which the temperature is 0.", 0, 1_000_000)
    lcb_stdevs: float = number(
        5.0,
        "The move to play has the best lower confidence bound, this many standard errors below its mean; 0 plays the "
        "most visited move.",
        0.0,
        12.0,
        katago="lcbStdevs",
    )
    lcb_least_share: float = number(
        0.15,
        "Share of the most visited move's weight that a move needs to be chosen by its bound.",
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
    random_symmetries: bool = truth(True, "Evaluate every position under a random symmetry (KataGo's nnRandomize).")
    prunes_symmetric_moves: bool = truth(
        True, "Search only one of root moves that mirror each other.", katago="rootSymmetryPruning"
    )
    batch_size: int = number(0, "Leaves in a batch; 0 chooses by visits and measured speed.", 0, 65536)
    max_memory_mib: int = number(512, "Memory limit of the search tree.", 1, 1 << 30, unit="MiB")
    stops_early: bool = truth(True, "End a move of fixed time early when no other move can catch up any more.")
    allow_resignation: bool = truth(True, "Whether the engine ever resigns.", katago="allowResignation")
    resign_threshold: float = number(
        0.05, "Winrate below which the engine considers resigning; 0 never resigns.", 0.0, 1.0, katago="resignThreshold"
    )
    resign_turns: int = number(
        3, "Own turns in a row that must be below that winrate.", 1, 100, katago="resignConsecTurns"
    )
    resign_min_lead: float = number(
        0.0, "Points by which the opponent must lead.", 0.0, 1000.0, unit="points", katago="resignMinScoreDifference"
    )
    ponder_seconds: float = number(
        60.0,
        "Longest search in the opponent's time; 0 for no limit.",
        0.0,
        1e20,
        unit="seconds",
        katago="maxTimePondering",
    )
    judge_visits: int = number(
        3000, "Visits of each of the two searches that judge dead stones when no network does.", 1, 1_000_000_000
    )
    seed: int = number(1, "Seed of all random numbers of a search; 0 draws another one every time.", 0, (1 << 63) - 1)


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
"""For evaluators that play out games: their values are samples of a result, far noisier than a network's."""

SEARCH_SETTINGS = settings_of(SearchParams)
"""What the fields of `SearchParams` take, by name."""


def with_settings(params: SearchParams, settings: Mapping[str, object]) -> SearchParams:
    """Return params with fields replaced, given as texts or plain values.

    Raises GoError naming an unknown key or a bad value.
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
