"""Chooses the edge of a walk: PUCT in KataGo's form, with first-play urgency and virtual loss.

The formula is from Silver et al., "Mastering the game of Go without human knowledge" (2017); the dynamic and
variance-scaled factor, the urgency of unvisited moves and wide root noise are KataGo's (docs/KataGoMethods.md); forced
playouts are from Wu, "Accelerating self-play learning in Go" (2019), section 3.2.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.search.tree import Tree, decoded_prior

_OFFSET = 0.01
"""Added to the weight of the children, so that priors count before the first visit of a child."""
_LEAST_CHILD_WEIGHT = 0.25
_NO_EDGE = -1
_FORCED = 1e20
"""Larger than every value: the value of a move that has not had its forced playouts."""
_XORSHIFT = np.uint64(0x2545F4914F6CDD1D)
_UNIT = 1.0 / (1 << 53)


@kernel
def _random_unit(numbers: Any) -> float:
    """Return a random number in [0, 1) (xorshift64*, Vigna 2016)."""
    state = numbers.generator
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    numbers.generator = state
    return float((state * _XORSHIFT) >> np.uint64(11)) * _UNIT


@kernel
def _noise_bonus(numbers: Any, width: float) -> float:
    """Return the absolute value of a normal number of deviation `width` (Box-Muller), or 0 half of the time."""
    if _random_unit(numbers) < 0.5:
        return 0.0
    radius = math.sqrt(-2.0 * math.log(1.0 - _random_unit(numbers)))
    return width * abs(radius * math.cos(2.0 * math.pi * _random_unit(numbers)))


@kernel
def scaling(numbers: Any, parent: Any, total: float) -> float:
    """Return the factor of priors (c_puct) for a parent whose children have the total weight `total`."""
    e = numbers
    deviation = e.stdev_prior
    if parent.visits > 0 and parent.weight > 1.0:
        square = parent.utility * parent.utility
        seen = max(parent.utility_sq, square) * parent.weight
        variance = ((square + e.stdev_prior**2) * e.stdev_prior_weight + seen) / (
            e.stdev_prior_weight + parent.weight - 1.0
        ) - square
        deviation = math.sqrt(max(variance, 0.0))
    factor = 1.0 + e.stdev_scale * (deviation / e.stdev_prior - 1.0)
    c_puct = e.c_puct + e.c_puct_log * math.log((total + e.c_puct_base) / e.c_puct_base)
    return float(c_puct * math.sqrt(total + _OFFSET) * factor)


@kernel
def _with_rave(value: float, visits: float, rave: float, rave_value: float, bias: float) -> float:
    """Return a value mixed with the all-moves-as-first value of `rave` visits (Silver 2009)."""
    if rave <= 0.0:
        return value
    return value + rave / (rave + visits + bias * rave * visits) * (rave_value / rave - value)


# More than 60 lines: the parts share a dozen local variables, which helpers would have to take and return.
@kernel
def choose_edge(
    tree: Tree,
    numbers: Any,
    node: int,
    depth: int,
    avoid: NDArray[np.int16],
    avoid_depth: int,
) -> int:
    """Return the edge with the largest value plus exploration, visited or not; -1 if no edge is allowed.

    avoid: [3, n], by color and vertex the depth below which a move must not be played. avoid_depth: its maximum.
    """
    e, nodes, links = numbers, tree.nodes, tree.links
    edge_vertex, edge_prior = tree.edge_vertex[node], tree.edge_prior[node]
    parent = nodes[node]
    color, children, edges = parent.to_play, parent.children, parent.edges
    sign = black_value(1.0, color)
    has_rave = tree.rave_visits.shape[0] > 0
    noise = e.wide_root_noise if depth == 0 else 0.0
    power = 1.0 / (4.0 * noise + 1.0)
    forced = e.forced_playouts if depth == 0 else 0.0
    # First pass: the sums over the children that the exploration of every edge depends on.
    total, seen_prior = 0.0, 0.0
    link = parent.first_link
    for edge in range(children):
        each = links[link]
        child = nodes[each.child]
        seen_prior += decoded_prior(edge_prior[edge])
        if child.visits > 0:
            total += child.weight * each.visits / child.visits
        link = each.next
    scale = scaling(e, parent, total)
    share = min(1.0, seen_prior**e.fpu_policy_power) if e.fpu_policy_power > 0.0 else 1.0
    urgency = sign * (share * parent.utility + (1.0 - share) * parent.raw_utility)
    reduction = e.root_fpu_reduction if depth == 0 else e.fpu_reduction
    urgency -= reduction * math.sqrt(seen_prior)
    best, best_value = _NO_EDGE, -1e30
    link = parent.first_link
    for edge in range(children):
        each = links[link]
        link = each.next
        if depth < avoid_depth and depth < avoid[color, edge_vertex[edge]]:
            continue
        child = nodes[each.child]
        value, weight = urgency, 0.0
        if child.visits > 0:
            weight = child.weight * each.visits / child.visits
            value = sign * child.utility
        if child.pending > 0:
            # Virtual loss: pending visits count as lost ones, so that other walks choose other moves.
            lost = e.virtual_loss * child.pending
            value += (-e.utility_radius - value) * lost / (lost + max(_LEAST_CHILD_WEIGHT, weight))
            weight += lost
        if has_rave:
            rave, rave_value = tree.rave_visits[node, edge], sign * tree.rave_value[node, edge]
            value = _with_rave(value, weight, rave, rave_value, e.rave_bias)
        prior = decoded_prior(edge_prior[edge])
        if noise > 0.0:
            # KataGo's wide root noise: flatter priors, and a bonus for some moves in each walk.
            prior **= power
            value += _noise_bonus(numbers, noise)
        value += scale * prior / (1.0 + weight)
        if forced > 0.0 and child.visits > 0 and weight < math.sqrt(forced * prior * total):
            value = _FORCED
        if value > best_value:
            best, best_value = edge, value
    # Unvisited edges are sorted by prior and share one value, so without all-moves-as-first values only the first that
    # is allowed can win: on 19x19 one edge is examined instead of about 360.
    for edge in range(children, edges):
        if depth < avoid_depth and depth < avoid[color, edge_vertex[edge]]:
            continue
        value, prior = urgency, decoded_prior(edge_prior[edge])
        if has_rave and tree.rave_visits[node, edge] > 0.0:
            rave = tree.rave_visits[node, edge]
            value = (value * e.rave_prior + sign * tree.rave_value[node, edge]) / (e.rave_prior + rave)
        if noise > 0.0:
            prior **= power
            value += _noise_bonus(numbers, noise)
        value += scale * prior
        if value > best_value:
            best, best_value = edge, value
        if not has_rave:
            break
    return best


@kernel
def link_at(tree: Tree, node: int, edge: int) -> int:
    """Return the link of a visited edge, by following the list of links."""
    link = tree.nodes[node].first_link
    for _ in range(edge):
        link = tree.links[link].next
    return int(link)
