"""Two searches at the same time in one process find what each finds alone."""

import threading

import pytest

from engine.evaluators.backends import network_evaluator
from engine.game import Game
from engine.nets.spec import NetSpec
from engine.search.params import SearchParams
from engine.search.search import Search
from engine.search.tree import ROOT
from tests.nets.examples import EXAMPLES
from tests.nets.kernels.lanes import needs_lanes

VISITS = 150
SIZES = [(9, 9), (7, 5)]


def edges(spec: NetSpec, backend: str, size: tuple[int, int]) -> list[tuple[int, float]]:
    """Return moves and priors of the root, and how the visits are spread, after a search in one thread."""
    evaluator = network_evaluator(spec, backend, "fp32", threads=1)
    search = Search(evaluator, SearchParams(random_symmetries=False))
    game = Game(*size)
    search.begin(game, game.to_play, game.legal_vertices())
    search.run([], VISITS)
    tree, count = search.tree, int(search.tree.nodes[ROOT]["edges"])
    found = list(zip(tree.edge_vertex[ROOT, :count].tolist(), tree.edge_prior[ROOT, :count].tolist(), strict=True))
    search.close()
    evaluator.close()
    return found


@pytest.mark.parametrize("backend", [pytest.param("numba", marks=needs_lanes), "openvino", "torch"])
@pytest.mark.parametrize("name", ["softmax silu", "transformer"])
def test_two_searches_at_once_do_not_disturb_each_other(name: str, backend: str) -> None:
    pytest.importorskip(backend)
    spec = EXAMPLES[name]
    alone = [edges(spec, backend, size) for size in SIZES]
    together: dict[int, list[tuple[int, float]]] = {}

    def work(place: int) -> None:
        together[place] = edges(spec, backend, SIZES[place % 2])

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[place] for place in range(4)] == alone * 2
