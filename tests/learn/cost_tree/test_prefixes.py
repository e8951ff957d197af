"""Trees made of the first base trees, with and without an exit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from thrifty import CostTreeClassifier, CostTreeRegressor, Prices
from thrifty.learn.cost_tree import prefixes
from thrifty.learn.cost_tree.prefixes import (
    CASCADE_EXIT,
    EXIT_BOTH_SIDES,
    EXIT_IF_LOW,
    Prefixes,
    undominated,
)

EXITS = {"low": EXIT_IF_LOW, "cascade": CASCADE_EXIT, "both sides": EXIT_BOTH_SIDES}


def table(n=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, X[:, 0] + np.where(np.abs(X[:, 0]) < 0.7, X[:, 1] * X[:, 2], 0.0) > 0


@pytest.fixture
def learner():
    """A learner on boosted trees, with weights and an evaluation price."""
    X, y = table()
    model = CostTreeClassifier(
        Prices([1.0, 4.0, 4.0, 2.0], evaluation=0.1), base="boosted", n_estimators=24
    )
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    return model._learners(model._read_training(X, y, weight), None)[0]


def test_sums_are_the_scores_of_the_boosted_model(learner) -> None:
    judge, forest = learner.objective.at(1.0), learner.inputs.forest
    X = table()[0]
    found = list(Prefixes(learner.inputs, judge).trees(None))
    assert len(found) > 3
    for tree, _, _ in found:
        trees = int(np.flatnonzero(tree.uses[0]).max()) + 1
        np.testing.assert_allclose(tree.outputs(judge.Z), forest.prefix(trees).raw(X)[:, 0])


@pytest.mark.parametrize("exits", EXITS.values(), ids=EXITS)
def test_losses_and_bills_are_those_of_the_trees(learner, exits) -> None:
    judge = learner.objective.at(1.0)
    found = list(Prefixes(learner.inputs, judge).trees(exits))
    assert any(len(tree.shape) > 1 for tree, _, _ in found)
    for tree, loss, bill in found:
        np.testing.assert_allclose(tree.loss_and_cost(judge), (loss, bill))


def test_rows_exit_where_the_first_trees_are_sure(learner) -> None:
    judge = learner.objective.at(1.0)
    found = [one.tree for one in Prefixes(learner.inputs, judge).trees(EXIT_BOTH_SIDES)]
    tree = next(tree for tree in found if len(tree.shape) > 1)
    score = judge.Z @ tree.route[0] + tree.bias[0]
    going_on = tree.exit_nodes(judge.Z, np.arange(len(judge.Z)), 0) == EXIT_BOTH_SIDES.last
    assert np.abs(score[going_on]).max() < np.abs(score[~going_on]).min()
    assert (score[~going_on] > 0).any() and (score[~going_on] < 0).any()


def test_few_numbers_of_trees_are_tried_if_each_tree_costs_more(learner, monkeypatch) -> None:
    monkeypatch.setattr(prefixes, "MAX_PREFIXES", 5)
    ends = Prefixes(learner.inputs, learner.objective)._ends()
    assert 3 <= len(ends) <= 5
    assert ends[-1] == len(learner.inputs.scales)


def test_a_score_with_one_value_has_no_exit() -> None:
    assert len(prefixes._between_values(np.ones(5))) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=8))
def test_undominated_ones_are_beaten_by_none(pairs) -> None:
    bill, loss = np.array(pairs, dtype=float).T
    found = {(bill[i], loss[i]) for i in undominated(bill, loss)}
    kept = {
        (b, q)
        for b, q in zip(bill, loss, strict=True)
        if not any((c <= b and r <= q) and (c, r) != (b, q) for c, r in pairs)
    }
    assert found == kept


def test_exits_reach_a_lower_loss_within_a_bill(learner) -> None:
    found = Prefixes(learner.inputs, learner.objective.at(1.0))
    with_exits, without = (
        min(loss for _, loss, bill in found.trees(exits) if bill <= 8.0)
        for exits in (EXIT_BOTH_SIDES, None)
    )
    assert with_exits < 0.95 * without


def test_boosted_sums_are_frozen_as_they_are(learner) -> None:
    candidate = next(one for one in learner._prefixes() if len(one.tree.shape) > 1)
    X = table()[0]
    frozen = learner.freeze(candidate)
    np.testing.assert_allclose(frozen.raw(X)[:, 0], candidate.tree.outputs(learner.objective.Z))


def test_a_regression_has_the_boosted_sums_too() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = 100.0 + 10.0 * (X[:, 0] > 0) + X[:, 1]
    model = CostTreeRegressor(base="boosted", n_estimators=30, max_depth=1, max_sweeps=0)
    points = list(model.path(X, y, validation=(X, y)))
    # Those that come from a soft tree tell its penalty.
    assert any(point.bill > 0 and not point.knob for point in points)
    assert max(point.quality for point in points) > 0.95


def test_a_path_of_several_classes_has_points_between() -> None:
    X, y = load_iris(return_X_y=True)
    model = CostTreeClassifier(base="boosted", n_estimators=20, max_depth=0, max_sweeps=0)
    points = list(model.path(X[::2], y[::2], validation=(X[1::2], y[1::2])))
    assert len({round(point.bill, 6) for point in points}) >= 4
