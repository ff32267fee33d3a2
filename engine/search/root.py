"""Prepares the root of a search: the position for kernels, the moves to search, noise and temperature."""

from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.board.area import pass_alive_owners
from engine.board.facts import ALTERNATING, KO_NOW, PASS_EFFECT, PASS_GOES_ON
from engine.board.kernels import position_hash
from engine.board.layout import COLOR, HEADER, HEIGHT, KO_POINT, TO_PLAY, WIDTH
from engine.color import BLACK, WHITE, for_color
from engine.evaluation.positions import HISTORY, PositionBatch, row_hash
from engine.game import Game
from engine.history import FINAL_PHASE
from engine.rules import HandicapBonus, Ko, Tax
from engine.search.params import SearchParams
from engine.search.position import CLOSED, KEY_SETS, Root, put_all_in_set
from engine.search.shapes import played_shapes
from engine.search.tree import NO_LINK, PRIOR_SCALE, ROOT, Tree, links_of
from engine.symmetry import applicable, map_vertex, vertex_table
from engine.vertex import NO_POINT, PASS, points, row_column

_TAX_CODES = {Tax.NONE: 0, Tax.SEKI: 1, Tax.ALL: 2}


# More than 60 lines: a list of the root's fields, each with its source.
def root_position(
    game: Game,
    color: int,
    legal: Collection[int],
    dead: Collection[int],
    region: Collection[int] | None,
    avoid: NDArray[np.int16] | None,
) -> Root:
    """Return the position of a game, with `color` to play, in the form that the search kernels read.

    legal: points to search at the root; a pass is always searched.
    dead: vertices of stones that count as dead in positions that end the game.
    region: points that may be played anywhere in the tree, None for all.
    avoid: [3, n], by color and vertex the depth below which a move must not be played; the root has depth 0.
    """
    boards, facts = game.recent_boards(HISTORY), game.facts(color)
    boards += boards[-1:] * (HISTORY - len(boards))
    board = boards[0].copy()
    board[HEADER, TO_PLAY], board[HEADER, KO_POINT] = color, facts[KO_NOW]
    colors = np.stack([each[COLOR].astype(np.int8) for each in boards])
    moves = np.full(HISTORY, NO_POINT, dtype=np.int16)
    for age, move in enumerate(reversed(game.moves[-HISTORY:])):
        moves[age] = move.vertex
    within = np.ones(board.shape[1], dtype=np.bool_)
    if region is not None:
        within[:] = False
        within[list(region)] = True
    avoided = np.zeros((3, board.shape[1]), dtype=np.int16) if avoid is None else avoid.copy()
    playable = np.zeros(board.shape[1], dtype=np.bool_)
    playable[[*legal, PASS]] = True
    avoided[color, ~playable] = np.maximum(avoided[color, ~playable], 1)
    dead_colors = np.zeros(board.shape[1], dtype=np.int8)
    for vertex in dead:
        dead_colors[vertex] = board[COLOR, vertex]
    mask, marks, second_start = game.legal_arrays(color)
    if region is not None:
        mask[:-1] &= within[points(game.width, game.height)]
    seen, seen_twice = _seen(game.keys_since_pass())
    return Root(
        board=board,
        colors=colors,
        hashes=np.array([position_hash(each) for each in boards], dtype=np.uint64),
        moves=moves,
        facts=facts,
        marks=marks,
        second_start=second_start,
        passes_before=_key_set(game.remembered_passes(color)),
        seen=_key_set(seen),
        seen_twice=_key_set(seen_twice),
        superko=_key_set(game.superko_keys()),
        occupied=game.ever_occupied.copy(),
        legal=mask,
        region=within,
        avoid=avoided,
        avoid_depth=int(avoided.max()),
        number=game.move_number,
        dead=dead_colors,
        white_bonus=float(game.white_bonus),
        passes=int(game.consecutive_passes) if color == game.to_play else 0,
        button=bool(game.has_button),
        handicap=_open_handicap(game, color),
        handicap_less=1 if game.rules.handicap_bonus is HandicapBonus.N_MINUS_ONE else 0,
        counts_moves=not game.rules.is_area and game.phase < FINAL_PHASE,
        can_be_void=game.rules.ko is Ko.SIMPLE,
        remembers_passes=game.rules.ko is Ko.SIMPLE or game.phase > 0,
        pass_ends_game=game.rules.is_area or game.phase == FINAL_PHASE,
        situational=game.rules.ko is Ko.SITUATIONAL,
        suicide=game.rules.suicide,
        is_area=game.rules.is_area,
        tax=_TAX_CODES[game.rules.tax],
        color=color,
        cautious=game.rules.friendly_pass and len(dead) > 0,
        may_settle=_may_settle(game, color),
        shapes=_key_set(np.zeros(0, dtype=np.uint64)),
        shape_color=color,
        shape_bonus=0.0,
    )


def with_shapes(root: Root, game: Game, color: int, penalty: float) -> Root:
    """Return a root below which a color loses `penalty` of utility by repeating a shape of its moves in the game."""
    keys, bonus = _key_set(played_shapes(game, color)), for_color(-penalty, color)
    return root._replace(shapes=keys, shape_color=color, shape_bonus=bonus)


def without_past(root: Root) -> Root:
    """Return a root whose earlier boards and moves are hidden from evaluators; the rules still know them."""
    facts = root.facts.copy()
    facts[ALTERNATING] = 0
    return root._replace(
        facts=facts,
        colors=np.repeat(root.colors[:1], HISTORY, axis=0),
        hashes=np.repeat(root.hashes[:1], HISTORY),
        moves=np.full(HISTORY, NO_POINT, dtype=np.int16),
    )


def hide_past(positions: PositionBatch) -> None:
    """Hide the earlier moves and boards of row 0 from evaluators, and that a pass would end the game (KataGo)."""
    positions.colors[0] = positions.colors[0, 0]
    positions.board_hashes[0] = positions.board_hashes[0, 0]
    positions.moves[0] = NO_POINT
    positions.facts[0, [PASS_EFFECT, ALTERNATING]] = PASS_GOES_ON, 0
    names = ("board_hashes", "moves", "legal", "facts", "marks", "second_start", "to_play")
    positions.hashes[0] = row_hash(*(getattr(positions, name)[0] for name in names))


def _open_handicap(game: Game, color: int) -> int:
    """Return the number of handicap stones if Black's next stone may be one more of them, else CLOSED."""
    if game.rules.handicap_bonus is HandicapBonus.ZERO or game.setup_white:
        return CLOSED
    is_closed = any(move.color == WHITE and move.vertex != PASS for move in game.moves)
    colors = [*(move.color for move in game.moves), color]
    if is_closed or (WHITE, WHITE) in pairwise(colors):
        return CLOSED
    return len(game.setup_black) + sum(move.color == BLACK and move.vertex != PASS for move in game.moves)


def _may_settle(game: Game, color: int) -> bool:
    """Return whether the score is known where every point is pass-alive, and half of the board already is."""
    bonus_is_fixed = not game.has_button and _open_handicap(game, color) == CLOSED
    if not (game.rules.is_area and game.rules.tax is Tax.NONE and bonus_is_fixed):
        return False
    owner = pass_alive_owners(game.board, game.rules.suicide)
    return 2 * int(np.count_nonzero(owner)) >= game.width * game.height


def _seen(keys: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the keys without repetitions, and those that occur more than once."""
    if len(keys) == 0:
        return keys, keys
    seen, times = np.unique(keys, return_counts=True)
    return seen, seen[times > 1]


def _key_set(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return an open-addressed set of keys, at most a quarter full; a table of one slot if there are no keys."""
    if len(keys) == 0:
        return np.zeros(1, dtype=np.uint64)
    table = np.zeros(max(16, 1 << (4 * len(keys) - 1).bit_length()), dtype=np.uint64)
    put_all_in_set(table, keys)
    return table


def mirrored_moves(game: Game, color: int, legal: Collection[int]) -> dict[int, int]:
    """Return the legal moves that need no search because they mirror another move, each with that move.

    A symmetry counts if it maps the stones and the ko point to themselves; the history does not matter. Of mirror
    images the one nearest to the top right is searched, where people place a first move.
    """
    ko = int(game.facts(color)[KO_NOW])
    symmetries = _symmetries(game, ko)
    if not symmetries:
        return {}
    kept: dict[int, int] = {}

    def from_the_top_right(vertex: int) -> tuple[int, int]:
        row, column = row_column(vertex, game.width)
        return row, -column

    found: dict[int, int] = {}
    for vertex in sorted(legal, key=from_the_top_right):
        images = {map_vertex(vertex, each, game.width, game.height) for each in symmetries}
        original = next((kept[image] for image in images if image in kept), None)
        if original is None:
            kept[vertex] = vertex
        elif vertex not in kept:
            kept[vertex] = original
            found[vertex] = original
    return found


def _symmetries(game: Game, ko: int) -> list[int]:
    """Return the symmetries, except the identity, that map the stones and the ko point to themselves."""
    tables = _vertex_tables(game.width, game.height)
    colors = game.board[COLOR, : tables.shape[1]]
    maps = (colors[tables] == colors).all(axis=1)
    if ko != NO_POINT:
        maps &= tables[:, ko] == ko
    return (1 + np.flatnonzero(maps)).tolist()


@lru_cache
def _vertex_tables(width: int, height: int) -> NDArray[np.int16]:
    """Return the `vertex_table` of each symmetry of the board but the identity: [symmetries, array_length]."""
    return np.stack([vertex_table(each, width, height) for each in applicable(width, height)[1:]])


def size_of(root: Root) -> tuple[int, int]:
    """Return (width, height) of the board."""
    return int(root.board[HEADER, WIDTH]), int(root.board[HEADER, HEIGHT])


def root_priors(tree: Tree) -> NDArray[np.float64]:
    """Return the decoded priors of the root's edges, in the order of the edges."""
    count = int(tree.nodes[ROOT]["edges"])
    priors: NDArray[np.float64] = (tree.edge_prior[ROOT, :count] / PRIOR_SCALE) ** 2
    return priors


def set_root_priors(tree: Tree, priors: NDArray[np.float64]) -> None:
    """Replace the root's priors, in the order of its edges, and sort the unvisited edges again."""
    count, visited = int(tree.nodes[ROOT]["edges"]), int(tree.nodes[ROOT]["children"])
    order = np.concatenate([np.arange(visited), visited + np.argsort(-priors[visited:], kind="stable")])
    tree.edge_prior[ROOT, :count] = np.round(np.sqrt(priors[order]) * PRIOR_SCALE)
    tree.edge_vertex[ROOT, :count] = tree.edge_vertex[ROOT, order]
    if tree.human_prior.shape[0]:
        tree.human_prior[ROOT, :count] = tree.human_prior[ROOT, order]
    if tree.rave_visits.shape[0]:
        tree.rave_visits[ROOT, :count] = tree.rave_visits[ROOT, order]
        tree.rave_value[ROOT, :count] = tree.rave_value[ROOT, order]


def root_temperature(params: SearchParams, move_number: int, area: int) -> float:
    """Return the temperature of the root's priors after `move_number` moves on a board of `area` points."""
    late = params.root_policy_temperature
    return params.at_move(params.early_root_policy_temperature or late, late, move_number, area)


def shapes_priors(params: SearchParams, temperature: float) -> bool:
    """Return whether `shaped_priors` changes anything."""
    return temperature != 1.0 or (params.adds_noise and params.noise_fraction > 0.0)


def shaped_priors(
    priors: NDArray[np.float64], params: SearchParams, temperature: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Return a root's priors after temperature and Dirichlet noise.

    Alpha is `noise_concentration` divided by the number of legal moves (KataGo: 10.83 = 0.03 * 361).
    """
    if temperature != 1.0:
        priors = (priors / priors.max()) ** (1.0 / temperature)
        priors = priors / priors.sum()
    if params.adds_noise and params.noise_fraction > 0.0:
        noise = generator.dirichlet(np.full(len(priors), params.noise_concentration / len(priors)))
        priors = (1.0 - params.noise_fraction) * priors + params.noise_fraction * noise
    return priors


def drop_root_moves(tree: Tree, avoided: NDArray[np.int16]) -> bool:
    """Unlink visited moves that must not be played from the root; return whether there are any.

    The root's values count them until it is recomputed. avoided: [n], above 0 for such moves. Also sorts the unvisited
    edges, which earlier searches may have reordered.
    """
    links = links_of(tree, ROOT)
    count = int(tree.nodes[ROOT]["edges"])
    vertices = tree.edge_vertex[ROOT, : len(links)]
    stays = avoided[vertices] <= 0
    order = np.concatenate([np.flatnonzero(stays), np.flatnonzero(~stays), np.arange(len(links), count)])
    kept = [link for link, stay in zip(links, stays, strict=True) if stay]
    for rows in (tree.edge_vertex, tree.edge_prior, tree.human_prior, tree.rave_visits, tree.rave_value):
        if rows.shape[0]:
            rows[ROOT, :count] = rows[ROOT, order]
    for link, following in zip(kept, [*kept, NO_LINK][1:], strict=True):
        tree.links[link]["next"] = following
    tree.nodes[ROOT]["first_link"], tree.nodes[ROOT]["last_link"] = (kept[0], kept[-1]) if kept else (NO_LINK, NO_LINK)
    tree.nodes[ROOT]["children"] = len(kept)
    tree.nodes[ROOT]["visits"] = 1 + int(tree.links[kept]["visits"].sum())
    set_root_priors(tree, root_priors(tree))
    return len(kept) < len(links)


def stored_root(root: Root, store: Any) -> Any:
    """Return a root with an axis of length 1 in front of all its arrays, in those of `store` if they have its sizes."""
    values: tuple[Any, ...] = root
    # Closures over the same arrays stay valid from search to search.
    if store is None or any(len(getattr(root, name)) != getattr(store, name).shape[1] for name in KEY_SETS):
        return as_only_one(Root._make([np.copy(each) for each in values]))
    for kept, each in zip(store, values, strict=True):
        kept[0] = each
    return store


def as_only_one(value: Any) -> Any:
    """Add an axis of length 1 in front of all arrays and numbers of a named tuple."""
    return type(value)(*(np.asarray(each)[None] for each in value))
