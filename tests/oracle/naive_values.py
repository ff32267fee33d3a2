"""What a node is worth and which edge it prefers, by plain formulas on Python lists."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from engine.color import BLACK
from engine.search.params import SearchParams
from engine.search.tree import PRIOR_SCALE, Tree, child_nodes, links_of


@dataclass
class Child:
    """A visited move: weight of its playouts, mover's utility, prior."""

    weight: float
    utility: float
    prior: float


def expected_score_value(mean: float, deviation: float, steps: int = 4000) -> float:
    """Return the expectation of 2/pi * atan(x) over x normal, by the mean over its quantiles."""
    if deviation == 0:
        return 2 / math.pi * math.atan(mean)
    normal = NormalDist(mean, deviation)
    quantiles = (normal.inv_cdf((i + 0.5) / steps) for i in range(steps))
    return 2 / math.pi * sum(map(math.atan, quantiles)) / steps


def children_of(tree: Tree, node: int) -> list[Child]:
    """Return the visited moves of a node."""
    sign = 1 if tree.nodes[node]["to_play"] == BLACK else -1
    found = []
    for edge, (link, child) in enumerate(zip(links_of(tree, node), child_nodes(tree, node), strict=True)):
        each = tree.nodes[child]
        share = tree.links[link]["visits"] / each["visits"]
        prior = (tree.edge_prior[node, edge] / PRIOR_SCALE) ** 2
        found.append(Child(float(each["weight"] * share), float(sign * each["utility"]), float(prior)))
    return found


def pruned(children: list[Child], scale: float, cap: float = math.inf) -> list[float]:
    """Return the children's weights without what noise brought to those worse than their elders."""
    weights: list[float] = []
    for i, child in enumerate(children):
        elders = list(zip(children[:i], weights, strict=True))
        before = sum(weights)
        weight = child.weight
        if before > 0:
            gap = sum(elder.utility * w for elder, w in elders) / before - child.utility
            fair = 2 * before * child.prior / sum(elder.prior for elder, _ in elders)
            if gap > 0 and weight > fair:
                weight = weight - min((weight - fair) * (1 - math.exp(-gap / scale)), cap)
        weights.append(weight)
    return weights


def weighed_by_value(children: list[Child], weights: list[float], exponent: float) -> list[float]:
    """Return the weights shifted to the better children, with the same sum."""
    total = sum(weights)
    mean = sum(child.utility * weight for child, weight in zip(children, weights, strict=True)) / total
    new = []
    for child, weight in zip(children, weights, strict=True):
        z = (child.utility - mean) / math.sqrt(1e-8 + 1 / (1.5 * math.sqrt(weight)))
        below = 0.5 + (z / math.sqrt(3) / (1 + z * z / 3) + math.atan(z / math.sqrt(3))) / math.pi
        new.append(weight * (below + 1e-4) ** exponent)
    return [weight * total / sum(new) for weight in new]


def utility_of(tree: Tree, node: int, params: SearchParams) -> float:
    """Return a node's Black-positive utility from its own and its children's."""
    each = tree.nodes[node]
    children = children_of(tree, node)
    if not children:
        return float(each["raw_utility"])
    weights = weighed_by_value(children, pruned(children, params.noise_prune_scale), params.value_weight_exponent)
    sign = 1 if each["to_play"] == BLACK else -1
    total = sum(sign * child.utility * weight for child, weight in zip(children, weights, strict=True))
    own = float(each["raw_weight"])
    return (total + own * float(each["raw_utility"])) / (sum(weights) + own)


def first_play_urgency(node: Any, seen: float, params: SearchParams, *, is_root: bool) -> float:
    """Return the utility of a move without visits for the side to move. seen: the prior of the moves with visits."""
    sign, share = 1 if node["to_play"] == BLACK else -1, min(1.0, seen**params.fpu_policy_power)
    reduction = params.root_fpu_reduction if is_root else params.fpu_reduction
    parent = share * float(node["utility"]) + (1 - share) * float(node["raw_utility"])
    return sign * parent - reduction * math.sqrt(seen)


def preferred_edge(tree: Tree, node: int, params: SearchParams, *, is_root: bool) -> int:
    """Return the edge with the best value plus exploration; no visits may be pending."""
    each, children = tree.nodes[node], children_of(tree, node)
    total = sum(child.weight for child in children)
    seen = sum(child.prior for child in children)
    scale = scaling(each, total, params)
    urgency = first_play_urgency(each, seen, params, is_root=is_root)
    values = [child.utility + scale * child.prior / (1 + child.weight) for child in children]
    for edge in range(len(children), int(each["edges"])):
        values.append(urgency + scale * (tree.edge_prior[node, edge] / PRIOR_SCALE) ** 2)
    return values.index(max(values))


def preferred_human_edge(tree: Tree, node: int, params: SearchParams, *, is_root: bool) -> int:
    """Return the edge with the best value plus exploration by human priors; no visits may be pending."""
    each, children = tree.nodes[node], children_of(tree, node)
    priors = [(code / PRIOR_SCALE) ** 2 for code in tree.human_prior[node, : int(each["edges"])].tolist()]
    total, seen = sum(child.weight for child in children), sum(priors[: len(children)])
    c_puct = params.human_c_puct + params.human_c_puct_permanent * math.sqrt(total)
    scale = c_puct * math.sqrt(total + 0.01)
    urgency = first_play_urgency(each, seen, params, is_root=is_root)
    values = [
        child.utility + scale * prior / (1 + child.weight) for child, prior in zip(children, priors, strict=False)
    ]
    values += [urgency + scale * prior for prior in priors[len(children) :]]
    return values.index(max(values))


def scaling(node: Any, total: float, params: SearchParams) -> float:
    """Return what priors are multiplied with under a node whose children weigh `total`."""
    mean, weight = float(node["utility"]), float(node["weight"])
    deviation = params.stdev_prior
    if weight > 1:
        prior_weight = params.stdev_prior_weight
        square = (mean**2 + params.stdev_prior**2) * prior_weight + max(float(node["utility_sq"]), mean**2) * weight
        deviation = math.sqrt(max(0.0, square / (prior_weight + weight - 1) - mean**2))
    factor = 1 + params.stdev_scale * (deviation / params.stdev_prior - 1)
    c_puct = params.c_puct + params.c_puct_log * math.log((total + params.c_puct_base) / params.c_puct_base)
    return c_puct * math.sqrt(total + 0.01) * factor
