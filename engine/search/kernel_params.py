"""`SearchParams` in the form that kernels read: one record for each tree."""

import math
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from engine.search.params import SearchParams

_COPIED = (
    *("c_puct", "c_puct_log", "c_puct_base", "stdev_prior", "stdev_prior_weight", "stdev_scale"),
    *("fpu_reduction", "root_fpu_reduction", "fpu_policy_power", "virtual_loss", "wide_root_noise", "rave_bias"),
    *("fpu_loss_share", "root_fpu_loss_share", "fpu_by_visited_policy", "fpu_parent_weight", "win_loss_factor"),
    *("no_result_utility", "noise_prune_cap", "uncertainty_exponent", "catch_up_leak", "policy_temperature"),
    *("subtree_value_bias_free_share", "ignores_all_past", "conservative_pass"),
    *("human_c_puct", "human_c_puct_permanent", "human_root_weightless", "human_root_weightful"),
    *("human_own_weightless", "human_own_weightful", "human_opponent_weightless", "human_opponent_weightful"),
    *("rave_prior", "forced_playouts", "static_score_factor", "dynamic_score_factor", "dynamic_score_scale"),
    *("value_weight_exponent", "noise_prune_scale", "subtree_value_bias_factor", "subtree_value_bias_exponent"),
    *("uncertainty_coefficient", "uncertainty_max_weight", "policy_optimism", "root_policy_optimism"),
    *("shares_nodes", "ends_settled"),
)
"""Fields of `SearchParams` that are copied to the records; a switch is 0.0 or 1.0 there."""
assert set(_COPIED) <= {field.name for field in fields(SearchParams)}

KERNEL_PARAMS = np.dtype(
    [
        *((name, np.float64) for name in _COPIED),
        ("utility_radius", np.float64),
        ("root_of_area", np.float64),
        ("score_center", np.float64),
        ("terminal_weight", np.float64),
        ("doubt", np.float64),
        ("visits", np.int64),
        ("evaluated", np.int64),
        ("in_flight", np.int64),
        ("seed", np.int64),
        ("remember_visits", np.int64),
        ("memory_seed", np.uint64),
        ("skips_pending", np.int64),
        ("skips_past", np.int64),
        ("is_weightless", np.int64),
        ("chosen_link", np.int64),
        ("mirror_color", np.int64),
        ("mirror_center", np.int64),
        ("mirror_broken", np.int64),
        ("mirror_lead", np.float64),
        ("mirror_error", np.float64),
        ("symmetries", np.int64),
        ("symmetry_seed", np.uint64),
        ("generator", np.uint64),
    ],
    align=True,
)
"""The parameters and counters of one search. Besides the fields of `SearchParams`:

utility_radius: the largest possible utility. root_of_area: sqrt(width * height). score_center: points around which the
    dynamic part of the score utility is steepest, Black-positive.
terminal_weight: weight of a finished game. doubt: points by which the score of a finished game may differ from the
    evaluator's expectation before the last pass; with a larger difference the expectation is used: under territory
    rules a score counts dead stones that were not captured as alive. 0 always uses the score.
visits: number of root visits at which the search ends, those of earlier searches included. in_flight: leaves under
    evaluation. evaluated: leaves of this search; with seed it determines the seed of each leaf, for evaluators that
    draw random numbers.
skips_pending: whether walks choose among the other moves where a leaf under evaluation is best, instead of ending.
skips_past: whether leaves are written without what no playout reads, see `Attributes.reads_past`.
is_weightless, chosen_link: written by `choose_edge`: whether its choice must not count for the value of the node, and
    the link of a visited edge.
mirror_*: of an opponent who mirrors, see `engine.search.mirror.Mirror`; mirror_broken: written by `collect`: the
    first move of the walk that is the opponent's and does not mirror the one before it.
remember_visits, memory_seed: see `engine.search.memory`.
symmetries: number of symmetries of the board, one of which each leaf is evaluated under; 1 for none. symmetry_seed:
    determines the symmetry, with the hash of the position. generator: state of the walks' random numbers, never 0.
"""
NO_LIMIT = (1 << 31) - (1 << 16)
"""Number of visits that means no limit."""

TABLE_MEANS, TABLE_DEVIATIONS = 513, 97
STEPS = 8.0
"""Entries of the table of expected score values for each unit of mean and of deviation."""
_SPREAD, _FINENESS = 5, 40
"""The expectation is taken over this many deviations to both sides, in this many steps for each deviation."""


class Params(NamedTuple):
    """numbers: one record of KERNEL_PARAMS. score_table: see `score_table`; too large to be stored in each record."""

    numbers: Any
    score_table: NDArray[np.float32]


def score_table() -> NDArray[np.float32]:
    """Return the expectation of 2/pi * atan(x) over x normal, [mean, deviation] float32.

    Means from -32 to 32 and deviations from 0 to 12 in steps of 1/8 (KataGo's score utility).
    """
    # The expectation is a sum over steps of 1/40 deviation, so every x is a multiple of 1/320: 58,881 arctangents
    # instead of 20 million, which took 0.5 s of each start where NumPy computes them one by one (AVX2).
    middle, side = TABLE_MEANS // 2, _SPREAD * _FINENESS
    density = np.exp(-0.5 * (np.arange(-side, side + 1) / _FINENESS) ** 2)
    density /= density.sum()
    farthest = _FINENESS * middle + side * (TABLE_DEVIATIONS - 1)
    arctan = np.arctan(np.arange(-farthest, farthest + 1) / (STEPS * _FINENESS))
    table = np.empty((TABLE_MEANS, TABLE_DEVIATIONS), dtype=np.float32)
    for deviation in range(TABLE_DEVIATIONS):
        first = farthest - _FINENESS * middle - side * deviation
        strides = _FINENESS * arctan.itemsize, deviation * arctan.itemsize
        values = as_strided(arctan[first:], (TABLE_MEANS, len(density)), strides, writeable=False)
        table[:, deviation] = values @ density
    return table * np.float32(2.0 / math.pi)


SCORE_TABLE = score_table()


def utility_radius(params: SearchParams) -> float:
    """Return the largest possible utility."""
    return params.win_loss_factor + params.static_score_factor + params.dynamic_score_factor


def new_records(count: int) -> NDArray[np.void]:
    """Return records of KERNEL_PARAMS for some trees."""
    records = np.zeros(count, dtype=KERNEL_PARAMS)
    records["symmetries"] = records["generator"] = 1
    return records


def write_params(
    record: np.void, params: SearchParams, area: int, expected_score: float = 0.0, *, has_details: bool = False
) -> None:
    """Write the parameters into a record of KERNEL_PARAMS; counters and seeds are not changed.

    expected_score: the root's, in points, Black-positive. has_details: attribute of the evaluator.
    """
    for name in _COPIED:
        record[name] = getattr(params, name)
    size = math.sqrt(area)
    record["utility_radius"], record["root_of_area"] = utility_radius(params), size
    record["score_center"] = score_center(expected_score, size, params)
    if not (has_details and params.uses_uncertainty):
        record["uncertainty_coefficient"] = 0.0
    if not params.prunes_noise:
        record["noise_prune_scale"] = 0.0
    is_weighted = record["uncertainty_coefficient"] > 0.0
    record["terminal_weight"] = params.uncertainty_max_weight if is_weighted else 1.0


def params_of(params: SearchParams, area: int = 1, expected_score: float = 0.0, *, has_details: bool = False) -> Params:
    """Return parameters for a single call of a kernel."""
    records = new_records(1)
    write_params(records[0], params, area, expected_score, has_details=has_details)
    return Params(records[0], SCORE_TABLE)


def score_center(expected: float, root_of_area: float, params: SearchParams) -> float:
    """Return the center of the dynamic score utility for a root with this expected score (KataGo)."""
    cap = root_of_area * params.dynamic_score_scale
    return min(max(expected * (1.0 - params.dynamic_score_zero_weight), expected - cap), expected + cap)
