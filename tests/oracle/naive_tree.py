"""What a tree's nodes hold and how evaluations reach the nodes above them, in plain Python on the arrays of a tree.

numbers: a record of KERNEL_PARAMS. Formulas are those of `engine.search.values` and `engine.search.backup`.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.color import EMPTY, opponent
from engine.evaluation.evaluation import NO_RESULT, SCORE_ERROR, SCORE_MEAN, SCORE_STDEV, VALUE_ERROR
from engine.search.backup import Answers
from engine.search.kernel_params import STEPS, score_table
from engine.search.position import Batch
from engine.search.tree import EXPANDED, NEW, NO_SLOT, WEIGHTLESS_PLAYOUTS, Tree, links_of
from engine.vertex import PASS, from_policy_index, policy_index
from tests.oracle.naive_evaluation import black_value
from tests.oracle.naive_search import decoded_prior
from tests.oracle.naive_values import Child, pruned, weighed_by_value

_TABLE = score_table().astype(np.float64)
_MEANS = ("value", "no_result", "score", "score_sq", "lead")


def tree_at(trees: Tree, number: int) -> Tree:
    """Return one of several trees, whose arrays have one more axis."""
    return Tree(*(array[number] for array in trees))


def expected(mean: float, deviation: float) -> float:
    """Return the table's expected score value, interpolated along deviations and then along means."""
    means, deviations = (np.arange(length) / STEPS for length in _TABLE.shape)
    means -= means[-1] / 2
    at_deviation = [np.interp(deviation, deviations, row) for row in _TABLE]
    return float(np.interp(mean, means, at_deviation))


def score_utility(numbers: Any, mean: float, mean_sq: float) -> float:
    """Return the utility of a margin of this mean and mean of squares."""
    static, dynamic = float(numbers["static_score_factor"]), float(numbers["dynamic_score_factor"])
    if static == 0 and dynamic == 0:
        return 0.0
    deviation, side = math.sqrt(max(mean_sq - mean**2, 0.0)), float(numbers["root_of_area"])
    near, far = 2 * side, float(numbers["dynamic_score_scale"]) * side
    center = float(numbers["score_center"])
    return static * expected(mean / near, deviation / near) + dynamic * expected((mean - center) / far, deviation / far)


def playout_weight(numbers: Any, score: float, value_error: float, score_error: float) -> float:
    """Return the weight of an evaluation: the less, the larger the expected error of its utility."""
    coefficient = float(numbers["uncertainty_coefficient"])
    if coefficient <= 0 or value_error < 0 or score_error < 0:
        return 1.0
    slope, side = 0.0, float(numbers["root_of_area"])
    for name, scale, center in (
        ("static_score_factor", 2 * side, 0.0),
        ("dynamic_score_factor", float(numbers["dynamic_score_scale"]) * side, float(numbers["score_center"])),
    ):
        slope += float(numbers[name]) / (scale * (1 + ((score - center) / scale) ** 2))
    error = float(numbers["win_loss_factor"]) * value_error + slope * 2 / math.pi * score_error
    error = error ** float(numbers["uncertainty_exponent"])
    return coefficient / (error + coefficient / float(numbers["uncertainty_max_weight"]))


def corrected(tree: Tree, numbers: Any, node: int, child_weight: float, child_utility: float) -> float:
    """Return a node's own utility less its pattern's usual error; add its own error to the pattern's sums."""
    each = tree.nodes[node]
    result = float(numbers["win_loss_factor"]) * float(each["raw_value"])
    result -= float(numbers["no_result_utility"]) * float(each["raw_no_result"])
    each["raw_utility"] = result + score_utility(numbers, float(each["raw_score"]), float(each["raw_score_sq"]))
    own, factor = float(each["raw_utility"]), float(numbers["subtree_value_bias_factor"])
    if each["bias_slot"] == NO_SLOT or factor == 0:
        return own
    sums = tree.bias_sums[each["bias_slot"]]
    if child_weight > 1e-10:
        weight = child_weight ** float(numbers["subtree_value_bias_exponent"])
        error = (child_utility - own) * weight
        sums += (error - float(each["bias_delta"]), weight - float(each["bias_weight"]))
        each["bias_delta"], each["bias_weight"] = error, weight
    return own + factor * float(sums[0]) / float(sums[1]) if sums[1] > 1e-3 else own


def set_own_value(tree: Tree, numbers: Any, node: int, visits: int) -> None:
    """Give a node without children the statistics of its own evaluation, counted `visits` times."""
    own, each = corrected(tree, numbers, node, 0.0, 0.0), tree.nodes[node]
    own += float(each["shape_bonus"])
    each["visits"] = visits
    each["weight"], each["weight_sq"] = float(each["raw_weight"]) * visits, float(each["raw_weight_sq"]) * visits
    for name in _MEANS:
        each[name] = each[f"raw_{name}"]
    each["utility"], each["utility_sq"] = own, own**2


def weights_of(tree: Tree, numbers: Any, node: int) -> tuple[list[Any], list[float], float]:
    """Return the nodes of a node's children, the weight of each, and the sum of their playouts' weights."""
    nodes, children = [], []
    for edge, link in enumerate(links_of(tree, node)):
        each = tree.links[link]
        child = tree.nodes[each["child"]]
        nodes.append(child)
        prior = max(decoded_prior(int(tree.edge_prior[node, edge])), 1e-30)
        if child["visits"] > 0 and each["visits"] > 0:
            weight = float(child["weight"]) * int(each["visits"]) / int(child["visits"])
            utility = black_value(float(child["utility"]), int(tree.nodes[node]["to_play"]))
            children.append(Child(weight, utility, prior))
        else:
            children.append(Child(0.0, 0.0, prior))
    weights = [child.weight for child in children]
    total = sum(weights)
    if total > 1e-10:
        if numbers["noise_prune_scale"] > 0:
            weights = pruned(children, float(numbers["noise_prune_scale"]), float(numbers["noise_prune_cap"]))
        if numbers["value_weight_exponent"] > 0:
            seen = [i for i, weight in enumerate(weights) if weight > 0]
            new = weighed_by_value(
                [children[i] for i in seen], [weights[i] for i in seen], float(numbers["value_weight_exponent"])
            )
            for i, weight in zip(seen, new, strict=True):
                weights[i] = weight
    return nodes, weights, total


def recompute(tree: Tree, numbers: Any, node: int) -> None:
    """Compute a node's statistics from its own evaluation and its children's."""
    each = tree.nodes[node]
    nodes, weights, child_weight = weights_of(tree, numbers, node)
    pairs = [(child, weight) for child, weight in zip(nodes, weights, strict=True) if weight > 0]
    total = sum(weight for _, weight in pairs)
    mean = sum(float(child["utility"]) * weight for child, weight in pairs) / total if total > 1e-10 else 0.0
    own, weight = corrected(tree, numbers, node, child_weight, mean), float(each["raw_weight"])
    shares = [(child, part / float(child["weight"])) for child, part in pairs]
    each["weight"] = total + weight
    each["weight_sq"] = sum(float(child["weight_sq"]) * share**2 for child, share in shares) + each["raw_weight_sq"]
    for name in _MEANS:
        summed = sum(float(child[name]) * part for child, part in pairs) + float(each[f"raw_{name}"]) * weight
        each[name] = summed / (total + weight)
    each["utility"] = (mean * total + own * weight) / (total + weight)
    squares = sum(float(child["utility_sq"]) * part for child, part in pairs)
    each["utility_sq"] = (squares + (own**2 + float(each["raw_spread"])) * weight) / (total + weight)
    before, bonus = float(each["utility"]), float(each["shape_bonus"])
    each["utility"], each["utility_sq"] = before + bonus, float(each["utility_sq"]) + (before + bonus) ** 2 - before**2


def nodes_below(tree: Tree, node: int = 0) -> set[int]:
    """Return a node and all nodes below it."""
    return {node}.union(*(nodes_below(tree, int(tree.links[link]["child"])) for link in links_of(tree, node)))


def recompute_tree(tree: Tree, numbers: Any, node: int = 0, done: set[int] | None = None) -> None:
    """Recompute a node after all nodes below it; one whose subtree was folded stays as it is."""
    done = set() if done is None else done
    if node in done:
        return
    done.add(node)
    for link in links_of(tree, node):
        recompute_tree(tree, numbers, int(tree.links[link]["child"]), done)
    each = tree.nodes[node]
    if each["children"] or node == 0:
        recompute(tree, numbers, node)
    elif each["visits"] and each["raw_spread"] == 0:
        weights = each["weight"].item(), each["weight_sq"].item()
        set_own_value(tree, numbers, node, int(each["visits"]))
        each["weight"], each["weight_sq"] = weights


def withdraw(tree: Tree, path: list[int]) -> None:
    """Take back the pending visit of a walk."""
    for node in path:
        tree.nodes[node]["pending"] -= 1


def walk_of(batch: Batch, row: int) -> tuple[list[int], list[int]]:
    """Return the nodes of a row's walk, and the links between them."""
    length = int(batch.length[row])
    return batch.nodes[row, : length + 1].tolist(), batch.links[row, :length].tolist()


def reopen(tree: Tree, batch: Batch, rows: range) -> None:
    """Take back leaves that will not be evaluated."""
    for row in rows:
        path, _ = walk_of(batch, row)
        tree.nodes[path[-1]]["stage"] = NEW
        withdraw(tree, path)


def expand(tree: Tree, leaf: int, legal: NDArray[np.bool_], policy: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Write a node's legal moves, best prior first."""
    coded = {int(i): int(math.sqrt(min(max(float(policy[i]), 0.0), 1.0)) * 65535) for i in np.flatnonzero(legal)}
    order = sorted(coded, key=lambda index: (-coded[index], index))
    tree.edge_vertex[leaf, : len(order)] = [from_policy_index(index, *size) for index in order]
    tree.edge_prior[leaf, : len(order)] = [coded[index] for index in order]
    tree.nodes[leaf]["edges"], tree.nodes[leaf]["stage"] = len(order), EXPANDED
    if len(tree.rave_visits):
        tree.rave_visits[leaf, : len(order)] = tree.rave_value[leaf, : len(order)] = 0


def tempered(policy: NDArray[np.float32], numbers: Any) -> NDArray[np.float32]:
    """Return a policy at the temperature of the parameters."""
    powers = policy.astype(np.float64) ** (1.0 / float(numbers["policy_temperature"]))
    return (powers / powers.sum()).astype(np.float32) if numbers["policy_temperature"] != 1 else policy


def write_human_priors(tree: Tree, node: int, policy: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Write the human priors of a node's edges."""
    for edge in range(int(tree.nodes[node]["edges"])):
        index = policy_index(int(tree.edge_vertex[node, edge]), *size)
        tree.human_prior[node, edge] = int(math.sqrt(min(max(float(policy[index]), 0.0), 1.0)) * 65535)
    tree.nodes[node]["has_human"] = 1


def take_answer(tree: Tree, numbers: Any, answers: Answers, row: int, leaf: int) -> None:
    """Store a row of an evaluation in its node."""
    each = tree.nodes[leaf]
    color, details = int(each["to_play"]), [float(detail) for detail in answers.details[row]]
    lead = score = black_value(float(answers.score[row]), color)
    deviation, no_result, value_error, score_error = 0.0, 0.0, -1.0, -1.0
    if answers.has_details:
        score, deviation, no_result = black_value(details[SCORE_MEAN], color), details[SCORE_STDEV], details[NO_RESULT]
        value_error, score_error = details[VALUE_ERROR], details[SCORE_ERROR]
    weight = playout_weight(numbers, score, value_error, score_error)
    each["raw_value"], each["raw_no_result"] = black_value(float(answers.value[row]), color), no_result
    each["raw_score"], each["raw_score_sq"], each["raw_lead"] = score, score**2 + deviation**2, lead
    each["raw_weight"], each["raw_weight_sq"], each["raw_spread"] = weight, weight**2, 0.0
    set_own_value(tree, numbers, leaf, 1)
    if tree.ownership.shape[1]:
        tree.ownership[leaf] = [round(black_value(float(owned), color) * 127) for owned in answers.ownership[row]]


def update_rave(tree: Tree, path: list[int], moves: list[int], answers: Answers, row: int) -> None:
    """Credit the edges of a walk's nodes whose move their side played first after them."""
    value = black_value(float(answers.value[row]), int(tree.nodes[path[-1]]["to_play"]))
    for depth, node in enumerate(path):
        first = dict(enumerate(answers.first_play[row].tolist()))
        for below in range(len(moves) - 1, depth - 1, -1):
            first[moves[below]] = opponent(int(tree.nodes[path[below + 1]]["to_play"]))
            first[PASS] = EMPTY
        color = int(tree.nodes[node]["to_play"])
        for edge in range(int(tree.nodes[node]["edges"])):
            if first[int(tree.edge_vertex[node, edge])] == color:
                tree.rave_visits[node, edge] += 1
                tree.rave_value[node, edge] += value


def back_up(
    tree: Tree,
    batch: Batch,
    answers: Answers,
    numbers: Any,
    sums: NDArray[np.float64],
    rows: range,
    size: tuple[int, int],
) -> None:
    """Expand the leaves of rows, and compute all nodes above them anew, the deepest first. sums: of ownership."""
    above: dict[int, dict[int, None]] = {}
    for row in rows:
        path, links = walk_of(batch, row)
        expand(tree, path[-1], batch.legal[row], tempered(answers.policy[row], numbers), size)
        if len(tree.human_prior) and len(answers.human_policy):
            write_human_priors(tree, path[-1], tempered(answers.human_policy[row], numbers), size)
        take_answer(tree, numbers, answers, row, path[-1])
        tree.nodes[path[-1]]["pending"] -= 1
        tree.counters[WEIGHTLESS_PLAYOUTS] += batch.counted[row] > 0
        for depth, (node, link) in enumerate(zip(path[:-1], links, strict=True)):
            tree.nodes[node]["pending"] -= 1
            if depth < batch.counted[row]:
                continue
            tree.links[link]["visits"] += 1
            tree.nodes[node]["visits"] += 1
            above.setdefault(depth, {})[node] = None
        to_play = int(tree.nodes[path[-1]]["to_play"])
        sums[:-1] += [black_value(float(owned), to_play) for owned in answers.ownership[row]]
        sums[-1] += 1
        if len(tree.rave_visits):
            edges = [links_of(tree, node).index(link) for node, link in zip(path[:-1], links, strict=True)]
            moves = [int(tree.edge_vertex[node, edge]) for node, edge in zip(path[:-1], edges, strict=True)]
            update_rave(tree, path, moves, answers, row)
    for depth in sorted(above, reverse=True):
        for node in above[depth]:
            recompute(tree, numbers, node)


def rows_by_tree(owners: list[int]) -> list[tuple[int, range]]:
    """Return the tree of each run of rows that are of one tree, and the rows."""
    starts = [row for row, owner in enumerate(owners) if row == 0 or owners[row - 1] != owner]
    return [(owners[i], range(i, j)) for i, j in zip(starts, [*starts[1:], len(owners)], strict=True)]


def back_up_rows(
    trees: Tree,
    batch: Batch,
    answers: Answers,
    numbers: NDArray[np.void],
    sums: NDArray[np.float64],
    owners: list[int],
    size: tuple[int, int],
) -> None:
    """Bring each row of a batch into the tree that it is of."""
    for number, rows in rows_by_tree(owners):
        numbers[number]["in_flight"] -= len(rows)
        back_up(tree_at(trees, number), batch, answers, numbers[number], sums, rows, size)
