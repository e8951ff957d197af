"""Extra-trees: out-of-bag answers are those of the trees that have not seen a row."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from thrifty.kernels.random import Stream, draw_below
from thrifty.kernels.threads import threads
from thrifty.learn.binned import Binned
from thrifty.learn.extra_trees import ExtraTrees
from thrifty.model import Forest

ALL = np.arange(6)


def draw(seed, n=200, n_classes=3, missing=0.1):
    """Draw a table of 6 columns, the last of categories, and a target."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 6))
    X[:, 5] = random.integers(0, 5, size=n)
    value = X[:, 0] + X[:, 1] * X[:, 2] + (X[:, 5] == 2) + 0.2 * random.normal(size=n)
    X[random.random(X.shape) < missing] = np.nan
    return X, np.digitize(value, [-0.5, 0.8]) if n_classes else value


def trainer(X, y, weight=None, groups=None):
    binned = Binned.of(X, np.arange(X.shape[1]) == 5, np.random.RandomState(0))
    n_classes = 0 if y.dtype.kind == "f" else int(y.max()) + 1
    return ExtraTrees(binned, y, n_classes, weight, groups)


def bags(made, n_trees, seed, draws):
    """Return which rows are in the bag of each tree, (trees, n), by drawing them once more."""
    inside = np.zeros((n_trees, len(made._order)), dtype=bool)
    for k, start in enumerate(np.random.default_rng(seed).integers(1 << 63, size=n_trees).tolist()):
        stream = Stream(start)
        units = {draw_below(stream, made._n_units) for _ in range(draws)}
        inside[k, made._order] = np.isin(made._unit, list(units))
    return inside


def answers_by_tree(forest, X):
    """Return the answer of every tree alone, (trees, n, k)."""
    leaves = forest.leaves(X)
    share = len(forest.roots) if forest.link == "sum" else 1
    return forest.values[leaves] * share


# --- out of bag ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 3])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_out_of_bag_answers_are_the_mean_of_the_trees_that_lack_the_row(n_classes, grouped):
    X, y = draw(1, n_classes=n_classes)
    made = trainer(X, y, groups=np.arange(200) // 5 if grouped else None)
    grown = made.fit(ALL, n_trees=12, seed=7)
    inside = bags(made, 12, 7, 40 if grouped else 200)
    by_tree = answers_by_tree(grown.forest, X)
    for row in range(200):
        outside = by_tree[~inside[:, row], row]
        if len(outside):
            np.testing.assert_allclose(grown.out_of_bag[row], outside.mean(axis=0).squeeze())
        else:
            assert np.isnan(grown.out_of_bag[row]).all()


def test_a_row_in_all_bags_has_no_answer():
    X, y = draw(1)
    answers = trainer(X, y).fit(ALL, n_trees=1, seed=0).out_of_bag
    assert 0.5 < np.mean(np.isnan(answers[:, 0])) < 0.75


def test_rows_of_a_group_are_out_of_bag_together():
    X, y = draw(2)
    groups = np.random.default_rng(0).permutation(np.arange(200) // 10)
    answers = trainer(X, y, groups=groups).fit(ALL, n_trees=1, seed=3).out_of_bag
    for group in range(20):
        assert len(set(np.isnan(answers[groups == group, 0]).tolist())) == 1


def test_twins_in_one_group_do_not_give_each_other_away():
    # Each row is there four times, with a random class: by rows, the twins tell it.
    random = np.random.default_rng(0)
    X, y = np.repeat(random.normal(size=(60, 6)), 4, axis=0), np.repeat(np.arange(60) % 2, 4)
    X[:, 5] = 0.0
    by_row = trainer(X, y).fit(ALL, 40, seed=0).out_of_bag
    by_group = trainer(X, y, groups=np.repeat(np.arange(60), 4)).fit(ALL, 40, seed=0).out_of_bag
    assert np.mean(by_row.argmax(axis=1) == y) > 0.95
    assert np.mean(by_group.argmax(axis=1) == y) < 0.7


def test_a_smaller_bag_leaves_more_rows_out():
    X, y = draw(1)
    made = trainer(X, y)
    answers = made.fit(ALL, n_trees=1, seed=0, bag=20).out_of_bag
    assert np.isnan(answers[:, 0]).sum() == bags(made, 1, 0, 20).sum() <= 20


# --- the forest ---------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 3])
def test_a_grown_forest_can_be_saved(n_classes):
    X, y = draw(1, n_classes=n_classes)
    forest = trainer(X, y).fit(ALL, n_trees=5, seed=0).forest
    again = Forest.build(*forest.state())
    np.testing.assert_array_equal(again.score(X), forest.score(X))


def test_a_forest_averages_its_trees():
    for n_classes in (0, 3):
        X, y = draw(1, n_classes=n_classes)
        forest = trainer(X, y).fit(ALL, n_trees=5, seed=0).forest
        expected = answers_by_tree(forest, X).mean(axis=0).squeeze()
        np.testing.assert_allclose(forest.score(X), expected)


def test_only_the_given_features_are_read():
    X, y = draw(1)
    grown = trainer(X, y).fit(np.array([1, 4]), n_trees=10, seed=0)
    assert grown.forest.features.tolist() == [1, 4]
    assert grown.importance[[0, 2, 3, 5]].tolist() == [0, 0, 0, 0]


def test_without_features_every_bag_answers_with_its_shares():
    X, y = draw(1)
    grown = trainer(X, y).fit(np.empty(0, dtype=np.int64), n_trees=30, seed=0)
    assert not grown.importance.any()
    np.testing.assert_allclose(grown.forest.score(X[:1])[0], np.bincount(y) / 200, atol=0.05)


def test_large_values_stay_on_their_side():
    X = np.array([-1e308, -1e300, 1e300, 1e308] * 10)[:, None] * np.ones(6)
    X[:, 5] = 0.0
    y = np.arange(40) % 4
    forest = trainer(X, y).fit(ALL, n_trees=20, seed=0).forest
    assert np.array_equal(forest.score(X).argmax(axis=1), y)


# --- weights ------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 3])
def test_weights_count_by_their_ratios_only(n_classes):
    X, y = draw(3, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(1, 4, size=200).astype(float)
    one = trainer(X, y, weight).fit(ALL, 8, seed=1)
    other = trainer(X, y, 8 * weight).fit(ALL, 8, seed=1)
    np.testing.assert_array_equal(one.out_of_bag, other.out_of_bag)
    np.testing.assert_array_equal(one.forest.values, other.forest.values)


def test_equal_weights_are_no_weights():
    X, y = draw(3)
    plain = trainer(X, y).fit(ALL, 8, seed=1)
    weighted = trainer(X, y, np.full(200, 0.25)).fit(ALL, 8, seed=1)
    np.testing.assert_array_equal(plain.forest.nodes, weighted.forest.nodes)
    np.testing.assert_array_equal(plain.out_of_bag, weighted.out_of_bag)


def test_heavy_rows_outweigh_light_ones():
    X, y = np.zeros((300, 6)), np.arange(300) % 3
    forest = trainer(X, y, np.array([1.0, 2.0, 5.0])[y]).fit(ALL, 50, seed=0).forest
    np.testing.assert_allclose(forest.score(X[:1])[0], [1 / 8, 2 / 8, 5 / 8], atol=0.03)


def test_rows_without_weight_teach_nothing_and_get_answers():
    X, y = draw(3)
    weight = (np.arange(200) % 2).astype(float)
    other = np.where(weight > 0, y, (y + 1) % 3)
    one, two = (trainer(X, target, weight).fit(ALL, 30, seed=1) for target in (y, other))
    assert not np.isnan(one.out_of_bag[weight == 0]).any()
    shares = [grown.forest.score(X).mean(axis=0) for grown in (one, two)]
    np.testing.assert_allclose(*shares, atol=0.05)


# --- importance ---------------------------------------------------------------


def test_importance_is_the_mean_share_in_the_decrease_of_impurity():
    X, y = draw(4, missing=0.0)
    grown = trainer(X, y).fit(ALL, n_trees=3, seed=0)
    expected = np.zeros(6)
    for tree, root in zip(grown.trees, grown.forest.roots, strict=True):
        shares = grown.forest.values[root : root + len(tree.left)]
        gini = tree.weight * (1 - np.sum(shares**2, axis=1))
        split = np.flatnonzero(tree.left >= 0)
        child = tree.left[split]
        decrease = gini[split] - gini[child] - gini[child + 1]
        by_feature = np.bincount(tree.feature[split], decrease, minlength=6)
        expected += by_feature / by_feature.sum() / 3
    np.testing.assert_allclose(grown.importance, expected, rtol=1e-9)
    assert grown.importance.sum() == pytest.approx(1.0)


def test_a_constant_target_has_no_importance():
    X, _ = draw(4)
    grown = trainer(X, np.full(200, 2.5)).fit(ALL, n_trees=3, seed=0)
    assert grown.importance.tolist() == [0.0] * 6
    assert set(grown.forest.score(X).round(12)) == {2.5}


# --- seeds --------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [0, 3])
def test_the_number_of_threads_changes_nothing(n_classes):
    X, y = draw(5, n=9000, n_classes=n_classes)
    grown = []
    for count in (1, 3):
        with threads(count):
            grown.append(trainer(X, y).fit(ALL, n_trees=9, seed=4, min_samples_leaf=20))
    np.testing.assert_array_equal(grown[0].out_of_bag, grown[1].out_of_bag)
    np.testing.assert_array_equal(grown[0].importance, grown[1].importance)
    np.testing.assert_array_equal(grown[0].forest.nodes, grown[1].forest.nodes)
    np.testing.assert_array_equal(grown[0].forest.values, grown[1].forest.values)


def test_more_trees_begin_with_the_same_trees():
    X, y = draw(5)
    few, many = (trainer(X, y).fit(ALL, n, seed=4).forest for n in (3, 10))
    np.testing.assert_array_equal(few.score(X), many.prefix(3).score(X))


def test_the_order_of_the_columns_decides_nothing():
    X, y = draw(5)
    order = np.array([3, 0, 4, 2, 1, 5])
    one = trainer(X, y).fit(order, 5, seed=4)
    other = trainer(X[:, order], y).fit(ALL, 5, seed=4)
    np.testing.assert_array_equal(one.out_of_bag, other.out_of_bag)
    np.testing.assert_array_equal(one.importance[order], other.importance)


def test_another_seed_gives_other_trees():
    X, y = draw(5)
    one, other = (trainer(X, y).fit(ALL, 3, seed=seed).forest for seed in (0, 1))
    assert not np.array_equal(one.score(X), other.score(X))


# --- as good as scikit-learn --------------------------------------------------


def test_classes_are_predicted_as_well_as_by_scikit_learn():
    X, y = draw(6, n=3000, missing=0.0)
    rows = slice(0, 1000)
    forest = trainer(X[rows], y[rows]).fit(ALL, 60, seed=0).forest
    other = ExtraTreesClassifier(60, bootstrap=True, random_state=0).fit(X[rows], y[rows])
    mine = np.mean(forest.score(X[1000:]).argmax(axis=1) == y[1000:])
    assert mine > other.score(X[1000:], y[1000:]) - 0.015


def test_values_are_predicted_as_well_as_by_scikit_learn():
    X, y = make_friedman1(2000, random_state=0)
    X = X[:, :5]
    grown = trainer(X[:800], y[:800]).fit(np.arange(5), 60, seed=0)
    other = ExtraTreesRegressor(60, bootstrap=True, random_state=0).fit(X[:800], y[:800])
    residual = grown.forest.score(X[800:]) - y[800:]
    quality = 1 - np.var(residual) / np.var(y[800:])
    assert quality > other.score(X[800:], y[800:]) - 0.01
    # Fewer trees answer out of bag, so that the answers are a little worse.
    honest = 1 - np.nanvar(grown.out_of_bag - y[:800]) / np.var(y[:800])
    assert quality - 0.06 < honest < quality + 0.02
