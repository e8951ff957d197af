"""The rivals: the same face as the methods, and each what it says it is."""

from __future__ import annotations

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

RIVALS = [
    CostComplexityClassifier,
    EarlyStoppingClassifier,
    FewerTreesClassifier,
    GreedyPruneClassifier,
]
PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)


def draw(seed, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [-0.8, 0.8])


TRAIN, HELD, TEST = draw(0), draw(1), draw(2)


@pytest.fixture(scope="module")
def forest():
    return RandomForestClassifier(9, random_state=0).fit(*TRAIN)


@pytest.mark.parametrize("rival", RIVALS)
def test_the_knob_at_rest_gives_the_forest_itself(rival, forest):
    model = rival(forest, PRICES).fit(*TRAIN, validation=HELD)
    np.testing.assert_allclose(model.predict_proba(TRAIN[0]), forest.predict_proba(TRAIN[0]))


@pytest.mark.parametrize("rival", RIVALS)
def test_a_path_goes_from_the_constant_to_the_forest(rival, forest):
    points = list(rival(forest, PRICES).path(*TRAIN, validation=HELD))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0 and bills[1] > 0.0
    assert len(points) > 5
    full = FewerTreesClassifier(forest, PRICES).fit(*TRAIN, validation=HELD)
    assert bills[-1] <= full.bill(HELD[0]).mean() + 1e-12
    for point in points[1::4]:
        assert point.bill == point.model.bill(HELD[0]).mean()
        assert point.quality == np.mean(point.model.predict(HELD[0]) == HELD[1])


@pytest.mark.parametrize("rival", RIVALS)
def test_a_point_is_what_fit_gives_for_its_knob(rival, forest):
    for point in list(rival(forest, PRICES).path(*TRAIN, validation=HELD))[1::3]:
        model = rival(forest, PRICES, **point.knob).fit(*TRAIN, validation=HELD)
        np.testing.assert_array_equal(
            model.predict_proba(TEST[0]), point.model.predict_proba(TEST[0])
        )


@pytest.mark.parametrize("rival", RIVALS)
def test_a_rival_is_saved_and_walks(rival, tmp_path):
    model = rival(prices=PRICES, n_estimators=4, random_state=0).fit(*TRAIN)
    model.save(tmp_path / "rival.thrifty")
    walk = load(tmp_path / "rival.thrifty").walk()
    walk.tell(dict(enumerate(TEST[0][0].tolist())))
    assert walk.receipt.total == model.bill(TEST[0][:1])[0]


def test_cost_complexity_is_that_of_scikit_learn():
    tree = DecisionTreeClassifier(random_state=0).fit(*TRAIN)
    # Alphas that differ by rounding are one.
    alphas = np.unique(tree.cost_complexity_pruning_path(*TRAIN).ccp_alphas.round(12))
    assert len(alphas) > 8
    for alpha in (alphas[1:] + alphas[:-1]) / 2:
        theirs = DecisionTreeClassifier(random_state=0, ccp_alpha=alpha).fit(*TRAIN)
        ours = CostComplexityClassifier(tree, alpha=alpha).fit(*TRAIN, validation=HELD)
        np.testing.assert_array_equal(ours.predict_proba(TEST[0]), theirs.predict_proba(TEST[0]))


def test_early_stopping_splits_no_node_that_is_pure_enough(forest):
    model = EarlyStoppingClassifier(forest, tolerated=0.05).fit(*TRAIN, validation=HELD)
    assert 0 < len(model.model_.nodes) < sum(tree.tree_.node_count for tree in forest.estimators_)


def test_greedy_prune_gives_up_whole_features(forest):
    for features in range(1, 6):
        model = GreedyPruneClassifier(forest, PRICES, features=features).fit(*TRAIN)
        assert len(model.model_.features) <= features


def test_fewer_trees_are_the_first_ones(forest):
    model = FewerTreesClassifier(forest, trees=4).fit(*TRAIN)
    mean = np.mean([tree.predict_proba(TEST[0]) for tree in forest.estimators_[:4]], axis=0)
    np.testing.assert_allclose(model.predict_proba(TEST[0]), mean)
    with pytest.raises(DataError, match="trees: 10 are asked for, the forest has 9"):
        FewerTreesClassifier(forest, trees=10).fit(*TRAIN)


BOOTSTRAP = "a bootstrap draws rows, not weights"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
    "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{rival.__name__}-{name}")
        for rival in RIVALS
        for name, check in laws(rival(n_estimators=3, random_state=0), EXPECTED)
        if name.split("-")[-1] not in ("wide", "polars", "float32")
    ],
)
def test_every_law_is_obeyed(check):
    check()
