"""What all SVM compressors share: the full SVM, encoding, bills, paths and calibration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, NuSVC

from thrifty import CompressedSVC, Prices
from thrifty.errors import DataError


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"kernel": "poly", "coef0": 1.0}, {"kernel": "linear"}])
def test_all_vectors_are_the_svc_itself(classes, settings, clusters) -> None:
    X, y = clusters(classes=classes)
    svc = SVC(**settings).fit(X, y)
    model = CompressedSVC(svc, n_vectors=1.0).fit(X, y)
    assert len(model.model_.vectors) == len(svc.support_)
    if classes == 2:
        np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=1e-9)
    assert np.mean(model.predict(X) == svc.predict(X)) > 0.98


def test_features_and_evaluations_are_billed(clusters) -> None:
    X, y = clusters()
    prices = Prices([1.0, 2.0, 0.5, 0.25], evaluation=0.1)
    model = CompressedSVC(prices=prices, n_vectors=7).fit(X, y)
    assert model.bill(X) == pytest.approx(3.75 + 0.7)


def test_a_column_that_no_vector_reads_is_not_paid_for(clusters) -> None:
    X, y = clusters()
    X[:, 3] = 5.0
    assert CompressedSVC().fit(X, y).used(X)[0].tolist() == [True, True, True, False]
    X[:, 3] = 0.0
    svc = SVC(kernel="poly", coef0=1.0).fit(X, y)
    assert CompressedSVC(svc).fit(X, y).used(X)[0].tolist() == [True, True, True, False]
    assert CompressedSVC(SVC().fit(X, y)).fit(X, y).used(X)[0].all()


def test_a_column_with_values_only_in_rows_of_weight_zero_is_left_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y, weight = (X[:, 0] > 0).astype(int), np.ones(40)
    X[:30, 2], weight[30:] = np.nan, 0.0
    model = CompressedSVC(max_moves=5, random_state=0).fit(X, y, sample_weight=weight)
    assert not model.used(X)[:, 2].any()


def test_scales_and_units_of_the_table_do_not_matter(clusters) -> None:
    X, y = clusters()
    first = CompressedSVC().fit(X, y)
    other = CompressedSVC().fit(X * [1e3, 1e-3, 1.0, 8.0] + 5.0, y)
    same = first.predict(X) == other.predict(X * [1e3, 1e-3, 1.0, 8.0] + 5.0)
    assert same.mean() > 0.98


def test_a_table_with_categories_and_missing_values_is_encoded(clusters) -> None:
    X, y = clusters()
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"])
    frame["town"] = np.where(y == 0, "ulm", "bonn")
    frame.loc[::7, "town"] = None
    frame.loc[::5, "a"] = np.nan
    model = CompressedSVC(n_vectors=0.3).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.used(frame).all()


def test_a_path_has_every_size_and_larger_ones_are_better(clusters) -> None:
    X, y = clusters(300)
    prices = Prices([1.0] * 4, evaluation=0.01)
    model = CompressedSVC(prices=prices)
    points = list(model.path(X, y, validation=clusters(300, seed=1), sizes=range(1, 9)))
    assert [point.knob["n_vectors"] for point in points] == list(range(9))
    assert [point.bill for point in points] == pytest.approx(
        [0, *(4 + k / 100 for k in range(1, 9))]
    )
    assert points[0].quality < 0.5 < points[-1].quality - 0.2
    assert points[-1].quality > points[1].quality


def test_validation_rows_calibrate_the_probabilities_and_change_no_prediction(clusters) -> None:
    X, y = clusters(classes=2)
    noisy = np.where(np.random.default_rng(0).random(240) < 0.3, 1 - y, y)
    sure = CompressedSVC().fit(X, y)
    unsure = CompressedSVC().fit(X, y, validation=(X, noisy))
    assert np.array_equal(sure.predict(X), unsure.predict(X))
    assert sure.predict_proba(X).max(axis=1).mean() > unsure.predict_proba(X).max(axis=1).mean()


def test_an_svc_may_know_classes_that_have_no_row_in_the_table(clusters) -> None:
    X, y = clusters()
    svc = SVC().fit(X, y)
    model = CompressedSVC(svc, n_vectors=1.0).fit(X[y > 0], y[y > 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.mean(model.predict(X) == svc.predict(X)) > 0.9


def test_a_wrapped_svc_survives_a_clone(clusters) -> None:
    X, y = clusters()
    svc = NuSVC(nu=0.2).fit(X, y)
    model = clone(CompressedSVC(FrozenEstimator(svc), n_vectors=5)).fit(X, y)
    assert len(model.model_.vectors) == 5


def test_tables_and_parameters_that_make_no_sense_are_refused(clusters) -> None:
    X, y = clusters()
    with pytest.raises(DataError, match="no column varies"):
        CompressedSVC().fit(np.ones((240, 2)), y)
    with pytest.raises(DataError, match="every class needs a row of positive weight"):
        CompressedSVC().fit(X, y, sample_weight=(y > 0).astype(float))
    with pytest.raises(DataError, match="sizes"):
        CompressedSVC().path(X, y, validation=(X, y), sizes=[0, 3])
    for bad in ({"n_vectors": 0}, {"n_vectors": 1.5}, {"kernel": "sigmoid"}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            CompressedSVC(**bad).fit(X, y)


def test_the_columns_of_an_svc_go_by_name(clusters) -> None:
    X, y = clusters(3)
    frame = pd.DataFrame(X, columns=[f"c{9 - j}" for j in range(X.shape[1])])
    svc = SVC().fit(frame, y)
    permuted = frame[frame.columns[::-1]]
    first = CompressedSVC(svc, n_vectors=1.0).fit(frame, y)
    second = CompressedSVC(svc, n_vectors=1.0).fit(permuted, y)
    np.testing.assert_array_equal(first.predict_proba(frame), second.predict_proba(permuted))
    np.testing.assert_allclose(
        first.decision_function(frame), CompressedSVC(SVC().fit(X, y), n_vectors=1.0)
        .fit(X, y).decision_function(X), atol=1e-9,
    )  # fmt: skip
