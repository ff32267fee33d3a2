"""--max-memory is divided among a network's models, the evaluation cache and the search tree."""

from dataclasses import asdict
from pathlib import Path

import pytest

from engine.encoders import ENCODERS
from engine.errors import GoError
from engine.evaluators.cache import CachedEvaluator
from engine.evaluators.factory import Computing, open_networks
from engine.evaluators.memory import CACHE_MIB, shares_of
from engine.game import Game
from engine.nets.random import random_spec
from tests.positions import batch_of, evaluated
from weights import native

MEBIBYTE = 1 << 20
NETWORK = 100


@pytest.mark.parametrize("limit", [116, 117, 200, 355, 356, 4096])
def test_network_cache_and_tree_take_what_is_given(limit: int) -> None:
    cache, tree = shares_of(limit, NETWORK * MEBIBYTE)
    assert NETWORK + cache + tree == limit
    assert 0 < cache <= CACHE_MIB
    assert tree >= 3 * cache


def test_a_smaller_limit_makes_the_cache_smaller() -> None:
    caches = [shares_of(limit, NETWORK * MEBIBYTE).cache for limit in (116, 140, 200, 300, 356, 1000)]
    assert caches == [4, 10, 25, 50, CACHE_MIB, CACHE_MIB]


def test_the_least_limit_that_works_is_named() -> None:
    with pytest.raises(GoError, match="--max-memory 115 is too small: at least 116, 100 for the network"):
        shares_of(115, NETWORK * MEBIBYTE)
    assert sum(shares_of(116, NETWORK * MEBIBYTE)) == 16


@pytest.mark.parametrize("backend", ["numba", "openvino"])
def test_the_cache_of_a_network_is_as_large_as_its_share(backend: str, tmp_path: Path) -> None:
    if backend == "openvino":
        pytest.importorskip("openvino")
    native.write(random_spec(1, 4, ENCODERS["liberties"], 1), tmp_path / "net.safetensors")
    tables = []
    computing = Computing(backend, "fp32", 1)
    options = {"net": str(tmp_path / "net.safetensors"), "profile": None, **asdict(computing)}
    unlimited = open_networks(options).network
    assert unlimited is not None
    least = -(-unlimited.facts.model_bytes // MEBIBYTE) + 16
    for limit in (least, least + 100):
        evaluator, network, _, tree_mib = open_networks(options | {"max_memory": limit})
        assert isinstance(evaluator, CachedEvaluator) and network is not None and tree_mib is not None
        evaluated(evaluator, batch_of([Game(9)]))
        tables.append(evaluator.table_bytes)
        assert network.facts.model_bytes + evaluator.table_bytes + tree_mib * MEBIBYTE <= limit * MEBIBYTE
        evaluator.close()
    assert tables[0] < tables[1]
    with pytest.raises(GoError, match=f"at least {least}, "):
        open_networks(options | {"max_memory": least - 1})
    unlimited.evaluator.close()


def test_without_a_network_the_tree_takes_all() -> None:
    options = {"net": "none", "profile": None, "max_memory": 300, **asdict(Computing("auto", "auto", 1))}
    opened = open_networks(options)
    assert (opened.network, opened.tree_mib) == (None, 300)
    opened.evaluator.close()
