"""Rows stop in NumPy where the kernel stops them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from short_circuits import CLASSES, GRAINS, SEEDS, draw, stumps

from thrifty.model import ShortCircuit
from thrifty.model.short_circuit import short_circuit as module
from thrifty.model.short_circuit.descent import descend_until_settled


@given(SEEDS, st.sampled_from([*CLASSES, "sum"]), GRAINS)
def test_numpy_and_the_kernel_agree_to_the_bit(seed, link, grain):
    rng, forest, X = draw(seed, link, grain)
    tolerance = 2.0 * float(rng.random()) if link == "sum" else 0.0
    model = ShortCircuit.of(forest, rng.permutation(len(forest.roots)), tolerance)
    by_kernel = model._run(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "find_spec", lambda name: None)
        in_numpy = model._run(X)
    for one, other in zip(by_kernel, in_numpy, strict=True):
        np.testing.assert_array_equal(one, other)


def test_settled_rows_leave_their_trees_where_they_stand():
    model = ShortCircuit.of(stumps([([1, 0], [0, 1])] * 3, "vote"))
    X = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    used = np.zeros((2, 3), dtype=bool)
    position, done = descend_until_settled(model.forest, model.bounds, model.order, X, used)
    assert position.tolist() == [[2, 5, 6], [2, 4, 8]]  # node 6 is the root of the last tree
    assert done.tolist() == [2, 3]
    assert used.tolist() == [[True, True, False], [True, True, True]]
