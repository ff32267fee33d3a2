"""Chooses the edge of a walk: PUCT in KataGo's form, with first-play urgency and virtual loss.

The formula is from Silver et al., "Mastering the game of Go without human knowledge" (2017); the dynamic and
variance-scaled factor, the urgency of unvisited moves, wide root noise and exploration by a human policy are KataGo's
(docs/KataGoMethods.md, docs/Analysis_Engine.md); forced playouts are from Wu, "Accelerating self-play learning in Go"
(2019), section 3.2.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.board.layout import Board
from engine.color import EMPTY
from engine.evaluation.evaluation import black_value
from engine.native.jit import kernel
from engine.search.kernel_params import Params
from engine.search.mirror import MirroredNode, mirror_prior, mirror_value, mirrored_answer
from engine.search.tree import NO_SLOT, ROOT, Tree, decoded_prior
from engine.search.values import utility_of

_OFFSET = 0.01
"""Added to the weight of the children, so that priors count before the first visit of a child."""
_LEAST_CHILD_WEIGHT = 0.25
_NO_EDGE = -1
_LEAST_VALUE = -1e30
_OWN, _HUMAN, _WEIGHTLESS = range(3)
"""Policies that choose a move: the playing network's, the human one, and that one for a playout that does not count."""
_FORCED = 1e20
"""Larger than every value: the value of a move that has not had its forced playouts."""
_XORSHIFT = np.uint64(0x2545F4914F6CDD1D)
_UNIT = 1.0 / (1 << 53)


@kernel
def random_unit(numbers: Any) -> float:
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
    if random_unit(numbers) < 0.5:
        return 0.0
    radius = math.sqrt(-2.0 * math.log(1.0 - random_unit(numbers)))
    return width * abs(radius * math.cos(2.0 * math.pi * random_unit(numbers)))


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
def human_scaling(numbers: Any, total: float) -> float:
    """Return the factor of human priors for a parent whose children have the total weight `total` (KataGo)."""
    c_puct = numbers.human_c_puct + numbers.human_c_puct_permanent * math.sqrt(total)
    return float(c_puct * math.sqrt(total + _OFFSET))


@kernel
def _urgency(numbers: Any, parent: Any, seen_prior: float, is_root: bool) -> float:
    """Return the utility of unvisited moves, for the side to move (first-play urgency)."""
    e, sign = numbers, black_value(1.0, parent.to_play)
    share = 1.0
    if e.fpu_by_visited_policy == 0.0:
        share = 1.0 - e.fpu_parent_weight
    elif e.fpu_policy_power > 0.0:
        share = min(1.0, seen_prior**e.fpu_policy_power)
    value = sign * (share * parent.utility + (1.0 - share) * parent.raw_utility)
    reduction = e.root_fpu_reduction if is_root else e.fpu_reduction
    value -= reduction * math.sqrt(seen_prior)
    loss = e.root_fpu_loss_share if is_root else e.fpu_loss_share
    return float(value + (-e.utility_radius - value) * loss)


@kernel
def _drawn_policy(tree: Tree, numbers: Any, node: int, depth: int) -> int:
    """Draw the policy that chooses a move at a node: _OWN, _HUMAN or _WEIGHTLESS (KataGo's human exploration)."""
    if tree.human_prior.shape[0] == 0 or tree.nodes[node].has_human == 0:
        return _OWN
    e = numbers
    weightless, weightful = e.human_opponent_weightless, e.human_opponent_weightful
    if depth == 0:
        weightless, weightful = e.human_root_weightless, e.human_root_weightful
    elif tree.nodes[node].to_play == tree.nodes[ROOT].to_play:
        weightless, weightful = e.human_own_weightless, e.human_own_weightful
    if weightless + weightful <= 0.0:
        return _OWN
    drawn = random_unit(numbers)
    if drawn < weightless:
        return _WEIGHTLESS
    return _HUMAN if drawn < weightless + weightful else _OWN


@kernel
def _best_unvisited(
    tree: Tree, codes: NDArray[np.uint16], node: int, depth: int, avoid: NDArray[np.int16], avoid_depth: int
) -> int:
    """Return the unvisited edge with the best prior that is allowed; -1 if there is none."""
    parent, edge_vertex = tree.nodes[node], tree.edge_vertex[node]
    best, best_code = _NO_EDGE, -1
    # They are sorted by their own prior, so the first that is allowed is the best: on 19x19 one edge is examined
    # instead of about 360. Choices by human priors and of remembered moves disturb that order.
    is_sorted = parent.memory_slot == NO_SLOT and tree.human_prior.shape[0] == 0
    for edge in range(parent.children, parent.edges):
        if depth < avoid_depth and depth < avoid[parent.to_play, edge_vertex[edge]]:
            continue
        if codes[edge] > best_code:
            best, best_code = edge, int(codes[edge])
        if is_sorted:
            break
    return best


@kernel
def _unvisited_edge(tree: Tree, node: int, vertex: int) -> int:
    """Return the edge of an unvisited move, -1 if the move was visited or is illegal."""
    for edge in range(tree.nodes[node].children, tree.nodes[node].edges):
        if tree.edge_vertex[node, edge] == vertex:
            return edge
    return _NO_EDGE


@kernel
def _best_unvisited_of_mirrored(
    tree: Tree,
    codes: NDArray[np.uint16],
    node: int,
    avoid: NDArray[np.int16],
    avoid_depth: int,
    e: Any,
    mirrored: MirroredNode,
) -> tuple[int, float]:
    """Return the allowed unvisited edge with the best prior against an opponent who mirrors, and that prior."""
    parent, edge_vertex = tree.nodes[node], tree.edge_vertex[node]
    best, best_prior = _NO_EDGE, -1.0
    for edge in range(parent.children, parent.edges):
        vertex = edge_vertex[edge]
        if mirrored.depth < avoid_depth and mirrored.depth < avoid[parent.to_play, vertex]:
            continue
        prior = mirror_prior(e, mirrored, parent.to_play, vertex, decoded_prior(codes[edge]))
        if prior > best_prior:
            best, best_prior = edge, prior
    return best, best_prior


@kernel
def _read_children(
    tree: Tree, codes: NDArray[np.uint16], node: int, weightless: bool, skips: bool, work: NDArray[np.float64]
) -> tuple[float, float]:
    """Write what the choice among a node's children depends on; return their total weight and the sum of their priors.

    work[0] receives the pending visits, or -1 where `skips` and the leaf is under evaluation; work[1] the utilities,
    work[2] the weights, work[3] the links.
    """
    nodes, links, children, total, seen_prior = tree.nodes, tree.links, tree.nodes[node].children, 0.0, 0.0
    pending, utilities, weights, link_of = work[0], work[1], work[2], work[3]
    # Unsigned, so that an index needs no check for counting from the end: each link is waited for.
    link = np.uint32(nodes[node].first_link)
    for edge in range(children):
        each = links[link]
        child = nodes[np.uint32(each.child)]
        seen_prior += decoded_prior(codes[edge])
        weight = 0.0
        if weightless:
            weight = child.weight
        elif child.visits > 0:
            weight = child.weight * each.visits / child.visits
        weights[edge] = weight
        utilities[edge] = child.utility
        pending[edge] = child.pending
        if skips and child.visits == 0 and child.pending > 0:
            pending[edge] = -1.0
        link_of[edge] = link
        total += weight
        link = np.uint32(each.next)
    return total, seen_prior


# The loops over edges are kernels of their own and have no branches, so that LLVM makes vectors of them. Without a
# network a walk on 9x9 compares 150 children and 220 unvisited moves; 82 unvisited ones take 150 ns instead of 365.
@kernel
def _value_children(
    values: NDArray[np.float64],
    utilities: NDArray[np.float64],
    weights: NDArray[np.float64],
    sign: float,
    urgency: float,
    virtual_loss: float,
    loss: float,
) -> None:
    """Replace the pending visits in `values` by the values of children, -inf for -1; add lost visits to the weights.

    sign: turns utilities to the side to move. urgency: value of a child without weight. loss: the lowest utility.
    """
    for edge in range(values.shape[0]):
        pending, weight = values[edge], weights[edge]
        value = sign * utilities[edge] if weight > 0.0 else urgency
        # Virtual loss: pending visits count as lost ones, so that other walks choose other moves.
        lost = virtual_loss * pending
        least = weight if weight > _LEAST_CHILD_WEIGHT else _LEAST_CHILD_WEIGHT
        value += (loss - value) * lost / (lost + least)
        values[edge] = value if pending >= 0.0 else -np.inf
        weights[edge] = weight + lost


@kernel
def _mix_with_rave(
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    rave_visits: NDArray[np.float32],
    rave_value: NDArray[np.float32],
    sign: float,
    bias: float,
) -> None:
    """Mix the values of children with their all-moves-as-first values (Silver 2009)."""
    for edge in range(values.shape[0]):
        rave, value, weight = rave_visits[edge], values[edge], weights[edge]
        mixed = value + rave / (rave + weight + bias * rave * weight) * (sign * rave_value[edge] / rave - value)
        values[edge] = mixed if rave > 0.0 else value


@kernel
def _add_exploration(
    codes: NDArray[np.uint16], weights: NDArray[np.float64], scale: float, values: NDArray[np.float64]
) -> None:
    """Add the exploration of children to their values. scale: factor of priors."""
    for edge in range(values.shape[0]):
        values[edge] += scale * decoded_prior(codes[edge]) / (1.0 + weights[edge])


@kernel
def _value_by_rave(
    codes: NDArray[np.uint16],
    rave_visits: NDArray[np.float32],
    rave_value: NDArray[np.float32],
    sign: float,
    prior_weight: float,
    urgency: float,
    scale: float,
    values: NDArray[np.float64],
) -> None:
    """Write the values of unvisited edges plus exploration.

    rave_*: statistics of the edges. sign: turns them to the side to move. prior_weight: visits that `urgency` counts
    for. scale: factor of priors.
    """
    for edge in range(codes.shape[0]):
        rave = rave_visits[edge]
        mixed = (urgency * prior_weight + sign * rave_value[edge]) / (prior_weight + rave)
        values[edge] = (mixed if rave > 0.0 else urgency) + scale * decoded_prior(codes[edge])


@kernel
def _forbid(values: NDArray[np.float64], vertices: NDArray[np.int16], depth: int, avoid: NDArray[np.int16]) -> None:
    """Set the values of moves to -inf that must not be played at this depth. avoid: by vertex, of the side to move."""
    for edge in range(values.shape[0]):
        if depth < avoid[vertices[edge]]:
            values[edge] = -np.inf


@kernel
def _first_largest(values: NDArray[np.float64], least: float) -> int:
    """Return the first index of the largest value that is larger than `least`, or -1. NaN is no value."""
    # Four maxima, because a comparison waits for the one before it; then a search for the first of equal ones.
    a, b, c, d, count = least, least, least, least, values.shape[0]
    for i in range(0, count - 3, 4):
        a = values[i] if values[i] > a else a
        b = values[i + 1] if values[i + 1] > b else b
        c = values[i + 2] if values[i + 2] > c else c
        d = values[i + 3] if values[i + 3] > d else d
    for i in range(count - count % 4, count):
        a = values[i] if values[i] > a else a
    largest = max(max(a, b), max(c, d))
    if largest > least:
        for i in range(count):
            if values[i] == largest:
                return i
    return _NO_EDGE


# More than 60 lines: the parts share a dozen local variables, which helpers would have to take and return. More than 8
# parameters: the last one is working memory, which a kernel must not allocate.
@kernel
def choose_edge(
    tree: Tree,
    params: Params,
    node: int,
    depth: int,
    avoid: NDArray[np.int16],
    avoid_depth: int,
    board: Board,
    last: int,
    work: NDArray[np.float64],
) -> int:
    """Return the edge with the largest value plus exploration, visited or not; -1 if no edge is allowed.

    Writes `is_weightless` and, for a visited edge, `chosen_link` of `params.numbers`. avoid: [3, n], by color and
    vertex the depth below which a move must not be played. avoid_depth: its maximum. board, last: the position and the
    move that led to it. work: [4, E].
    """
    numbers, nodes = params.numbers, tree.nodes
    policy = _drawn_policy(tree, numbers, node, depth)
    weightless = policy == _WEIGHTLESS
    numbers.is_weightless = int(weightless)
    edge_vertex, codes = tree.edge_vertex[node], tree.edge_prior[node]
    if policy != _OWN:
        codes = tree.human_prior[node]
    parent = nodes[node]
    color, children, edges = parent.to_play, parent.children, parent.edges
    sign, closes = black_value(1.0, color), depth < avoid_depth
    has_rave = tree.rave_visits.shape[0] > 0
    is_plain_root = depth == 0 and not weightless
    noise = numbers.wide_root_noise if is_plain_root else 0.0
    power = 1.0 / (4.0 * noise + 1.0)
    forced = numbers.forced_playouts if is_plain_root else 0.0
    # The sums over the children, which the exploration of every edge depends on.
    total, seen_prior = _read_children(tree, codes, node, weightless, numbers.skips_pending != 0, work)
    scale = scaling(numbers, parent, total) if policy == _OWN else human_scaling(numbers, total)
    urgency = _urgency(numbers, parent, seen_prior, depth == 0)
    mirrors = numbers.mirror_color != EMPTY and numbers.mirror_broken >= depth and not weightless
    answer = mirrored_answer(tree, node, board, last) if mirrors else -1
    mirrored = MirroredNode(board, depth, last, answer, total, sign * parent.utility)
    values, weights = work[0][:children], work[2][:children]
    _value_children(values, work[1], weights, sign, urgency, numbers.virtual_loss, -numbers.utility_radius)
    if has_rave:
        _mix_with_rave(values, weights, tree.rave_visits[node], tree.rave_value[node], sign, numbers.rave_bias)
    if closes:
        _forbid(values, edge_vertex, depth, avoid[color])
    if noise > 0.0 or mirrors or forced > 0.0:
        for edge in range(children):
            value, weight, own = values[edge], weights[edge], decoded_prior(codes[edge])
            prior = own
            # Neither -inf, which must not be chosen, nor what became of it.
            if not value > -np.inf:
                continue
            if noise > 0.0:
                # KataGo's wide root noise: flatter priors, and a bonus for some moves in each walk.
                prior **= power
                value += _noise_bonus(numbers, noise)
            if mirrors:
                prior = mirror_prior(numbers, mirrored, color, edge_vertex[edge], prior)
                value = mirror_value(numbers, mirrored, color, edge_vertex[edge], weight, value)
            value += scale * prior / (1.0 + weight)
            has_visits = nodes[tree.links[int(work[3, edge])].child].visits > 0
            if forced > 0.0 and has_visits and weight < math.sqrt(forced * own * total):
                value = _FORCED
            values[edge] = value
    else:
        _add_exploration(codes, weights, scale, values)
    best, best_value = _first_largest(values, _LEAST_VALUE), _LEAST_VALUE
    if best >= 0:
        best_value = values[best]
        numbers.chosen_link = int(work[3, best])
    slot = parent.memory_slot
    if slot >= 0 and tree.memory[slot].key == parent.memory_key:
        # Unvisited moves that an earlier search visited often are valued as it found them.
        for place in range(tree.memory[slot].moves):
            remembered = tree.memory_moves[slot, place]
            edge = _unvisited_edge(tree, node, remembered.vertex)
            if edge < 0 or (closes and depth < avoid[color, remembered.vertex]):
                continue
            found = utility_of(params, remembered.value, 0.0, remembered.score, remembered.score * remembered.score)
            value, prior = sign * found, decoded_prior(codes[edge])
            if noise > 0.0:
                prior **= power
                value += _noise_bonus(numbers, noise)
            value += scale * prior
            if value > best_value:
                best, best_value = edge, value
    if has_rave:
        values, visits, sums = work[0][children:edges], tree.rave_visits[node], tree.rave_value[node]
        rest, of_prior = codes[children:edges], 0.0 if noise > 0.0 else scale
        visits, sums = visits[children:edges], sums[children:edges]
        _value_by_rave(rest, visits, sums, sign, numbers.rave_prior, urgency, of_prior, values)
        if closes:
            _forbid(values, edge_vertex[children:], depth, avoid[color])
        if noise > 0.0:
            for place in range(values.shape[0]):
                if values[place] > -np.inf:
                    values[place] += _noise_bonus(numbers, noise)
                    values[place] += scale * decoded_prior(rest[place]) ** power
        place = _first_largest(values, best_value)
        return children + place if place >= 0 else best
    # Unvisited edges share one value, so only the one with the best prior can win.
    edge = _best_unvisited(tree, codes, node, depth, avoid, avoid_depth)
    if edge >= 0:
        value, prior = urgency, decoded_prior(codes[edge])
        if mirrors:
            edge, prior = _best_unvisited_of_mirrored(tree, codes, node, avoid, avoid_depth, numbers, mirrored)
        if noise > 0.0:
            prior **= power
            value += _noise_bonus(numbers, noise)
        if value + scale * prior > best_value:
            best = edge
    return best
