"""The gate on the leaves and the margin of a forest."""

from __future__ import annotations

import math

import numpy as np
import pytest
from forests import Shape, draw_forest
from gate_models import draw_parts, draw_rows, walk_through

from thrifty.errors import BundleError
from thrifty.model import Gate, LeafGate
from thrifty.model.leaf_gate import margin_of


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
def test_the_gate_value_is_the_leaf_weights_plus_the_slope_times_the_margin(link) -> None:
    rng = np.random.default_rng(4)
    local = draw_forest(rng, Shape.of(link, features=5))
    X = draw_rows(4, 60)
    weights = rng.normal(size=len(local.nodes))
    gate = LeafGate.on(local, weights, base=0.5, slope=-2.0)
    expected = 0.5 + weights[local.leaves(X)].sum(axis=0) - 2.0 * margin_of(local.raw(X))
    np.testing.assert_allclose(gate.score(X), expected, rtol=1e-12, atol=1e-12)
    for row in range(5):
        walk = walk_through(gate, X[row], range(5))
        assert walk.scores[0] == gate.score(X)[row]
        assert set(walk.touched) == set(np.flatnonzero(gate.used(X)[row]))
    again = LeafGate.build(*gate.state())
    np.testing.assert_array_equal(again.score(X), gate.score(X))


def test_only_a_forest_with_the_same_splits_has_the_same_trees() -> None:
    rng = np.random.default_rng(1)
    local, other = (draw_forest(rng, Shape.of("sigmoid", features=5)) for _ in range(2))
    gate = LeafGate.on(local, np.zeros(len(local.nodes)), 0.0, -1.0)
    assert gate.same_trees(local)
    assert not gate.same_trees(other)
    assert not gate.same_trees(gate)


def test_a_damaged_leaf_gate_is_refused() -> None:
    local = draw_forest(np.random.default_rng(0), Shape.of("sigmoid", features=5))
    plain, arrays = LeafGate.on(local, np.zeros(len(local.nodes)), 0.0, 1.0).state()
    for broken in ({**plain, "slope": math.inf}, {**plain, "slope": "1"}, {"slope": 1.0}):
        with pytest.raises(BundleError):
            LeafGate.build(broken, arrays)
    three_parts, others = Gate.of(*draw_parts(2), 0.5).state()
    with pytest.raises(BundleError):
        LeafGate.build({"parts": three_parts["parts"], "slope": 1.0}, others)
