"""Computes the statistics of a node from its own evaluation and its children's statistics.

The formulas are KataGo's ("Other methods implemented in KataGo", github.com/lightvector/KataGo, docs/KataGoMethods.md
and docs/GraphSearch.md): a utility of winning and of points, children weighted by their value, visits caused by noise
pruned, and evaluations corrected by the errors seen after the same local moves elsewhere in the tree. Statistics are
recomputed from the children and not accumulated, so that a shared node is right for every path that leads to it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.search.kernel_params import STEPS, TABLE_DEVIATIONS, TABLE_MEANS, Params
from engine.search.tree import NO_SLOT, ROOT, decoded_prior

_STATIC_SCALE = 2.0
_T_SCALE = math.sqrt(3.0)
_LEAST_WEIGHT = 1e-10
_BIAS_ENTRY_WEIGHT = 1e-3


@kernel
def _expected(table: NDArray[np.float32], mean: float, deviation: float) -> float:
    """Interpolate the score table bilinearly; arguments beyond its ends are clipped."""
    x = min(max(mean * STEPS + TABLE_MEANS // 2, 0.0), TABLE_MEANS - 1.001)
    y = min(deviation * STEPS, TABLE_DEVIATIONS - 1.001)
    i, j = int(x), int(y)
    x -= i
    y -= j
    below = table[i, j] + y * (table[i, j + 1] - table[i, j])
    above = table[i + 1, j] + y * (table[i + 1, j + 1] - table[i + 1, j])
    return float(below + x * (above - below))


@kernel
def score_utility(params: Params, mean: float, mean_sq: float) -> float:
    """Return the utility of a score with this mean and mean square, in points, Black-positive."""
    numbers, table = params.numbers, params.score_table
    static, dynamic = numbers.static_score_factor, numbers.dynamic_score_factor
    if static == 0.0 and dynamic == 0.0:
        return 0.0
    deviation = math.sqrt(max(mean_sq - mean * mean, 0.0))
    scale = _STATIC_SCALE * numbers.root_of_area
    utility = static * _expected(table, mean / scale, deviation / scale)
    scale = numbers.dynamic_score_scale * numbers.root_of_area
    return float(utility + dynamic * _expected(table, (mean - numbers.score_center) / scale, deviation / scale))


@kernel
def playout_weight(params: Params, score: float, value_error: float, score_error: float) -> float:
    """Return the weight of an evaluation with these expected short-term errors (-1: unknown)."""
    numbers = params.numbers
    if numbers.uncertainty_coefficient <= 0.0 or value_error < 0.0 or score_error < 0.0:
        return 1.0
    static, dynamic = numbers.static_score_factor, numbers.dynamic_score_factor
    scale = _STATIC_SCALE * numbers.root_of_area
    x = score / scale
    slope = static / (scale * (1.0 + x * x))
    scale = numbers.dynamic_score_scale * numbers.root_of_area
    x = (score - numbers.score_center) / scale
    slope += dynamic / (scale * (1.0 + x * x))
    uncertainty = numbers.win_loss_factor * value_error + slope * (2.0 / math.pi) * score_error
    if numbers.uncertainty_exponent != 1.0:
        uncertainty **= numbers.uncertainty_exponent
    baseline = numbers.uncertainty_coefficient / numbers.uncertainty_max_weight
    return float(numbers.uncertainty_coefficient / (uncertainty + baseline))


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
    cap: float,
) -> float:
    """Reduce the weight of children that are worse than those before them and exceed twice the share of their prior.

    Returns the remaining total weight.
    """
    if count <= 1 or total <= 1e-5:
        return total
    utility_sum, weight_sum, prior_sum = 0.0, 0.0, 0.0
    # In the order of first visits, roughly that of the priors: each child is compared with those before it.
    for i in range(count):
        weight = weights[i]
        if weight_sum > 0.0 and prior_sum > 0.0:
            gap = utility_sum / weight_sum - utilities[i]
            fair = 2.0 * weight_sum * priors[i] / prior_sum
            if gap > 0.0 and weight > fair:
                weight -= min((weight - fair) * (1.0 - math.exp(-gap / scale)), cap)
                weights[i] = weight
        utility_sum += utilities[i] * weight
        weight_sum += weight
        prior_sum += priors[i]
    return weight_sum


@kernel
def _weigh_by_value(
    weights: NDArray[np.float64], utilities: NDArray[np.float64], count: int, total: float, exponent: float
) -> None:
    """Shift weight from bad children to good ones, keeping the sum."""
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
    params: Params,
    nodes: NDArray[np.void],
    bias_sums: NDArray[np.float64],
    node: int,
    child_weight: float,
    child_utility: float,
) -> float:
    """Write a node's own utility, and its own error into the entry of its local pattern; return the utility corrected.

    child_weight, child_utility: total weight and mean utility of its children; 0 without children.
    """
    each = nodes[node]
    result = params.numbers.win_loss_factor * each.raw_value - params.numbers.no_result_utility * each.raw_no_result
    each.raw_utility = result + score_utility(params, each.raw_score, each.raw_score_sq)
    slot = each.bias_slot
    if slot == NO_SLOT or params.numbers.subtree_value_bias_factor == 0.0:
        return float(each.raw_utility)
    # The node's old contribution is replaced, not added to: a node is recomputed after every visit.
    if child_weight > _LEAST_WEIGHT:
        weight = child_weight**params.numbers.subtree_value_bias_exponent
        delta = (child_utility - each.raw_utility) * weight
        bias_sums[slot, 0] += delta - each.bias_delta
        bias_sums[slot, 1] += weight - each.bias_weight
        each.bias_delta = delta
        each.bias_weight = weight
    if bias_sums[slot, 1] <= _BIAS_ENTRY_WEIGHT:
        return float(each.raw_utility)
    return float(each.raw_utility + params.numbers.subtree_value_bias_factor * bias_sums[slot, 0] / bias_sums[slot, 1])


@kernel
def utility_of(params: Params, value: float, no_result: float, score: float, score_sq: float) -> float:
    """Return the utility of mean values, Black-positive. score, score_sq: mean score and mean square, in points."""
    result = params.numbers.win_loss_factor * value - params.numbers.no_result_utility * no_result
    return float(result + score_utility(params, score, score_sq))


@kernel
def pull(params: Params, each: Any, entries: NDArray[np.void], visits: int, is_leaf: bool) -> None:
    """Move the values of a node toward those of its entry. is_leaf: its utility follows from its own evaluation.

    entries: [M] MEMORY, see `engine.search.memory`. The formula is KataGo's (cpp/search/searchupdatehelpers.cpp).
    """
    entry, numbers = entries[each.memory_slot], params.numbers
    # The table may have lost the entry to another position.
    if entry.key != each.memory_key or entry.weight <= 0.0:
        return
    weight = entry.weight
    # The entries of nodes below have pulled, too, so that heavy ones would count twice (KataGo).
    if weight > numbers.remember_visits:
        weight = math.sqrt(numbers.remember_visits * weight)
    ratio = visits / weight
    share = 1.0 / (1.0 + 3.0 * ratio * (1.0 + 2.0 * ratio * ratio))
    old_utility = utility_of(params, each.value, each.no_result, each.score, each.score_sq) if is_leaf else 0.0
    old_score = each.score
    each.value += share * (entry.value - each.value)
    each.no_result += share * (entry.no_result - each.no_result)
    each.score += share * (entry.score - each.score)
    each.score_sq = max(0.0, each.score_sq - old_score * old_score + each.score * each.score)
    each.lead += share * (entry.lead - each.lead)
    before = each.utility
    if is_leaf:
        each.utility += utility_of(params, each.value, each.no_result, each.score, each.score_sq) - old_utility
    else:
        square = max(0.0, each.score_sq - each.score * each.score + entry.score * entry.score)
        found = utility_of(params, entry.value, entry.no_result, entry.score, square)
        each.utility += share * (found - each.utility)
    each.utility_sq += each.utility * each.utility - before * before


# More than 60 lines: the parts share a dozen local variables, which helpers would have to take and return.
@kernel
def recompute(
    params: Params,
    nodes: NDArray[np.void],
    links: NDArray[np.void],
    prior_codes: NDArray[np.uint16],
    bias_sums: NDArray[np.float64],
    node: int,
    work: NDArray[np.float64],
    memory: NDArray[np.void],
) -> None:
    """Compute a node's statistics from its own evaluation and its children's.

    prior_codes: [E], the node's row of `edge_prior`. work: [3, E] float64 working memory. memory: see `Tree`.
    """
    parent = nodes[node]
    sign = black_value(1.0, parent.to_play)
    weights, utilities, priors = work[0], work[1], work[2]
    count, total = parent.children, 0.0
    # Unsigned, so that an index needs no check for counting from the end.
    link = np.uint32(parent.first_link)
    for edge in range(count):
        each = links[link]
        child = nodes[np.uint32(each.child)]
        weights[edge] = 0.0
        utilities[edge] = 0.0
        priors[edge] = max(decoded_prior(prior_codes[edge]), 1e-30)
        if child.visits > 0 and each.visits > 0:
            # A shared child counts by the visits of this link only.
            weights[edge] = child.weight * each.visits / child.visits
            utilities[edge] = sign * child.utility
            total += weights[edge]
        link = np.uint32(each.next)
    child_weight = total
    if total > _LEAST_WEIGHT:
        if params.numbers.noise_prune_scale > 0.0:
            total = _prune_noise(
                weights,
                utilities,
                priors,
                count,
                total,
                params.numbers.noise_prune_scale,
                params.numbers.noise_prune_cap,
            )
        if params.numbers.value_weight_exponent > 0.0:
            _weigh_by_value(weights, utilities, count, total, params.numbers.value_weight_exponent)
    value, no_result, score, score_sq, lead = 0.0, 0.0, 0.0, 0.0, 0.0
    utility, utility_sq, weight_sq = 0.0, 0.0, 0.0
    link = np.uint32(parent.first_link)
    for i in range(count):
        each = links[link]
        weight = weights[i]
        if weight > 0.0:
            child = nodes[np.uint32(each.child)]
            value += weight * child.value
            no_result += weight * child.no_result
            score += weight * child.score
            score_sq += weight * child.score_sq
            lead += weight * child.lead
            utility += weight * child.utility
            utility_sq += weight * child.utility_sq
            share = weight / child.weight
            weight_sq += share * share * child.weight_sq
        link = np.uint32(each.next)
    mean = utility / total if total > _LEAST_WEIGHT else 0.0
    own = corrected(params, nodes, bias_sums, node, child_weight, mean)
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
    if parent.shape_bonus != 0.0:
        before = parent.utility
        parent.utility += parent.shape_bonus
        parent.utility_sq += parent.utility * parent.utility - before * before
    if parent.memory_slot >= 0 and node != ROOT:
        pull(params, parent, memory, parent.visits, False)


@kernel
def set_own_value(
    params: Params,
    nodes: NDArray[np.void],
    bias_sums: NDArray[np.float64],
    node: int,
    visits: int,
    memory: NDArray[np.void],
) -> None:
    """Set the statistics of a node without children to its own evaluation, with a number of visits."""
    each = nodes[node]
    own = corrected(params, nodes, bias_sums, node, 0.0, 0.0) + each.shape_bonus
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
    if each.memory_slot >= 0 and node != ROOT:
        pull(params, each, memory, 1, True)
