"""From `SearchParams` to the numbers that kernels read."""

from math import sqrt

from engine.search.params import SearchParams
from engine.search.selection import Exploration
from engine.search.values import Values, score_center, score_table

_SCORE_TABLE = score_table()


def utility_radius(params: SearchParams) -> float:
    """Return the largest utility there is."""
    return 1.0 + params.static_score_factor + params.dynamic_score_factor


def exploration_of(params: SearchParams) -> Exploration:
    """Return the numbers that choose edges."""
    return Exploration(
        params.c_puct,
        params.c_puct_log,
        params.c_puct_base,
        params.stdev_prior,
        params.stdev_prior_weight,
        params.stdev_scale,
        params.fpu_reduction,
        params.root_fpu_reduction,
        params.fpu_policy_power,
        params.virtual_loss,
        params.wide_root_noise,
        params.rave_bias,
        params.rave_prior,
        utility_radius(params),
        params.forced_playouts,
    )


def values_of(params: SearchParams, area: int, expected_score: float, *, has_details: bool) -> Values:
    """Return the numbers that value nodes, at a root of this expected score in points, Black-positive."""
    size = sqrt(area)
    return Values(
        score_table=_SCORE_TABLE,
        root_of_area=size,
        score_center=score_center(expected_score, size, params.dynamic_score_scale),
        static_score_factor=params.static_score_factor,
        dynamic_score_factor=params.dynamic_score_factor,
        dynamic_score_scale=params.dynamic_score_scale,
        value_weight_exponent=params.value_weight_exponent,
        noise_prune_scale=params.noise_prune_scale,
        bias_factor=params.subtree_value_bias_factor,
        bias_exponent=params.subtree_value_bias_exponent,
        uncertainty_coefficient=params.uncertainty_coefficient if has_details else 0.0,
        uncertainty_max_weight=params.uncertainty_max_weight,
    )
