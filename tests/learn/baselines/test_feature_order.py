"""Baselines of FMCC: one order for all rows, a random one, and the value of classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, MarginNeighborsClassifier, Prices, load
from thrifty.checks import laws
from thrifty.errors import BundleError
from thrifty.learn.baselines import FixedOrderClassifier, RandomOrderClassifier, ValueOfClassifier
from thrifty.model import LocalGaussians

BASELINES = [
    FixedOrderClassifier(base="logistic"),
    RandomOrderClassifier(base="logistic", random_state=0),
    ValueOfClassifier(),
]


def draw(seed, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


TRAIN, VALIDATION = draw(0), draw(1, n=40)
PRICES = Prices([1, 2, 1, 0.5, 3], groups={"lab": [3, 4]}, shared={"lab": 2.0}, evaluation=0.01)


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: type(baseline).__name__)
@pytest.mark.parametrize("law", ["walks-numbers", "bills-numbers", "known-numbers"])
def test_a_baseline_obeys_the_laws(baseline, law):
    checks = dict(laws(baseline))
    checks[law]()


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda baseline: type(baseline).__name__)
def test_a_path_goes_from_the_constant_to_everything(baseline):
    points = list(baseline.set_params(prices=PRICES).path(*TRAIN, validation=VALIDATION))
    assert points[0].bill == 0.0
    assert points[-1].bill == pytest.approx(9.5 + 5 * 0.01)
    for point in points[1::6]:
        assert point.bill == point.model.bill(VALIDATION[0]).mean()
        assert point.quality == np.mean(point.model.predict(VALIDATION[0]) == VALIDATION[1])


def test_one_order_is_greedy_on_all_training_rows():
    model = FixedOrderClassifier(base="logistic", alpha=0.0).fit(*TRAIN).model_
    X, y = TRAIN
    sums, sign = np.full(len(X), model.terms.offset[0]), np.where(y == 1, 1, -1)
    for place, feature in enumerate(model.order):
        correct = {
            j: np.sum(sign * (sums + model.row_terms[:, j, 0]) > 0) for j in model.order[place:]
        }
        assert correct[feature] == max(correct.values())
        sums = sums + model.row_terms[:, feature, 0]


def test_every_row_buys_the_same_features():
    model = FixedOrderClassifier(base="logistic", features=2).fit(*TRAIN)
    used = model.used(VALIDATION[0])
    assert (used == used[0]).all() and used[0].sum() == 2
    assert model.score(*VALIDATION) > 0.85


def test_the_seed_draws_the_order():
    def order(seed):
        return RandomOrderClassifier(base="logistic", random_state=seed).fit(*TRAIN).model_.order

    assert order(0).tolist() == order(0).tolist()
    assert len({tuple(order(seed)) for seed in range(8)}) > 4
    assert sorted(order(3)) == [0, 1, 2, 3, 4]


def test_with_everything_bought_all_orders_predict_the_same():
    predictions = [
        estimator.fit(*TRAIN).predict(VALIDATION[0])
        for estimator in (
            FixedOrderClassifier(base="svm"),
            RandomOrderClassifier(base="svm", random_state=1),
            MarginNeighborsClassifier(base="svm", threshold=1.0),
        )
    ]
    assert (predictions[0] == predictions[1]).all()
    assert (predictions[0] == predictions[2]).all()


# --- the value of classifier


def test_the_feature_that_separates_two_gaussian_classes_is_bought():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.normal(size=(400, 3))
    X[:, 1] += 3.0 * y
    model = ValueOfClassifier(threshold=0.9).fit(X, y)
    assert model.used(X)[:, 1].all()
    assert model.score(X, y) > 0.9


def test_the_first_update_is_that_of_two_gaussians():
    X, y = TRAIN
    model = ValueOfClassifier(threshold=1.0, alpha=0.0).fit(X, y).model_
    state = model.start()
    first, value = state.next_feature, 0.7
    state.observe(value)
    prior, likelihood = model.prior, []
    for label in (0, 1):
        column = X[y == label, first]
        density = np.exp(-0.5 * (value - column.mean()) ** 2 / column.var())
        likelihood.append(density / column.std())
    posterior = prior * likelihood / np.sum(prior * likelihood)
    assert state.history[0].estimate == pytest.approx(posterior.max(), rel=1e-6)


def test_of_two_equal_features_the_cheaper_is_bought_first():
    X, y = draw(3)
    X[:, 4] = X[:, 0]
    model = ValueOfClassifier(Prices([9, 1, 1, 1, 1]), alpha=0.02).fit(X, y)
    assert model.walk().asks == (4,)


def test_missing_values_leave_the_probabilities_as_they_are():
    model = ValueOfClassifier(threshold=1.0).fit(*TRAIN)
    np.testing.assert_allclose(
        model.predict_proba(np.full((1, 5), np.nan))[0].max(), model.model_.prior.max()
    )


def test_categories_are_refused_by_name():
    frame = pd.DataFrame({"town": ["ulm", "bonn"] * 10, "age": np.arange(20.0)})
    with pytest.raises(DataError, match="column 'town' holds categories"):
        ValueOfClassifier().fit(frame, [0, 1] * 10)


def test_it_is_saved_and_loaded(tmp_path):
    model = ValueOfClassifier().fit(*TRAIN)
    model.save(tmp_path / "voc.thrifty")
    again = load(tmp_path / "voc.thrifty")
    np.testing.assert_array_equal(
        again.predict_proba(VALIDATION[0]), model.predict_proba(VALIDATION[0])
    )


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("ridge", -1.0),
        ("labels", lambda a: a * 0),
        ("labels", lambda a: a + 1),
        ("places", lambda a: a * np.nan),
        ("order", lambda a: a + 1),
        ("center", lambda a: a[1:]),
    ],
)
def test_a_damaged_state_is_refused(part, change):
    plain, arrays = ValueOfClassifier().fit(*TRAIN).model_.state()
    if part in plain:
        plain[part] = change
    else:
        arrays[part] = change(arrays[part])
    with pytest.raises(BundleError, match="local gaussians"):
        LocalGaussians.build(plain, arrays)
