"""What a model file may not hold in place of a tree of linear models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forests import Shape, draw_forest
from linear_trees import draw_tree, quadrants

from thrifty.errors import BundleError
from thrifty.model import LinearTree
from thrifty.model.linear_tree.audit import audit_linear_tree

DAMAGES = {
    "before its parent": {"right": [0, -1, -1]},
    "one parent": {"right": [1, -1, -1]},
    "outside the tree": {"left": [7, -1, -1]},
    "starts must increase": {"starts": [0, 3, 2, 4]},
    "beyond the 3 encoded columns": {"slots": [0, 1, 0, 3]},
    "beyond the 3 columns": {"columns": [0, 1, 3]},
    "category that does not exist": {"codes": [-1, -2, -1]},
    "scales must be positive": {"scales": [1.0, 0.0, 1.0]},
    "route must be finite": {"route": [1.0, np.nan, 0.0, 0.0]},
    "weights must be at most": {"weights": [[1.0], [1e300], [0.0], [0.0]]},
    "threshold has shape": {"threshold": [0.0]},
    "left must be 1-d of int64": {"left": [1.0, -1.0, -1.0]},
    "does not go with 2 outputs": {"weights": np.zeros((4, 2)), "bias": np.zeros((3, 2))},
}


def test_a_sound_state_passes():
    audit_linear_tree(*quadrants().state())
    audit_linear_tree(*draw_tree(3, "sum", "trees")[1].state())


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_array_is_refused(message):
    plain, arrays = quadrants().state()
    damaged = {name: np.array(value) for name, value in DAMAGES[message].items()}
    with pytest.raises(BundleError, match=message):
        LinearTree.build(plain, arrays | damaged)


@pytest.mark.parametrize(
    "change", [{"link": "mean"}, {"link": 3}, {"n_features": True}, {"parts": 5}, {"more": 1}]
)
def test_a_damaged_entry_is_refused(change):
    plain, arrays = quadrants().state()
    with pytest.raises(BundleError):
        LinearTree.build({**plain, **change}, arrays)


def test_unknown_and_missing_arrays_are_refused():
    plain, arrays = quadrants().state()
    with pytest.raises(BundleError, match="expected the arrays"):
        LinearTree.build(plain, {**arrays, "0/nodes": np.zeros(1)})
    with pytest.raises(BundleError, match="expected the arrays"):
        LinearTree.build(plain, {name: arrays[name] for name in arrays if name != "codes"})


def test_trees_that_do_not_fit_are_refused():
    _, tree, _ = draw_tree(3, "sum", "trees")
    plain, arrays = tree.state()
    assert len(arrays["slots"])
    with pytest.raises(BundleError, match="tree beyond the 8"):
        LinearTree.build(plain, {**arrays, "slots": arrays["slots"] + 8})
    wide = draw_forest(np.random.default_rng(0), Shape.of("mean", trees=8))
    with pytest.raises(BundleError, match="one value each"):
        LinearTree.build(*replace(tree, base=wide).state())
    narrow = draw_forest(np.random.default_rng(0), Shape(trees=8, features=3))
    with pytest.raises(BundleError, match="same columns"):
        LinearTree.build(*replace(tree, base=narrow).state())
