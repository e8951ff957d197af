"""The terms of every base classifier add up to the classifier, and are centered."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from neighbors_cases import draw
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from thrifty import GreedyMiserClassifier
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.neighbors.additive import (
    BASES,
    ScaledTable,
    fit_additive,
    fit_linear,
    fit_stumps,
)


def scale(table, y):
    return ScaledTable.of(TrainingSet.read("classification", table, y))


def with_categories(X, codes):
    """Append a column of the categories a, b, c, ... to a table; NaN stays missing."""
    kind = [None if code != code else "abcd"[int(code)] for code in codes]
    frame = pd.DataFrame(X).assign(kind=kind)
    frame.columns = frame.columns.astype(str)
    return frame


def fit(base, table):
    return fit_additive(base, table, C=1.0, n_estimators=30, random_state=0)


def totals(terms, X):
    return terms.offset + terms.evaluate(X).sum(axis=1)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("base", "classifier"),
    [("logistic", LogisticRegression()), ("svm", LinearSVC(random_state=0))],
)
def test_linear_terms_add_up_to_the_classifier(base, classifier, classes):
    X, y = draw(0, classes=classes)
    X = 5.0 + 3.0 * X
    terms = fit(base, scale(X, y))
    scaler = StandardScaler().fit(X)
    expected = clone(classifier).fit(scaler.transform(X), y)
    expected = expected.decision_function(scaler.transform(X))
    np.testing.assert_allclose(totals(terms, X), expected.reshape(len(X), -1), atol=1e-3)


def test_the_categories_of_a_column_are_one_hot_encoded():
    X, y = draw(0)
    codes = np.arange(len(X)) % 3
    table = scale(with_categories(X, codes), y)
    terms = fit_linear(LogisticRegression(), table)
    encoded = np.column_stack([StandardScaler().fit_transform(X), np.eye(3)[codes]])
    expected = LogisticRegression().fit(encoded, y).decision_function(encoded)
    np.testing.assert_allclose(totals(terms, table.X)[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_terms_of_stumps_add_up_to_the_boosted_trees(classes):
    X, y = draw(1, classes=classes)
    X[::7, 0] = np.nan
    codes = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    codes[::9] = np.nan
    y = np.where(codes == 2, 0, y)
    frame = with_categories(X, codes)
    boosted = GreedyMiserClassifier(n_estimators=30, max_depth=1, min_samples_leaf=5).fit(frame, y)
    table = scale(frame, y)
    np.testing.assert_array_equal(table.X, np.column_stack([X, codes]))
    terms = fit_stumps(table, 30, random_state=0)
    expected = boosted.decision_function(frame).reshape(len(X), -1)
    np.testing.assert_allclose(totals(terms, table.X), expected, atol=1e-9)


@pytest.mark.parametrize("base", sorted(BASES))
def test_every_term_has_mean_zero_over_the_values_that_are_present(base):
    X, y = draw(2)
    X[:60, 1] = np.nan
    table = scale(with_categories(X, np.arange(len(X)) % 3), y)
    terms = fit(base, table).evaluate(table.X)[:, :, 0]
    means = [terms[~np.isnan(table.X[:, j]), j].mean() for j in range(table.X.shape[1])]
    np.testing.assert_allclose(means, 0.0, atol=1e-9)


@pytest.mark.parametrize("base", sorted(BASES))
def test_a_feature_never_missing_in_training_counts_as_its_mean_when_it_is(base):
    X, y = draw(3)
    terms = fit(base, scale(X, y))
    assert (terms.evaluate(np.full((1, X.shape[1]), np.nan)) == 0.0).all()


def test_columns_are_scaled_by_their_standard_deviation():
    X, y = draw(4)
    X[:, 1] *= 4.0
    X[:, 2] = 7.0
    X[::5, 3] = np.nan
    table = scale(X, y)
    np.testing.assert_allclose(table.center, np.nanmean(X, axis=0))
    np.testing.assert_allclose(table.spread[[0, 1, 3]], np.nanstd(X[:, [0, 1, 3]], axis=0))
    assert table.spread[2] == 1.0
    np.testing.assert_array_equal(table.distance_units(), 1.0 / table.spread)


def test_two_random_rows_are_as_far_apart_in_categories_as_in_numbers():
    X, y = draw(5)
    codes = np.random.default_rng(0).integers(0, 3, size=len(X))
    table = scale(with_categories(X, codes), y)
    unit = table.distance_units()[-1]
    unequal = codes[:, np.newaxis] != codes
    scores = (X[:, 0] - table.center[0]) * table.distance_units()[0]
    squared = (scores[:, np.newaxis] - scores) ** 2
    assert (unit * unequal).mean() == pytest.approx(squared.mean())
    assert table.center[-1] == 0.0 and table.n_categories.tolist() == [0] * 5 + [3]
