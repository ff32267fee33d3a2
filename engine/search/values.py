"""What a node is worth: its own evaluation and its children's statistics, folded into one.

The formulas are KataGo's ("Other methods implemented in KataGo", github.com/lightvector/KataGo,
docs/KataGoMethods.md and docs/GraphSearch.md): a utility of winning and of points, children weighted by
how good they are, visits that noise caused pruned, and evaluations corrected by the errors seen after the
same local moves elsewhere in the tree. Statistics are computed anew from the children and not
accumulated, so that shared nodes are right whichever way they are reached.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.color import BLACK
from engine.native.jit import kernel
from engine.search.tree import NO_LINK, NO_SLOT, decoded_prior

_TABLE_MEANS, _TABLE_DEVIATIONS = 513, 97
_PER_MEAN, _PER_DEVIATION = 8.0, 8.0
"""Steps of the table of expected score values for each unit of mean and deviation."""
_STATIC_SCALE = 2.0
_CENTER_PULL = 0.8
_T_SCALE = math.sqrt(3.0)
_LEAST_WEIGHT = 1e-10
_BIAS_ENTRY_WEIGHT = 1e-3


class Values(NamedTuple):
    """The numbers of `SearchParams` that turn evaluations into utilities, and the board's size in them.

    score_table: see `score_table`. root_of_area: sqrt(width * height). score_center: points around which
    the dynamic part of the score utility is steepest, Black-positive.
    """

    score_table: NDArray[np.float32]
    root_of_area: float
    score_center: float
    static_score_factor: float
    dynamic_score_factor: float
    dynamic_score_scale: float
    value_weight_exponent: float
    noise_prune_scale: float
    bias_factor: float
    bias_exponent: float
    uncertainty_coefficient: float
    uncertainty_max_weight: float


def score_table() -> NDArray[np.float32]:
    """Return the expectation of 2/pi * atan(x) over x normal, [mean, deviation] float32.

    Means from -32 to 32 and deviations from 0 to 12 in steps of 1/8 (KataGo's score utility).
    """
    means = (np.arange(_TABLE_MEANS) - _TABLE_MEANS // 2) / _PER_MEAN
    deviations = np.arange(_TABLE_DEVIATIONS) / _PER_DEVIATION
    steps = np.linspace(-5.0, 5.0, 401)
    density = np.exp(-0.5 * steps**2)
    density /= density.sum()
    table = np.empty((_TABLE_MEANS, _TABLE_DEVIATIONS), dtype=np.float32)
    for column, deviation in enumerate(deviations):
        table[:, column] = np.arctan(means[:, None] + deviation * steps[None, :]) @ density
    return table * np.float32(2.0 / math.pi)


@kernel
def _expected(table: NDArray[np.float32], mean: float, deviation: float) -> float:
    """Return the table's value between its entries; beyond its ends that of the ends."""
    x = min(max(mean * _PER_MEAN + _TABLE_MEANS // 2, 0.0), _TABLE_MEANS - 1.001)
    y = min(deviation * _PER_DEVIATION, _TABLE_DEVIATIONS - 1.001)
    i, j = int(x), int(y)
    x -= i
    y -= j
    below = table[i, j] + y * (table[i, j + 1] - table[i, j])
    above = table[i + 1, j] + y * (table[i + 1, j + 1] - table[i + 1, j])
    return float(below + x * (above - below))


@kernel
def score_utility(values: Values, mean: float, mean_sq: float) -> float:
    """Return the utility of a margin in points of this mean and mean of squares, Black-positive."""
    static, dynamic = values.static_score_factor, values.dynamic_score_factor
    if static == 0.0 and dynamic == 0.0:
        return 0.0
    deviation = math.sqrt(max(mean_sq - mean * mean, 0.0))
    scale = _STATIC_SCALE * values.root_of_area
    utility = static * _expected(values.score_table, mean / scale, deviation / scale)
    scale = values.dynamic_score_scale * values.root_of_area
    return utility + dynamic * _expected(values.score_table, (mean - values.score_center) / scale, deviation / scale)


def score_center(expected: float, root_of_area: float, scale: float) -> float:
    """Return the center of the dynamic score utility for a root of this expected score."""
    cap = root_of_area * scale
    return min(max(expected * _CENTER_PULL, expected - cap), expected + cap)


@kernel
def playout_weight(values: Values, score: float, value_error: float, score_error: float) -> float:
    """Return what an evaluation weighs whose network expects such short-term errors; -1 for unknown ones."""
    if values.uncertainty_coefficient <= 0.0 or value_error < 0.0 or score_error < 0.0:
        return 1.0
    static, dynamic = values.static_score_factor, values.dynamic_score_factor
    scale = _STATIC_SCALE * values.root_of_area
    x = score / scale
    slope = static / (scale * (1.0 + x * x))
    scale = values.dynamic_score_scale * values.root_of_area
    x = (score - values.score_center) / scale
    slope += dynamic / (scale * (1.0 + x * x))
    uncertainty = value_error + slope * (2.0 / math.pi) * score_error
    baseline = values.uncertainty_coefficient / values.uncertainty_max_weight
    return values.uncertainty_coefficient / (uncertainty + baseline)


@kernel
def _student_t3(z: float) -> float:
    """Return the distribution function of Student's t with three degrees of freedom."""
    x = z / _T_SCALE
    return 0.5 + (x / (1.0 + x * x) + math.atan(x)) / math.pi


@kernel
def _prune_noise(
    weights: NDArray[np.float64],
    utilities: NDArray[np.float64],
    priors: NDArray[np.float64],
    count: int,
    total: float,
    scale: float,
) -> float:
    """Take weight from children that are worse than those before them and have more than their prior's double share.

    Returns the weight that is left.
    """
    if count <= 1 or total <= 1e-5:
        return total
    utility_sum, weight_sum, prior_sum = 0.0, 0.0, 0.0
    for i in range(count):
        weight = weights[i]
        if weight_sum > 0.0 and prior_sum > 0.0:
            gap = utility_sum / weight_sum - utilities[i]
            fair = 2.0 * weight_sum * priors[i] / prior_sum
            if gap > 0.0 and weight > fair:
                weight -= (weight - fair) * (1.0 - math.exp(-gap / scale))
                weights[i] = weight
        utility_sum += utilities[i] * weight
        weight_sum += weight
        prior_sum += priors[i]
    return weight_sum


@kernel
def _weigh_by_value(
    weights: NDArray[np.float64], utilities: NDArray[np.float64], count: int, total: float, exponent: float
) -> None:
    """Shift weight from bad children to good ones; the sum stays."""
    mean = 0.0
    for i in range(count):
        mean += utilities[i] * weights[i]
    mean /= total
    new_total = 0.0
    for i in range(count):
        if weights[i] > 0.0:
            deviation = math.sqrt(1e-8 + 1.0 / (1.5 * math.sqrt(weights[i])))
            weights[i] *= (_student_t3((utilities[i] - mean) / deviation) + 1e-4) ** exponent
            new_total += weights[i]
    for i in range(count):
        weights[i] *= total / new_total


@kernel
def corrected(
    values: Values,
    nodes: NDArray[np.void],
    bias_sums: NDArray[np.float64],
    node: int,
    child_weight: float,
    child_utility: float,
) -> float:
    """Return a node's own utility, corrected by the errors of its local pattern; note its own error there.

    child_weight, child_utility: sum of weights and mean utility of its children; 0 without any.
    """
    each = nodes[node]
    each.raw_utility = each.raw_value + score_utility(values, each.raw_score, each.raw_score_sq)
    slot = each.bias_slot
    if slot == NO_SLOT or values.bias_factor == 0.0:
        return float(each.raw_utility)
    if child_weight > _LEAST_WEIGHT:
        weight = child_weight**values.bias_exponent
        delta = (child_utility - each.raw_utility) * weight
        bias_sums[slot, 0] += delta - each.bias_delta
        bias_sums[slot, 1] += weight - each.bias_weight
        each.bias_delta = delta
        each.bias_weight = weight
    if bias_sums[slot, 1] <= _BIAS_ENTRY_WEIGHT:
        return float(each.raw_utility)
    return float(each.raw_utility + values.bias_factor * bias_sums[slot, 0] / bias_sums[slot, 1])


@kernel
def recompute(
    values: Values,
    nodes: NDArray[np.void],
    links: NDArray[np.void],
    prior_codes: NDArray[np.uint16],
    bias_sums: NDArray[np.float64],
    node: int,
    work: NDArray[np.float64],
) -> None:
    """Compute a node's statistics from its own evaluation and its children's.

    prior_codes: [E], the node's row of `edge_prior`. work: [3, E] float64.
    """
    parent = nodes[node]
    sign = 1.0 if parent.to_play == BLACK else -1.0
    weights, utilities, priors = work[0], work[1], work[2]
    count, total, edge = 0, 0.0, 0
    link = parent.first_link
    while link != NO_LINK:
        each = links[link]
        child = nodes[each.child]
        weights[edge] = 0.0
        utilities[edge] = 0.0
        priors[edge] = max(decoded_prior(prior_codes[edge]), 1e-30)
        if child.visits > 0 and each.visits > 0:
            weights[edge] = child.weight * each.visits / child.visits
            utilities[edge] = sign * child.utility
            total += weights[edge]
        edge += 1
        link = each.next
    count, child_weight = edge, total
    if total > _LEAST_WEIGHT:
        if values.noise_prune_scale > 0.0:
            total = _prune_noise(weights, utilities, priors, count, total, values.noise_prune_scale)
        if values.value_weight_exponent > 0.0:
            _weigh_by_value(weights, utilities, count, total, values.value_weight_exponent)
    value, no_result, score, score_sq, lead = 0.0, 0.0, 0.0, 0.0, 0.0
    utility, utility_sq, weight_sq = 0.0, 0.0, 0.0
    link = parent.first_link
    for i in range(count):
        each = links[link]
        weight = weights[i]
        if weight > 0.0:
            child = nodes[each.child]
            value += weight * child.value
            no_result += weight * child.no_result
            score += weight * child.score
            score_sq += weight * child.score_sq
            lead += weight * child.lead
            utility += weight * child.utility
            utility_sq += weight * child.utility_sq
            share = weight / child.weight
            weight_sq += share * share * child.weight_sq
        link = each.next
    mean = utility / total if total > _LEAST_WEIGHT else 0.0
    own = corrected(values, nodes, bias_sums, node, child_weight, mean)
    weight = parent.raw_weight
    total += weight
    parent.weight = total
    parent.weight_sq = weight_sq + parent.raw_weight_sq
    parent.value = (value + weight * parent.raw_value) / total
    parent.no_result = (no_result + weight * parent.raw_no_result) / total
    parent.score = (score + weight * parent.raw_score) / total
    parent.score_sq = (score_sq + weight * parent.raw_score_sq) / total
    parent.lead = (lead + weight * parent.raw_lead) / total
    parent.utility = (utility + weight * own) / total
    parent.utility_sq = (utility_sq + weight * (own * own + parent.raw_spread)) / total


@kernel
def set_own_value(
    values: Values,
    nodes: NDArray[np.void],
    bias_sums: NDArray[np.float64],
    node: int,
    visits: int,
) -> None:
    """Make a childless node's statistics those of its own evaluation, seen so many times."""
    each = nodes[node]
    own = corrected(values, nodes, bias_sums, node, 0.0, 0.0)
    each.visits = visits
    each.weight = each.raw_weight * visits
    each.weight_sq = each.raw_weight_sq * visits
    each.value = each.raw_value
    each.no_result = each.raw_no_result
    each.score = each.raw_score
    each.score_sq = each.raw_score_sq
    each.lead = each.raw_lead
    each.utility = own
    each.utility_sq = own * own
