"""A node's edges: its legal moves, the best prior first."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.search.expansion import expand, new_sorting
from engine.search.tree import PRIOR_SCALE, ROOT, new_tree
from engine.vertex import from_policy_index


@pytest.mark.parametrize("size", [2, 9, 19, 25])
@given(seed=st.integers(0, 2**32 - 1), sharpness=st.floats(0.0, 60.0), share=st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_edges_are_the_legal_moves_by_falling_priors_and_equal_ones_in_policy_order(
    size: int, seed: int, sharpness: float, share: float
) -> None:
    generator = np.random.default_rng(seed)
    logits = np.round(sharpness * generator.normal(size=size * size + 1), 1)
    policy = np.exp(logits - logits.max()).astype(np.float32)
    policy /= policy.sum()
    legal = generator.random(len(policy)) < share
    tree = new_tree(4, size * size, rave=False)
    expand(tree, ROOT, legal, policy, size, new_sorting(len(policy)))
    coded = (np.sqrt(policy.astype(np.float64)) * PRIOR_SCALE).astype(np.int64)
    moves = np.flatnonzero(legal)
    expected = moves[np.argsort(-coded[moves], kind="stable")]
    count = int(tree.nodes[ROOT]["edges"])
    assert tree.edge_vertex[ROOT, :count].tolist() == [from_policy_index(int(each), size, size) for each in expected]
    assert tree.edge_prior[ROOT, :count].tolist() == coded[expected].tolist()
