"""The budgeted forest: the paper's known answers, budgets, paths, laws."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest

from thrifty.checks import check_sklearn, laws
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import Polynomial, Powers, ThresholdPairs

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
GREEDY = {"n_estimators": 1, "bootstrap": False, "max_features": 1.0, "random_state": 0}


def draw(seed, n=250, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    return X, np.digitize(value, [0.0] if classes == 2 else [-0.8, 0.8])


# --- fitting -----------------------------------------------------------------


def test_leaves_vote_with_their_shares():
    X, y = draw(0)
    model = BudgetForestClassifier(n_estimators=7, impurity=ThresholdPairs(10), random_state=0)
    forest = model.fit(X, y).model_
    assert forest.link == "mean"
    votes = np.mean([forest.values[leaf] for leaf in forest.leaves(X)], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), votes)
    assert np.allclose(forest.values.sum(axis=1), 1.0)
    assert len(np.unique(votes)) > 7  # shares, not whole votes


def test_trees_of_one_forest_differ_and_a_seed_repeats_them():
    X, y = draw(0)
    fits = [BudgetForestClassifier(n_estimators=5, random_state=1).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].model_.nodes, fits[1].model_.nodes)
    assert len(set(np.diff(fits[0].model_.roots))) > 1
    other = BudgetForestClassifier(n_estimators=5, random_state=2).fit(X, y)
    assert not np.array_equal(other.predict_proba(X), fits[0].predict_proba(X))


def test_more_trees_add_to_the_same_first_ones():
    X, y = draw(0)
    few = BudgetForestClassifier(n_estimators=3, random_state=0).fit(X, y).model_
    many = BudgetForestClassifier(n_estimators=9, random_state=0).fit(X, y).model_
    np.testing.assert_array_equal(many.prefix(3).nodes, few.nodes)


def test_a_larger_alpha_gives_smaller_and_cheaper_trees():
    X, y = draw(0, n=600)
    sizes, bills = [], []
    for alpha in (0, 5, 20):
        model = BudgetForestClassifier(PRICES, impurity=ThresholdPairs(alpha), random_state=0)
        sizes.append(len(model.fit(X, y).model_.nodes))
        bills.append(model.bill(X).mean())
    assert sizes == sorted(sizes, reverse=True)
    assert bills == sorted(bills, reverse=True)


def test_a_dear_copy_of_a_feature_is_not_bought():
    X, y = draw(0)
    X[:, 5] = X[:, 0]
    dear = Prices([1.0, 1.0, 1.0, 1.0, 1.0, 1.1])
    model = BudgetForestClassifier(dear, max_features=1.0, random_state=0).fit(X, y)
    assert not model.used(X)[:, 5].any()
    assert model.used(X)[:, 0].any()


def test_what_is_on_the_path_wins_ties():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(400, 1)).repeat(12, axis=1).astype(float)
    X = np.hstack([X, rng.normal(size=(400, 3))])
    y = rng.integers(0, 2, size=400)
    # Twelve twins: a tree that has bought one never needs another, and no tree has two.
    model = BudgetForestClassifier(n_estimators=10, random_state=0, max_features=1.0).fit(X, y)
    for tree in range(10):
        alone = model.model_.leaves(X)[tree]
        read = model.model_.unpack_paths(model.model_.paths[alone])
        assert read[:, :12].sum(axis=1).max() == 1


@pytest.mark.parametrize("shared", [3.0, 0.0])
def test_a_group_that_is_entered_costs_its_members_only_their_own_price(shared):
    # The first column tells the class but for 2 rows in 40; the others are fair coins.
    X = np.array(list(product([0.0, 1.0], repeat=3))).repeat(40, axis=0)
    y = np.where(np.arange(len(X)) % 40 < 2, 1 - X[:, 0], X[:, 0])
    prices = Prices([1.0, 1.0, 3.7], groups={"lab": [0, 1]}, shared={"lab": shared})
    model = BudgetForestClassifier(prices, **GREEDY, max_depth=2).fit(X, y)
    # Charged again, the entry would make the second column dearer than the third.
    assert model.used(X).all(axis=0).tolist() == [True, True, False]
    assert set(model.bill(X)) == {2.0 + shared}


def test_free_prices_and_a_single_tree_work():
    X, y = draw(0)
    model = BudgetForestClassifier(Prices([0.0] * 6), **GREEDY).fit(X, y)
    assert model.bill(X).max() == 0.0
    assert model.score(X, y) == 1.0


def test_class_weights_shift_the_vote():
    X, y = draw(0, classes=2)
    y = np.where(np.random.default_rng(1).random(len(y)) < 0.3, 1 - y, y)
    shares = [
        BudgetForestClassifier(class_weight=weight, random_state=0).fit(X, y).predict(X).mean()
        for weight in ({0: 20.0, 1: 1.0}, None, {0: 1.0, 1: 20.0})
    ]
    assert shares[0] < shares[1] < shares[2]


def test_a_table_of_names_and_categories_is_read():
    rng = np.random.default_rng(0)
    town = rng.choice(["ulm", "bonn", "kiel"], 300)
    table = pd.DataFrame({"age": rng.normal(size=300), "town": town})
    y = np.where((town == "bonn") ^ (table["age"] > 0), "yes", "no")
    prices = Prices({"age": 1.0, "town": 1.0})
    model = BudgetForestClassifier(prices, random_state=0).fit(table, y)
    assert model.score(table, y) == 1.0
    walk = model.walk()
    walk.tell({"age": 0.5, "town": "bonn"})
    assert walk.answer == "no"


# --- the budget --------------------------------------------------------------


def test_trees_are_added_until_the_budget_is_passed_on_validation():
    X, y = draw(0)
    validation = draw(1)
    prefix = BudgetForestClassifier(PRICES, n_estimators=20, random_state=0).fit(X, y)
    for budget in (4.0, 6.0, 8.0):
        model = BudgetForestClassifier(PRICES, budget, n_estimators=20, random_state=0)
        trees = len(model.fit(X, y, validation=validation).model_.roots)
        assert model.bill(validation[0]).mean() <= budget
        further = prefix.model_.prefix(trees + 1)
        bills = model.prices_.bill(further.used(validation[0]), trees + 1)
        assert trees == 20 or bills.mean() > budget


def test_the_budget_holds_on_the_training_rows_without_validation():
    X, y = draw(0)
    model = BudgetForestClassifier(PRICES, 5.0, n_estimators=20, random_state=0).fit(X, y)
    assert model.bill(X).mean() <= 5.0
    assert 1 <= len(model.model_.roots) < 20


def test_a_budget_that_no_tree_meets_gives_the_constant_and_says_so():
    X, y = draw(0)
    model = BudgetForestClassifier(PRICES, 0.1, random_state=0)
    with pytest.warns(UserWarning, match="budget 0.1: the first tree costs"):
        model.fit(X, y)
    assert model.bill(X).max() == 0.0
    assert set(model.predict(X)) == {np.bincount(y).argmax()}


# --- laws and bad input ------------------------------------------------------

VARIANTS = [
    {},
    {"splits": "expected", "max_features": 2},
    {"splits": "stumps"},
    {"impurity": Powers(3), "max_depth": 4, "bootstrap": False, "budget": 200.0},
]
DRAWN = "rows are drawn: a row of weight 2 is not drawn as two rows are"


def every_law():
    for settings in VARIANTS:
        for name, check in laws(BudgetForestClassifier(n_estimators=5, **settings)):
            if name != "sklearn":
                yield pytest.param(check, id=f"{settings}-{name}")


@pytest.mark.usefixtures("fitted_once")
@pytest.mark.no_cover  # long, and other tests run the same lines
@pytest.mark.parametrize("check", list(every_law()))
def test_every_law_is_obeyed(check):
    check()


def test_the_checks_of_scikit_learn_pass():
    check_sklearn(
        BudgetForestClassifier(n_estimators=5),
        {"check_sample_weight_equivalence_on_dense_data": DRAWN},
    )


def test_weights_are_repetitions_where_rows_are_not_drawn():
    X, y = draw(0)
    times = np.random.default_rng(0).integers(1, 4, size=len(y))
    model = BudgetForestClassifier(n_estimators=3, bootstrap=False, random_state=0)
    weighted = model.fit(X, y, sample_weight=times).predict_proba(draw(1)[0])
    repeated = model.fit(X.repeat(times, axis=0), y.repeat(times)).predict_proba(draw(1)[0])
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"splits": "gini"}, "splits"),
        ({"budget": -1.0}, "budget"),
        ({"max_features": 0}, "max_features"),
        ({"max_features": 1.5}, "max_features"),
        ({"impurity": "gini"}, "impurity"),
    ],
)
def test_a_parameter_out_of_range_is_named(settings, words):
    X, y = draw(0)
    with pytest.raises(ValueError, match=words):
        BudgetForestClassifier(**settings).fit(X, y)


def test_a_polynomial_for_other_classes_is_refused():
    X, y = draw(0)
    with pytest.raises(DataError, match="2 powers per term for 3 classes"):
        BudgetForestClassifier(impurity=Polynomial([(1.0, (1, 1))])).fit(X, y)


def test_a_strange_validation_label_is_named():
    X, y = draw(0)
    with pytest.raises(DataError, match="are not classes"):
        list(BudgetForestClassifier().path(X, y, validation=(X, y + 5)))
