"""Simpler prunings of a forest: the same interface as PrunedForestClassifier, and known results."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from thrifty import Prices, load
from thrifty.checks import laws
from thrifty.errors import DataError
from thrifty.learn.baselines import (
    CostComplexityClassifier,
    EarlyStoppingClassifier,
    FewerTreesClassifier,
    GreedyPruneClassifier,
)
from thrifty.learn.baselines.pruning import gini_sums

PRUNERS = [
    CostComplexityClassifier,
    EarlyStoppingClassifier,
    FewerTreesClassifier,
    GreedyPruneClassifier,
]


@pytest.fixture
def train(draw):
    """A training set of three classes."""
    return draw(0, n=200, classes=3)


@pytest.fixture
def validation(draw):
    """A validation set of three classes."""
    return draw(1, n=200, classes=3)


@pytest.fixture
def new_rows(draw):
    """Rows that no model was trained on."""
    return draw(2, n=200, classes=3)[0]


@pytest.fixture
def forest(train):
    """A fitted random forest of nine trees."""
    return RandomForestClassifier(9, random_state=0).fit(*train)


@pytest.mark.parametrize("pruner", PRUNERS)
def test_the_default_knob_keeps_the_forest(pruner, forest, prices, train, validation):
    model = pruner(forest, prices).fit(*train, validation=validation)
    np.testing.assert_allclose(model.predict_proba(train[0]), forest.predict_proba(train[0]))


@pytest.mark.parametrize("pruner", PRUNERS)
def test_a_path_goes_from_the_constant_to_the_forest(pruner, forest, prices, train, validation):
    points = list(pruner(forest, prices).path(*train, validation=validation))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0 and bills[1] > 0.0
    assert len(points) > 5
    full = FewerTreesClassifier(forest, prices).fit(*train, validation=validation)
    assert bills[-1] <= full.bill(validation[0]).mean() + 1e-12
    for point in points[1::4]:
        assert point.bill == point.model.bill(validation[0]).mean()
        assert point.quality == np.mean(point.model.predict(validation[0]) == validation[1])


@pytest.mark.parametrize("pruner", PRUNERS)
def test_a_point_is_what_fit_gives_for_its_knob(
    pruner, forest, prices, train, validation, new_rows
):
    for point in list(pruner(forest, prices).path(*train, validation=validation))[1::3]:
        model = pruner(forest, prices, **point.knob).fit(*train, validation=validation)
        np.testing.assert_array_equal(
            model.predict_proba(new_rows), point.model.predict_proba(new_rows)
        )


@pytest.mark.parametrize("pruner", PRUNERS)
def test_a_pruned_forest_is_saved_and_walks(pruner, prices, train, new_rows, tmp_path):
    model = pruner(prices=prices, n_estimators=4, random_state=0).fit(*train)
    model.save(tmp_path / "pruned.thrifty")
    walk = load(tmp_path / "pruned.thrifty").walk()
    walk.tell(dict(enumerate(new_rows[0].tolist())))
    assert walk.receipt.total == model.bill(new_rows[:1])[0]


def test_cost_complexity_is_that_of_scikit_learn(train, validation, new_rows):
    tree = DecisionTreeClassifier(random_state=0).fit(*train)
    # Alphas that differ by rounding are one.
    alphas = np.unique(tree.cost_complexity_pruning_path(*train).ccp_alphas.round(12))
    assert len(alphas) > 8
    for alpha in (alphas[1:] + alphas[:-1]) / 2:
        theirs = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(*train)
        ours = CostComplexityClassifier(tree, alpha=alpha).fit(*train, validation=validation)
        np.testing.assert_array_equal(ours.predict_proba(new_rows), theirs.predict_proba(new_rows))


def test_early_stopping_splits_no_node_that_is_pure_enough(forest, train, validation):
    model = EarlyStoppingClassifier(forest, tolerated=0.05).fit(*train, validation=validation)
    assert 0 < len(model.model_.nodes) < sum(tree.tree_.node_count for tree in forest.estimators_)


def test_greedy_prune_gives_up_whole_features(forest, prices, train):
    for features in range(1, 6):
        model = GreedyPruneClassifier(forest, prices, features=features).fit(*train)
        assert len(model.model_.features) <= features


def test_greedy_prune_gives_up_a_group_whose_members_save_nothing_alone(forest, train):
    """Five of six features share one price: alone, none of them saves anything."""
    prices = Prices([0.0] * 5 + [0.1], groups={"scan": [0, 1, 2, 3, 4]}, shared={"scan": 10.0})
    points = list(GreedyPruneClassifier(forest, prices).path(*train, validation=train))
    counts = {point.knob.get("features", 0) for point in points}
    assert 6 in counts and not counts & {2, 3, 4}


@pytest.mark.parametrize("pruner", [CostComplexityClassifier, EarlyStoppingClassifier])
def test_bills_along_a_path_leave_no_gap_that_a_pruning_would_fill(
    pruner, forest, prices, train, validation
):
    """Every pruning of the knob lies within one step of the bill of some point."""
    points = list(pruner(forest, prices).path(*train, validation=validation))
    bills = np.array([point.bill for point in points])
    (knob,) = points[1].knob
    between = np.sqrt([(a.knob[knob] * b.knob[knob]) for a, b in pairwise(points[1:-1])])
    for number in between[::9]:
        model = pruner(forest, prices, **{knob: number}).fit(*train, validation=validation)
        bill = model.bill(validation[0]).mean()
        assert np.abs(bills - bill).min() <= 0.005 * bills[-1] + 1e-12


def test_fewer_trees_are_the_first_ones(forest, train, new_rows):
    model = FewerTreesClassifier(forest, trees=4).fit(*train)
    mean = np.mean([tree.predict_proba(new_rows) for tree in forest.estimators_[:4]], axis=0)
    np.testing.assert_allclose(model.predict_proba(new_rows), mean)
    with pytest.raises(DataError, match="trees: the forest has 9; give at most that many, not 10"):
        FewerTreesClassifier(forest, trees=10).fit(*train)


def test_gini_sums_are_those_of_the_definition():
    counts = np.array([[2.0, 3.0, 5.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(gini_sums(counts), [10 * (1 - 0.04 - 0.09 - 0.25), 0.0, 0.0])


BOOTSTRAP = "a bootstrap draws rows, not weights"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
    "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
}


@pytest.mark.usefixtures("fitted_once")
@pytest.mark.no_cover  # long, and other tests run the same lines
@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{pruner.__name__}-{name}")
        for pruner in PRUNERS
        for name, check in laws(pruner(n_estimators=3, random_state=0), EXPECTED_FAILURES)
        if name.split("-")[-1] not in ("wide", "polars", "float32")
    ],
)
def test_every_law_is_obeyed(check):
    check()
