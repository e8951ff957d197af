"""Single linear classifiers: scikit-learn's linear SVM, and one node of CSTC."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from thrifty import Prices
from thrifty.learn.baselines import (
    LinearSVMClassifier,
    PricedL1Classifier,
    SingleCostClassifier,
)


def test_the_svm_ranks_rows_as_that_of_scikit_learn(train, new_rows):
    model = LinearSVMClassifier(C=0.5).fit(*train)
    scaler = StandardScaler().fit(train[0])
    theirs = LinearSVC(C=0.5, dual=False).fit(scaler.transform(train[0]), train[1])
    outputs = theirs.decision_function(scaler.transform(new_rows))
    np.testing.assert_array_equal(
        np.argsort(model.predict_proba(new_rows)[:, 1]), np.argsort(outputs)
    )
    assert np.mean(model.predict(new_rows) == (outputs > 0)) > 0.95


def test_the_path_of_the_svm_has_one_point_besides_the_constant(train, validation):
    points = list(LinearSVMClassifier(C=0.5).path(*train, validation=validation))
    assert [point.knob for point in points] == [{}, {"C": 0.5}]
    assert [point.bill for point in points] == [0.0, 6.0]


def test_without_groups_a_single_classifier_selects_as_l1_does(train, new_rows):
    prices = Prices([1.0, 4.0, 0.5, 2.0, 1.0, 8.0])
    for penalty in (0.003, 0.02):
        l1 = PricedL1Classifier(prices, penalty=penalty).fit(*train)
        single = SingleCostClassifier(prices, penalty=penalty).fit(*train)
        np.testing.assert_array_equal(single.used(new_rows), l1.used(new_rows))


def test_a_group_is_paid_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] + 0.8 * X[:, 2] + 0.8 * X[:, 3] > 0).astype(int)
    panel = Prices(groups={"panel": [0, 1]}, shared={"panel": 1.0}, own=[0, 0, 1, 1])
    model = SingleCostClassifier(panel, penalty=0.25).fit(X, y)
    assert model.used(X)[0].tolist() == [True, True, False, False]


def test_the_weights_of_selected_columns_are_not_shrunk(train, new_rows):
    prices = Prices([1, 1, 1, 999, 999, 999])
    selected = SingleCostClassifier(prices, penalty=0.001).fit(*train)
    alone = SingleCostClassifier().fit(train[0][:, :3], train[1])
    assert selected.used(new_rows)[0].tolist() == [True] * 3 + [False] * 3
    np.testing.assert_allclose(
        selected.predict_proba(new_rows), alone.predict_proba(new_rows[:, :3]), atol=1e-3
    )
