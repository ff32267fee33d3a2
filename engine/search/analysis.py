"""A snapshot of a search as plain data: the root, its moves in order, and their principal variations.

Reads a tree between two batches. Names and meanings are KataGo's. The Black-positive values of the tree are converted
to the view of a color by `for_color` only.
"""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.board.layout import COLOR
from engine.color import for_color
from engine.evaluation.evaluation import Evaluation, black_value
from engine.native.jit import kernel
from engine.search.kernel_params import utility_radius
from engine.search.move_choice import MoveTable, move_table
from engine.search.params import SearchParams
from engine.search.position import Root
from engine.search.root import root_priors, size_of
from engine.search.tree import NO_LINK, ROOT, Tree
from engine.search.tree_ownership import tree_ownership
from engine.symmetry import applicable, map_planes, map_vertex, vertex_table
from engine.vertex import NO_POINT, policy_index

Ownership = NDArray[np.float64]


class Searched(Protocol):
    """The parts of a search that an analysis reads, see `engine.search.search.Search`."""

    tree: Tree
    root: Root
    params: SearchParams
    mirrored: dict[int, int]
    human_evaluation: Evaluation | None


@dataclass(frozen=True)
class Wanted:
    """The parts of an analysis that are wanted.

    min_moves: minimum number of legal moves to report, unvisited ones included. max_moves: maximum; None for all.
    pv_length: most moves of a variation after its first one.
    ownership, moves_ownership: mean and deviation of each point's owner at the root, and after each move.
    """

    min_moves: int = 0
    max_moves: int | None = None
    pv_length: int = 15
    ownership: bool = False
    moves_ownership: bool = False


@dataclass(frozen=True, eq=False)
class MoveInfo:
    """Statistics of one root move, from the view of the analysis's color.

    visits: of the position after it, by all paths. edge_visits: by this move only. winrate: in [0, 1]. lcb: its lower
    bound for the side to move, which may be outside [0, 1]. utility, utility_lcb: the quantity that the search
    maximizes. lead: points that would make the game even. score_mean, score_stdev: of the final score, in points.
    weight: of its playouts. edge_weight: of those by this move. human_prior: the human network's, None without one.
    play_selection: weight that moves are ordered by. order: 0 for the best. pv: vertices, this move first. pv_visits,
    pv_edge_visits: visits after each move of pv. is_symmetry_of: the move that was searched, whose mirror image this
    is; NO_POINT for a move that was searched itself. ownership, ownership_stdev: [area] in policy order, 1 where the
    color will own the point; None unless wanted.
    """

    vertex: int
    visits: int
    edge_visits: int
    utility: float
    winrate: float
    lead: float
    score_mean: float
    score_stdev: float
    no_result: float
    prior: float
    lcb: float
    utility_lcb: float
    weight: float
    order: int
    pv: tuple[int, ...]
    pv_visits: tuple[int, ...]
    pv_edge_visits: tuple[int, ...]
    is_symmetry_of: int = NO_POINT
    ownership: Ownership | None = None
    ownership_stdev: Ownership | None = None
    edge_weight: float = 0.0
    play_selection: float = 0.0
    human_prior: float | None = None


@dataclass(frozen=True, eq=False)
class RootInfo:
    """Statistics of the position itself, from the view of the analysis's color; fields as in `MoveInfo`."""

    visits: int
    utility: float
    winrate: float
    lead: float
    score_mean: float
    score_stdev: float
    weight: float
    ownership: Ownership | None = None
    ownership_stdev: Ownership | None = None


@dataclass(frozen=True, eq=False)
class Analysis:
    """A snapshot of a search. moves: best first."""

    root: RootInfo
    moves: tuple[MoveInfo, ...]


def snapshot(search: Searched, wanted: Wanted, color: int) -> Analysis | None:
    """Return a snapshot of a search from the view of `color`; None if its root is not evaluated yet."""
    tree = search.tree
    if tree.nodes[ROOT]["visits"] == 0:
        return None
    table = move_table(tree, search.root, search.params, search.human_evaluation)
    order = np.lexsort((-table.prior, -table.visits, -table.play_weight))
    visited = [int(edge) for edge in order if table.is_known[edge] and _may_play(search.root, table.vertex[edge])]
    images = _mirror_images(search)
    moves: list[MoveInfo] = []
    for edge in visited[: wanted.max_moves]:
        move = _visited_move(search, table, edge, wanted, color, len(moves))
        moves.append(_with_human_prior(move, search))
        for vertex, turn in images.get(move.vertex, ()):
            turned = replace(_turned(move, vertex, turn, size_of(search.root)), order=len(moves))
            moves.append(_with_human_prior(turned, search))
    if len(moves) < wanted.min_moves:
        fresh = _unvisited_moves(search, table, range(len(moves), wanted.min_moves), wanted, color)
        moves += [_with_human_prior(move, search) for move in fresh]
    return Analysis(_root_info(tree, wanted, color), tuple(moves[: wanted.max_moves]))


def _with_human_prior(move: MoveInfo, search: Searched) -> MoveInfo:
    """Return a move with its prior by the human network, if there is one."""
    if search.human_evaluation is None:
        return move
    index = policy_index(move.vertex, *size_of(search.root))
    return replace(move, human_prior=float(search.human_evaluation.policy[0, index]))


def _mirror_images(search: Searched) -> dict[int, list[tuple[int, int]]]:
    """Return for each move the moves that mirror it and were not searched, with the symmetry that maps to them."""
    images: dict[int, list[tuple[int, int]]] = {}
    if not search.mirrored:
        return images
    size = size_of(search.root)
    turns = [each for each in applicable(*size) if _keeps_stones(search.root, each, size)]
    for vertex, original in search.mirrored.items():
        turn = next(each for each in turns if map_vertex(original, each, *size) == vertex)
        images.setdefault(original, []).append((vertex, turn))
    return images


def _keeps_stones(root: Root, symmetry: int, size: tuple[int, int]) -> bool:
    table = vertex_table(symmetry, *size)
    colors = root.board[COLOR, : len(table)]
    return np.array_equal(colors[table], colors)


def _turned(move: MoveInfo, vertex: int, turn: int, size: tuple[int, int]) -> MoveInfo:
    """Return the statistics of a move for its image under a symmetry."""
    mean, stdev = (
        None if each is None else map_planes(each.reshape(size[::-1]), turn).flatten()
        for each in (move.ownership, move.ownership_stdev)
    )
    return replace(
        move,
        vertex=vertex,
        is_symmetry_of=move.vertex,
        pv=tuple(map_vertex(each, turn, *size) for each in move.pv),
        ownership=mean,
        ownership_stdev=stdev,
    )


def _may_play(root: Root, vertex: int) -> bool:
    return bool(root.avoid[root.color, vertex] <= 0)


def of_single_move(vertex: int, winrate: float, lead: float, mover: int, color: int) -> Analysis:
    """Return an analysis, from the view of `color`, of a move chosen without search. winrate, lead: the mover's."""
    value, lead = _of_mover(2.0 * winrate - 1.0, mover, color), _of_mover(lead, mover, color)
    root = RootInfo(
        visits=1, utility=value, winrate=(1.0 + value) / 2.0, lead=lead, score_mean=lead, score_stdev=0.0, weight=1.0
    )
    move = MoveInfo(
        vertex=vertex,
        visits=1,
        edge_visits=1,
        utility=root.utility,
        winrate=root.winrate,
        lead=root.lead,
        score_mean=root.score_mean,
        score_stdev=root.score_stdev,
        no_result=0.0,
        prior=1.0,
        lcb=root.winrate,
        utility_lcb=root.utility,
        weight=root.weight,
        order=0,
        pv=(vertex,),
        pv_visits=(1,),
        pv_edge_visits=(1,),
    )
    return Analysis(root, (move,))


def _root_info(tree: Tree, wanted: Wanted, color: int) -> RootInfo:
    node = tree.nodes[ROOT]
    mean, stdev = _ownership(tree, ROOT, wanted.ownership, color)
    return RootInfo(
        visits=int(node["visits"]),
        utility=for_color(float(node["utility"]), color),
        winrate=_winrate(node, color),
        lead=for_color(float(node["lead"]), color),
        score_mean=for_color(float(node["score"]), color),
        score_stdev=_score_stdev(node),
        weight=float(node["weight"]),
        ownership=mean,
        ownership_stdev=stdev,
    )


def _visited_move(search: Searched, table: MoveTable, edge: int, wanted: Wanted, color: int, order: int) -> MoveInfo:
    tree, mover = search.tree, int(search.tree.nodes[ROOT]["to_play"])
    child = int(table.child[edge])
    node, winrate = tree.nodes[child], _winrate(tree.nodes[child], color)
    # Variations are followed by a kernel: an analysis has one for each move, several times a second.
    line = np.zeros((3, 1 + wanted.pv_length), dtype=np.int64)
    line[:, 0] = table.vertex[edge], node["visits"], table.visits[edge]
    length = follow_line(tree, child, line)
    mean, stdev = _ownership(tree, child, wanted.moves_ownership, color)
    return MoveInfo(
        vertex=int(table.vertex[edge]),
        visits=int(node["visits"]),
        edge_visits=int(table.visits[edge]),
        utility=for_color(float(node["utility"]), color),
        winrate=winrate,
        lead=for_color(float(node["lead"]), color),
        score_mean=for_color(float(node["score"]), color),
        score_stdev=_score_stdev(node),
        no_result=float(node["no_result"]),
        prior=float(table.prior[edge]),
        lcb=winrate - _of_mover(_winrate_radius(float(table.radius[edge]), search.params), mover, color),
        utility_lcb=_of_mover(float(table.lcb[edge]), mover, color),
        weight=float(node["weight"]),
        order=order,
        pv=tuple(line[0, :length].tolist()),
        pv_visits=tuple(line[1, :length].tolist()),
        pv_edge_visits=tuple(line[2, :length].tolist()),
        ownership=mean,
        ownership_stdev=stdev,
        edge_weight=float(table.weight[edge]),
        play_selection=float(table.play_weight[edge]),
    )


def _unvisited_moves(search: Searched, table: MoveTable, places: range, wanted: Wanted, color: int) -> list[MoveInfo]:
    """Return unvisited moves by prior, as many as there are places or legal moves, with the root's statistics."""
    tree, node, mover = search.tree, search.tree.nodes[ROOT], int(search.tree.nodes[ROOT]["to_play"])
    vertices, priors = tree.edge_vertex[ROOT, : node["edges"]].astype(np.int64), root_priors(tree)
    fresh = [
        int(edge)
        for edge in np.argsort(-priors, kind="stable")
        if (edge >= len(table.visits) or not table.is_known[edge]) and _may_play(search.root, vertices[edge])
    ]
    radius = 2.0 * utility_radius(search.params)
    utility, winrate = for_color(float(node["utility"]), color), _winrate(node, color)
    mean, stdev = _ownership(tree, ROOT, wanted.moves_ownership, color)
    return [
        MoveInfo(
            vertex=int(vertices[edge]),
            visits=0,
            edge_visits=0,
            utility=utility,
            winrate=winrate,
            lead=for_color(float(node["lead"]), color),
            score_mean=for_color(float(node["score"]), color),
            score_stdev=_score_stdev(node),
            no_result=float(node["no_result"]),
            prior=float(priors[edge]),
            lcb=winrate - _of_mover(_winrate_radius(radius, search.params), mover, color),
            utility_lcb=utility - _of_mover(radius, mover, color),
            weight=0.0,
            order=place,
            pv=(int(vertices[edge]),),
            pv_visits=(0,),
            pv_edge_visits=(0,),
            ownership=mean,
            ownership_stdev=stdev,
        )
        for place, edge in zip(places, fresh, strict=False)
    ]


def _of_mover(figure: float, mover: int, color: int) -> float:
    """Convert a value from the view of the side to move to the view of a color."""
    return for_color(for_color(figure, mover), color)


def _winrate(node: np.void, color: int) -> float:
    return (1.0 + for_color(float(node["value"]), color)) / 2.0


def _score_stdev(node: np.void) -> float:
    return math.sqrt(max(0.0, float(node["score_sq"]) - float(node["score"]) ** 2))


def _winrate_radius(radius: float, params: SearchParams) -> float:
    """Convert a radius of utility to one of winrate, as if utility were winrate only (KataGo's rule for `lcb`)."""
    return radius * params.win_loss_factor / (2.0 * utility_radius(params) + 1e-20)


def _ownership(tree: Tree, node: int, wanted: bool, color: int) -> tuple[Ownership | None, Ownership | None]:
    """Return mean and deviation of each point's owner, None if not wanted or not known."""
    if not wanted or tree.ownership.shape[1] == 0:
        return None, None
    mean, stdev = tree_ownership(tree, node)
    return for_color(mean, color), stdev


@kernel
def follow_line(tree: Tree, node: int, line: NDArray[np.int64]) -> int:
    """Continue a variation from a node by the most visited moves (ties by utility); return its length.

    line: [3, length], vertices, visits and edge visits; the first column is already written.
    """
    length = 1
    while length < line.shape[1]:
        sign = black_value(1.0, tree.nodes[node].to_play)
        best, most, best_utility, best_edge, edge = -1, 0, 0.0, 0, 0
        link = tree.nodes[node].first_link
        while link != NO_LINK:
            each = tree.links[link]
            utility = sign * tree.nodes[each.child].utility
            if each.visits > most or (each.visits == most and most > 0 and utility > best_utility):
                best, most, best_utility, best_edge = each.child, each.visits, utility, edge
            edge += 1
            link = each.next
        if best < 0:
            break
        line[0, length] = tree.edge_vertex[node, best_edge]
        line[1, length] = tree.nodes[best].visits
        line[2, length] = most
        node = best
        length += 1
    return length
