"""Learning one tree: sweeps, and models over decreasing penalties."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from soft_tree_cases import LOSSES, SHAPES, random_objective, random_tree

from thrifty import CostTreeRegressor, Prices
from thrifty.learn.cost_tree.fit import MAX_GROWN_NODES, descend, grow_tree, initial_tree
from thrifty.learn.cost_tree.objective import HalfSquaredError, LogisticLoss


@settings(max_examples=6, deadline=None)
@given(
    st.integers(0, 2**31 - 1), st.sampled_from(sorted(SHAPES)), st.booleans(),
    st.sampled_from([0.0, 1e-3, 0.05]),
)  # fmt: skip
def test_the_objective_never_increases_between_sweeps(seed, kind, squared, penalty) -> None:
    rng = np.random.default_rng(seed)
    shape, at_exit = SHAPES[kind]
    loss = HalfSquaredError("sum") if squared else LogisticLoss()
    on = random_objective(rng, loss, at_exit, n=25, penalty=penalty)
    for tree in (initial_tree(on, shape), random_tree(rng, shape)):
        values = np.array(descend(on, tree, 3))
        assert np.all(np.diff(values) <= 1e-9 * values[:-1])
        assert values[-1] < values[0]
        assert np.isfinite(tree.weights).all()


def test_the_initial_threshold_is_the_mean_of_the_values() -> None:
    on = random_objective(np.random.default_rng(0), LOSSES["logistic"])
    tree = initial_tree(on, SHAPES["tree"][0])
    np.testing.assert_allclose(tree.threshold[0], on.weight @ on.node_values(tree)[:, 0])


def test_a_deep_tree_splits_the_leaf_with_the_largest_loss_and_stays_small() -> None:
    rng = np.random.default_rng(4)
    on = random_objective(rng, LOSSES["squared"], n=200, penalty=0.0)
    tree = grow_tree(on, 2)
    np.testing.assert_allclose(tree.weights[:3], initial_tree(on, SHAPES["tree"][0]).weights[:3])
    assert len(tree.shape) == 7
    deep = grow_tree(on, 10)
    assert len(deep.shape) == MAX_GROWN_NODES
    assert 4 < deep.shape.ancestry.sum(axis=1).max() - 1 <= 10


def test_nothing_pays_above_the_largest_penalty_and_something_does_below() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    y = 3.0 * X[:, 0]
    model = CostTreeRegressor(Prices([2.0, 2.0]), max_depth=0)
    train = model._read_training(X, y)
    (learner,) = model._learners(train, None)
    largest = learner.largest_penalty()
    np.testing.assert_allclose(largest, 0.5 * y.var() / 2.0)
    candidates = learner.candidates([1.5 * largest, 0.1 * largest])
    cheap, full = (
        learner.freeze(learner.best(candidates, factor * largest)) for factor in (1.5, 0.1)
    )
    assert cheap is learner.constant
    assert full.used(X).all(axis=0).tolist() == [True, False]
