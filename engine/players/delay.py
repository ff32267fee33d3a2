"""The wait before a move is answered, which grows with how surprising the move is (KataGo's delayMoveScale)."""

from engine.board.layout import HEADER, HEIGHT, WIDTH
from engine.search.params import SearchParams
from engine.search.root import root_priors
from engine.search.search import Search
from engine.search.tree import ROOT
from engine.vertex import policy_index

_PRIOR_OFFSET = 0.1
_LEAST_SECONDS = 0.0001


def delay_of(search: Search, vertex: int, params: SearchParams) -> float:
    """Return the seconds to wait before a move is answered, random for equal moves; 0 if moves are not delayed.

    The mean is half of `delay_scale` over the prior of the move, by the human network if there is one.
    """
    if params.delay_scale <= 0.0 or params.delay_most <= 0.0:
        return 0.0
    mean = 0.5 * params.delay_scale / (_prior(search, vertex) + _PRIOR_OFFSET)
    return max(_LEAST_SECONDS, min(float(search.generator.gamma(2.0)) * mean / 2.0, params.delay_most))


def _prior(search: Search, vertex: int) -> float:
    if search.human_evaluation is not None:
        header = search.root.board[HEADER]
        return float(search.human_evaluation.policy[0, policy_index(vertex, int(header[WIDTH]), int(header[HEIGHT]))])
    vertices = search.tree.edge_vertex[ROOT, : search.tree.nodes[ROOT]["edges"]].tolist()
    return float(root_priors(search.tree)[vertices.index(vertex)]) if vertex in vertices else 0.0
