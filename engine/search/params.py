"""Every number that shapes a search, in one frozen value. `--set name=value` reaches these fields."""

from dataclasses import dataclass, fields, replace

from engine.errors import GoError


@dataclass(frozen=True)
class SearchParams:
    """How a search selects, explores and decides. KataGo's names of a parameter stand in brackets.

    c_puct, c_puct_log, c_puct_base: weight of prior against value, growing with the logarithm of the
        visits (PUCT; Silver et al. 2017; [cpuctExploration, ..Log, ..Base]).
    stdev_prior, stdev_prior_weight, stdev_scale: exploration grows with the standard deviation of utility
        under a node, against an expected one of `stdev_prior` [cpuctUtilityStdev..]; scale 0 turns it off.
    fpu_reduction, root_fpu_reduction: how much worse than its parent an unvisited move is taken to be, times
        the square root of the prior already visited [fpuReductionMax].
    fpu_policy_power: the parent's own evaluation counts in that by 1 - (prior visited) ** power
        [fpuParentWeightByVisitedPolicy]; 0 counts the parent's mean alone.
    virtual_loss: losses that a pending visit counts as [numVirtualLossesPerThread].
    static_score_factor, dynamic_score_factor, dynamic_score_scale: utility of points besides winning, around
        an even game and around the present score [..ScoreUtilityFactor, dynamicScoreCenterScale].
    value_weight_exponent: how strongly good children outweigh bad ones in their parent; 0: by visits alone.
    noise_prune_scale: utility by which a child must be worse before its excess visits lose most of their weight
        [noisePruneUtilityScale]; 0 turns pruning off.
    subtree_value_bias_factor, subtree_value_bias_exponent: how far an evaluation is corrected by the errors
        seen after the same local moves, and how these are weighed by visits; factor 0 turns it off.
    uncertainty_coefficient, uncertainty_max_weight: evaluations weigh this over their expected error, where
        the network tells it [uncertaintyCoeff]; coefficient 0 turns it off.
    shares_nodes: positions that several orders of moves reach share a node [useGraphSearch].
    policy_optimism, root_policy_optimism: weight of the optimistic policy of networks that have one.
    playout_doubling_advantage: handicap of the opponent, as the logarithm to base 2 of playouts, that networks
        trained for it take into account.
    rave_bias: squared bias of all-moves-as-first values, higher trusts them for fewer visits
        (Silver 2009, with b^2 * 4); 0 turns them off. Used only with evaluators that report first plays.
    rave_prior: visits that the first-play-urgency value of an unvisited move is worth against its
        all-moves-as-first value.
    noise_fraction, noise_concentration: Dirichlet noise at the root, alpha = concentration / legal moves.
    wide_root_noise: random bonus of utility, and flatter priors, at the root: for analysis [wideRootNoise].
    forced_playouts: a visited root move gets at least the square root of this times its prior times the visits
        of all, for self-play [rootDesiredPerChildVisitsCoeff]; 0 turns it off.
    root_policy_temperature: root priors ** (1 / temperature).
    temperature: moves are drawn with weight ** (1 / temperature); 0 plays the best.
    temperature_moves: after this many moves of the game the temperature is 0.
    lcb_stdevs: the move to play has the best lower confidence bound, this many standard errors below its mean;
        0 plays the most visited one. lcb_least_share: of the most visited move's weight, to be considered.
    root_symmetries: random symmetries under which a network evaluates a new root; their mean is one visit
        [rootNumSymmetriesToSample].
    random_symmetries: every position is evaluated under a symmetry of its own [nnRandomize].
    prunes_symmetric_moves: of root moves that are mirror images of each other only one is searched
        [rootSymmetryPruning].
    batch_size: leaves a batch; 0 chooses it by visits and measured speed.
    max_memory_mib: bound of the tree's memory.
    stops_early: a move of fixed time ends before it when no other move can catch up any more.
    allow_resignation: whether the engine ever resigns.
    resign_threshold: winrate under which the engine thinks of resigning; 0 never resigns.
    resign_turns: consecutive own turns that must be under it.
    resign_min_lead: points that the opponent must lead by (KataGo's resignMinScoreDifference).
    ponder_seconds: the longest search on the opponent's time; 0 for no limit.
    judge_visits: visits of each of the two searches that judge dead stones when no network does.
    seed: of all random numbers of a search; 0 takes another one every time.
    """

    c_puct: float = 1.0
    c_puct_log: float = 0.45
    c_puct_base: float = 500.0
    stdev_prior: float = 0.4
    stdev_prior_weight: float = 2.0
    stdev_scale: float = 0.85
    fpu_reduction: float = 0.2
    root_fpu_reduction: float = 0.1
    fpu_policy_power: float = 2.0
    virtual_loss: float = 1.0
    static_score_factor: float = 0.1
    dynamic_score_factor: float = 0.3
    dynamic_score_scale: float = 0.75
    value_weight_exponent: float = 0.25
    noise_prune_scale: float = 0.15
    subtree_value_bias_factor: float = 0.45
    subtree_value_bias_exponent: float = 0.85
    uncertainty_coefficient: float = 0.25
    uncertainty_max_weight: float = 8.0
    shares_nodes: bool = True
    policy_optimism: float = 1.0
    root_policy_optimism: float = 0.2
    playout_doubling_advantage: float = 0.0
    rave_bias: float = 0.0
    rave_prior: float = 30.0
    noise_fraction: float = 0.0
    noise_concentration: float = 10.83
    wide_root_noise: float = 0.0
    forced_playouts: float = 0.0
    root_policy_temperature: float = 1.0
    temperature: float = 0.0
    temperature_moves: int = 30
    lcb_stdevs: float = 5.0
    lcb_least_share: float = 0.15
    root_symmetries: int = 1
    random_symmetries: bool = True
    prunes_symmetric_moves: bool = True
    batch_size: int = 0
    max_memory_mib: int = 512
    stops_early: bool = True
    allow_resignation: bool = True
    resign_threshold: float = 0.05
    resign_turns: int = 3
    resign_min_lead: float = 0.0
    ponder_seconds: float = 60.0
    judge_visits: int = 3000
    seed: int = 1


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

RANGES: dict[str, tuple[float, float]] = {
    "c_puct": (0.0, 10.0),
    "c_puct_log": (0.0, 10.0),
    "c_puct_base": (10.0, 100000.0),
    "stdev_prior": (1e-8, 10.0),
    "stdev_prior_weight": (0.0, 100.0),
    "stdev_scale": (0.0, 1.0),
    "fpu_reduction": (0.0, 2.0),
    "root_fpu_reduction": (0.0, 2.0),
    "fpu_policy_power": (0.0, 5.0),
    "virtual_loss": (0.01, 1000.0),
    "static_score_factor": (0.0, 1.0),
    "dynamic_score_factor": (0.0, 1.0),
    "dynamic_score_scale": (0.2, 5.0),
    "value_weight_exponent": (0.0, 1.0),
    "noise_prune_scale": (0.0, 10.0),
    "subtree_value_bias_factor": (0.0, 1.0),
    "subtree_value_bias_exponent": (0.0, 1.0),
    "uncertainty_coefficient": (0.0, 1.0),
    "uncertainty_max_weight": (1.0, 100.0),
    "policy_optimism": (0.0, 1.0),
    "root_policy_optimism": (0.0, 1.0),
    "playout_doubling_advantage": (-3.0, 3.0),
    "rave_bias": (0.0, 100.0),
    "rave_prior": (0.0, 1e6),
    "noise_fraction": (0.0, 1.0),
    "noise_concentration": (0.001, 10000.0),
    "wide_root_noise": (0.0, 5.0),
    "forced_playouts": (0.0, 100.0),
    "root_policy_temperature": (0.01, 100.0),
    "temperature": (0.0, 100.0),
    "temperature_moves": (0, 1_000_000),
    "lcb_stdevs": (0.0, 12.0),
    "lcb_least_share": (0.0, 1.0),
    "root_symmetries": (1, 8),
    "batch_size": (0, 65536),
    "max_memory_mib": (1, 1 << 30),
    "resign_threshold": (0.0, 1.0),
    "resign_turns": (1, 100),
    "resign_min_lead": (0.0, 1000.0),
    "ponder_seconds": (0.0, 1e20),
    "judge_visits": (1, 1_000_000_000),
    "seed": (0, (1 << 63) - 1),
}
"""The least and the most of every number; KataGo's bounds, widened where a value turns something off."""

_WORDS = {"true": True, "false": False}


def with_settings(params: SearchParams, settings: dict[str, str]) -> SearchParams:
    """Return params with fields replaced from text. Raises GoError naming an unknown key or a bad value."""
    kinds = {field.name: type(getattr(params, field.name)) for field in fields(params)}
    changes: dict[str, float | int] = {}
    for key, text in settings.items():
        if key not in kinds:
            raise GoError(f"unknown setting {key!r}, expected one of {' '.join(sorted(kinds))}")
        try:
            changes[key] = _WORDS[text.lower()] if kinds[key] is bool else kinds[key](text)
        except (ValueError, KeyError):
            expected = "true or false" if kinds[key] is bool else kinds[key].__name__
            raise GoError(f"setting {key!r}: expected {expected}, got {text!r}") from None
        least, most = RANGES.get(key, (False, True))
        if not least <= changes[key] <= most:
            raise GoError(f"setting {key!r}: expected a number from {least:g} to {most:g}, got {text!r}")
    return replace(params, **changes)  # type: ignore[arg-type]
