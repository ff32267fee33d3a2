"""What is special at the root: the position in kernel form, noise, and the choice of a move."""

from collections.abc import Collection
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from engine.board.kernels import position_hash
from engine.board.layout import COLOR, HEADER, KO_POINT, TO_PLAY
from engine.color import BLACK, WHITE
from engine.evaluators.base import HISTORY, legality_of
from engine.facts import KO_NOW
from engine.game import Game
from engine.history import FINAL_PHASE
from engine.rules import HandicapBonus, Ko, Tax
from engine.search.params import SearchParams
from engine.search.position import CLOSED, Root, put_in_set
from engine.search.tree import PRIOR_SCALE, ROOT, Tree, child_nodes
from engine.vertex import NO_POINT, PASS, policy_index

_TAX_CODES = {Tax.NONE: 0, Tax.SEKI: 1, Tax.ALL: 2}


def root_position(game: Game, color: int, legal: Collection[int], dead: Collection[int]) -> Root:
    """Return the position of a game, `color` to play, as the search kernels read it.

    legal: the points that the root may play; pass is always added.
    dead: vertices of stones that count as dead in positions that end the game.
    """
    boards, facts = game.recent_boards(HISTORY), game.facts(color)
    boards += boards[-1:] * (HISTORY - len(boards))
    board = boards[0].copy()
    board[HEADER, TO_PLAY], board[HEADER, KO_POINT] = color, facts[KO_NOW]
    colors = np.stack([each[COLOR].astype(np.int8) for each in boards])
    moves = np.full(HISTORY, NO_POINT, dtype=np.int16)
    for age, move in enumerate(reversed(game.moves[-HISTORY:])):
        moves[age] = move.vertex
    mask = np.zeros(game.width * game.height + 1, dtype=np.bool_)
    mask[[policy_index(vertex, game.width, game.height) for vertex in legal]] = True
    mask[-1] = True
    dead_colors = np.zeros(board.shape[1], dtype=np.int8)
    for vertex in dead:
        dead_colors[vertex] = board[COLOR, vertex]
    _, marks, second_start = legality_of(game, color)
    seen, times = np.unique(game.keys_since_pass(), return_counts=True)
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
        seen_twice=_key_set(seen[times > 1]),
        superko=_key_set(game.superko_keys()),
        occupied=game.ever_occupied.copy(),
        legal=mask,
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
    )


def _open_handicap(game: Game, color: int) -> int:
    """Return how many black stones stand at the start if Black's next stone may be one more, else CLOSED."""
    is_closed = game.setup_white or any(move.color == WHITE and move.vertex != PASS for move in game.moves)
    colors = [*(move.color for move in game.moves), color]
    if game.rules.handicap_bonus is HandicapBonus.ZERO or is_closed or (WHITE, WHITE) in pairwise(colors):
        return CLOSED
    return len(game.setup_black) + sum(move.color == BLACK and move.vertex != PASS for move in game.moves)


def _key_set(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return an open-addressed set of keys, at most a quarter full; one place where there are none."""
    if len(keys) == 0:
        return np.zeros(1, dtype=np.uint64)
    table = np.zeros(max(16, 1 << (4 * len(keys) - 1).bit_length()), dtype=np.uint64)
    for key in keys:
        put_in_set(table, key)
    return table


def add_noise(tree: Tree, params: SearchParams, generator: np.random.Generator) -> None:
    """Mix Dirichlet noise into the root's priors and put its unvisited edges in order again.

    Alpha is `noise_concentration` over the number of legal moves (KataGo: 10.83 = 0.03 * 361).
    """
    count = int(tree.edges[ROOT])
    priors = root_priors(tree)
    alpha = params.noise_concentration / count
    noise = generator.dirichlet(np.full(count, alpha))
    set_root_priors(tree, (1 - params.noise_fraction) * priors + params.noise_fraction * noise)


def root_priors(tree: Tree) -> NDArray[np.float64]:
    """Return the priors of the root's edges, decoded, in the order of the edges."""
    count = int(tree.edges[ROOT])
    priors: NDArray[np.float64] = (tree.edge_prior[ROOT, :count] / PRIOR_SCALE) ** 2
    return priors


def set_root_priors(tree: Tree, priors: NDArray[np.float64]) -> None:
    """Replace the root's priors, given in the order of its edges; unvisited edges are sorted anew."""
    count, visited = int(tree.edges[ROOT]), int(tree.children[ROOT])
    order = np.concatenate([np.arange(visited), visited + np.argsort(-priors[visited:], kind="stable")])
    tree.edge_prior[ROOT, :count] = np.round(np.sqrt(priors[order]) * PRIOR_SCALE)
    tree.edge_vertex[ROOT, :count] = tree.edge_vertex[ROOT, order]
    if tree.rave_visits.shape[0]:
        tree.rave_visits[ROOT, :count] = tree.rave_visits[ROOT, order]
        tree.rave_value[ROOT, :count] = tree.rave_value[ROOT, order]


def choose_child(tree: Tree, temperature: float, generator: np.random.Generator) -> int | None:
    """Return the index of the root's child to play, or None without children.

    Temperature 0 plays the most visited, the better value breaking ties; else a child is drawn with
    probability proportional to visits ** (1 / temperature).
    """
    children = [child for child in child_nodes(tree, ROOT) if tree.visits[child] > 0]
    if not children:
        return None
    visits = tree.visits[children].astype(np.float64)
    if temperature <= 0:
        sign = 1 if tree.to_play[ROOT] == 1 else -1
        values = sign * tree.value_sum[children] / visits
        return children[int(np.lexsort((values, visits))[-1])]
    logits = np.log(visits) / temperature
    weights = np.exp(logits - logits.max())
    return children[int(generator.choice(len(children), p=weights / weights.sum()))]
