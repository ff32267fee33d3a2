"""Plays against an opponent who mirrors each move through the center of the board (KataGo's `antiMirror`).

The search expects the opponent to mirror on, spends visits on mirrored answers so that their weakness is found, and
tries the center and the moves around it. Conditions and amounts are KataGo's (cpp/search/searchmirror.cpp), so that
both programs build the same tree.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import neighbor_offset, point_at, row_column
from engine.board.layout import COLOR, HEAD, HEADER, HEIGHT, LIBERTIES, STRIDE, WIDTH, Board
from engine.color import BLACK, EMPTY, opponent
from engine.game import Game
from engine.native.jit import kernel
from engine.search.tree import Tree
from engine.vertex import NO_POINT, PASS
from engine.vertex import point_at as vertex_at
from engine.vertex import row_column as place_of

_LEAST_COUNT, _LEAST_SHARE, _LEAST_RECENT, _DECAY = 7.0, 0.5, 0.45, 0.75
_LEAST_SIDE, _REACH = 7, 3
_DIFFICULT = -0.5
"""Lead in points by mirroring to the end from which on a mirroring stone in the center is hard to beat."""
_FORCED = 100.0
"""Larger than every utility: the bonus of a move that has not had its share of visits."""
_LATEST = 4
"""Last moves of a walk that may differ from mirrored ones where the center decides the value."""
NEVER_BROKEN = 1 << 30


class Mirror(NamedTuple):
    """The opponent's mirroring: its color, EMPTY without; the points by which it wins if every move is mirrored; how
    far the stones around the center are from being mirrored, 0 if they are; the color of the center's stone."""

    color: int = EMPTY
    lead: float = 0.0
    error: float = 0.0
    center: int = EMPTY


class MirroredNode(NamedTuple):
    """A node of a walk whose moves have been mirrored so far.

    last: the move that led to it. answer: that move mirrored, see `mirrored_answer`. total: weight of its children.
    utility: of the node, for the side to move.
    """

    board: Board
    depth: int
    last: int
    answer: int
    total: float
    utility: float


def find_mirror(game: Game, color: int) -> Mirror:
    """Return whether the opponent of `color`, who is to move, mirrors, and what that means on this board."""
    count, total, recent, recent_total, is_last = 0, 0, 0.0, 0.0, False
    for before, move in zip(game.moves, game.moves[1:], strict=False):
        is_last = False
        if move.color != color:
            is_last = move.vertex == _mirrored_vertex(game, before.vertex)
            count, total = count + is_last, total + 1
            recent, recent_total = (recent + is_last) * _DECAY, (recent_total + 1) * _DECAY
    if count < _LEAST_COUNT + _LEAST_SHARE * total or recent < _LEAST_RECENT * recent_total or not is_last:
        return Mirror()
    mirroring, center = opponent(color), EMPTY
    if game.width % 2 and game.height % 2:
        center = game.color_at(vertex_at(game.height // 2, game.width // 2, game.width))
    extra = _extra_points(game)
    lead = extra - game.komi if mirroring == BLACK else game.komi - extra
    return Mirror(mirroring, lead, _center_error(game, color), center)


def _mirrored_vertex(game: Game, vertex: int) -> int:
    if vertex == PASS:
        return PASS
    row, column = place_of(vertex, game.width)
    return vertex_at(game.height - 1 - row, game.width - 1 - column, game.width)


def _extra_points(game: Game) -> float:
    """Return Black's points on a board that is filled by mirrored moves."""
    stones, extra = game.handicap, 0.0
    if game.rules.is_area:
        is_odd = game.width % 2 == 1 and game.height % 2 == 1
        extra = max(0, stones - 1) + float(is_odd == (stones == 0 or stones % 2 == 1))
    return extra - game.rules.handicap_bonus.points(stones)


def _center_error(game: Game, color: int) -> float:
    """Return how far the stones within three lines of the center are from being mirrored."""
    if min(game.width, game.height) < _LEAST_SIDE:
        return 1e10
    error, unmatched = 0.0, 0
    for down in range(-_REACH, _REACH + 1):
        for right in range(-_REACH, _REACH + 1):
            vertex = vertex_at(game.height // 2 + down, game.width // 2 + right, game.width)
            image = _mirrored_vertex(game, vertex)
            if image == vertex:
                continue
            error += game.color_at(vertex) == color and game.color_at(image) != opponent(color)
            unmatched += game.color_at(vertex) == opponent(color) and game.color_at(image) == EMPTY
    error += 0.2 * unmatched if error > 0.0 else 0.0
    return 0.5 * error * (1.0 + error) if error >= 1.0 else error


def write_mirror(record: np.void, mirror: Mirror) -> None:
    """Write an opponent's mirroring into a record of KERNEL_PARAMS, and turn off what would hide its weakness."""
    record["mirror_color"], record["mirror_center"] = mirror.color, mirror.center
    record["mirror_lead"], record["mirror_error"] = mirror.lead, mirror.error
    if mirror.color != EMPTY:
        for name in ("noise_prune_scale", "value_weight_exponent", "subtree_value_bias_factor"):
            record[name] = 0.0


@kernel
def mirror_of(board: Board, vertex: int) -> int:
    """Return a point mirrored through the center of the board; a pass is its own image."""
    if vertex == PASS:
        return PASS
    row, column = row_column(vertex, board[HEADER, WIDTH])
    return point_at(board[HEADER, HEIGHT] - 1 - row, board[HEADER, WIDTH] - 1 - column, board[HEADER, WIDTH])


@kernel
def center_of(board: Board) -> int:
    """Return the point in the center, NO_POINT if a side is even."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    if width % 2 == 0 or height % 2 == 0:
        return NO_POINT
    return point_at(height // 2, width // 2, width)


@kernel
def mirrored_answer(tree: Tree, node: int, board: Board, last: int) -> int:
    """Return the move that mirrors `last`, a pass where that is illegal; NO_POINT after a pass or without a move."""
    if last in (PASS, NO_POINT):
        return NO_POINT
    image = mirror_of(board, last)
    for edge in range(tree.nodes[node].edges):
        if tree.edge_vertex[node, edge] == image:
            return image
    return PASS


@kernel
def _distance(board: Board, one: int, two: int) -> int:
    """Return the squared distance of two points."""
    row, column = row_column(one, board[HEADER, WIDTH])
    other_row, other_column = row_column(two, board[HEADER, WIDTH])
    return int((row - other_row) ** 2 + (column - other_column) ** 2)


@kernel
def _touches(board: Board, vertex: int, center: int) -> bool:
    """Return whether a point is next to the chain in the center."""
    for direction in range(4):
        neighbor = vertex + neighbor_offset(direction, board[HEADER, STRIDE])
        if board[COLOR, neighbor] == board[COLOR, center] and board[HEAD, neighbor] == board[HEAD, center]:
            return True
    return False


@kernel
def _is_difficult(e: Any, board: Board) -> bool:
    """Return whether the mirroring side has the center and wins by mirroring."""
    center = center_of(board)
    return bool(center != NO_POINT and board[COLOR, center] == e.mirror_color and e.mirror_lead >= _DIFFICULT)


@kernel
def _central_share(e: Any, board: Board, vertex: int) -> float:
    """Return the share that a move at or near the center, or against the stone there, adds to its prior."""
    width, height = board[HEADER, WIDTH], board[HEADER, HEIGHT]
    row, column = row_column(vertex, width)
    aside = max((width - 1) // 2 - column, column - width // 2, (height - 1) // 2 - row, row - height // 2)
    if aside <= 0:
        return 0.3
    share, center = 0.05 if aside == 1 else 0.0, center_of(board)
    if center != NO_POINT and e.mirror_center == e.mirror_color:
        distance = _distance(board, vertex, center)
        if (board[COLOR, center] != EMPTY and _touches(board, vertex, center)) or distance <= 2:
            share = 0.05
        elif distance <= 4:
            share = 0.03
    return share


@kernel
def mirror_prior(e: Any, node: MirroredNode, color: int, vertex: int, prior: float) -> float:
    """Return a move's prior, raised if it mirrors the last one or, for the other side, is near the center."""
    share = 0.0
    if color == e.mirror_color:
        if vertex == node.answer:
            share = 3.0 if _is_difficult(e, node.board) else 1.0
    elif vertex != PASS:
        share = _central_share(e, node.board, vertex)
    return float(prior + (1.0 - prior) * share / (1.0 + math.sqrt(node.depth)))


@kernel
def _value_of_answer(e: Any, node: MirroredNode, weight: float, value: float) -> float:
    """Return the value, for the mirroring side, of its mirrored answer with a weight of visits."""
    # Between leads of -5 and 5 points the shares are beyond 0 and 1 except near 0, as they are in KataGo.
    forced, wanted = 0.05, 0.10
    if _is_difficult(e, node.board):
        forced, wanted = 0.20, 0.75
        if node.answer != PASS:
            far = math.sqrt(_distance(node.board, center_of(node.board), node.answer))
            forced = max(forced, 1.0 / (0.75 + 0.5 * far) / max(1.0, e.mirror_error))
    elif e.mirror_lead >= 5.0:
        forced, wanted = 0.15, 0.50
    elif e.mirror_lead >= -5.0:
        forced, wanted = 0.10 + e.mirror_lead, 0.30 + 4.0 * e.mirror_lead
    if node.answer == PASS:
        forced *= 0.35 / max(1.0, math.sqrt(e.mirror_error))
    if e.mirror_error >= 1.0:
        forced /= e.mirror_error
        wanted /= e.mirror_error
    part = max(0.3, 1.0 - 0.7 * node.utility * node.utility)
    if weight < forced * node.total:
        value += _FORCED
    if weight < wanted * node.total:
        value += 0.18 * part
    if weight < 0.5 * wanted * node.total:
        value += 0.36 * part
    return value


@kernel
def mirror_value(e: Any, node: MirroredNode, color: int, vertex: int, weight: float, value: float) -> float:
    """Return a visited move's value for `color`, raised until the move has its share of the node's visits.

    weight: of the move's visits.
    """
    if color == e.mirror_color:
        return _value_of_answer(e, node, weight, value) if vertex == node.answer else value
    board, center, forced = node.board, center_of(node.board), 0.0
    if vertex == PASS or center == NO_POINT:
        return value
    if _is_difficult(e, board):
        if _touches(board, vertex, center):
            liberties = board[LIBERTIES, board[HEAD, center]]
            part = max(0.3, 1.0 - 0.7 * node.utility * node.utility)
            value += 0.75 / (1.0 + liberties) / max(1.0, e.mirror_error) * part
            forced = 0.10 / liberties
        distance = _distance(board, vertex, center)
        if distance <= 4:
            forced = max(forced, 0.010 if distance <= 2 else 0.005)
    if vertex == center:
        forced = 0.06 if node.depth == 0 else 0.12
    loss = node.utility - value
    if loss > 0.0 and loss * forced > 0.03:
        forced += 0.5 * (0.03 / loss - forced)
    if node.last not in (PASS, NO_POINT):
        distance = _distance(board, center, node.last)
        if distance <= 16:
            forced *= 0.9
        if distance <= 5:
            forced *= 0.825
        if distance <= 2:
            forced *= 0.75
    return value + _FORCED if weight < forced * node.total else value


@kernel
def center_decides(e: Any, board: Board, depth: int) -> bool:
    """Return whether the center's owner corrects the value of the position at the end of a walk."""
    return bool(e.mirror_color != EMPTY and e.mirror_broken >= depth - _LATEST and _is_difficult(e, board))


@kernel
def value_by_center(e: Any, value: float, no_result: float, ownership: NDArray[np.float32], sign: float) -> float:
    """Return a value, Black-positive, after the center's owner was counted once more.

    ownership: [area], of the evaluation. sign: 1 if its values are Black-positive, else -1.
    """
    total, strength = 1.0 - no_result, 0.7 if e.mirror_error <= 0.0 else 0.3
    share = min(max(value / (total + 1e-10), -1.0 + 1e-15), 1.0 - 1e-15)
    owned = sign * ownership[ownership.shape[0] // 2]
    return float(total * math.tanh(math.atanh(share) + strength * owned))
