"""Rivals of the neighbors: one order for all, a random one, and the value of a classifier."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, Prices, load
from thrifty.checks import laws
from thrifty.errors import BundleError
from thrifty.learn.baselines import FixedOrderClassifier, RandomOrderClassifier, ValueOfClassifier
from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
from thrifty.model import LocalGaussians

RIVALS = [
    FixedOrderClassifier(base="logistic"),
    RandomOrderClassifier(base="logistic", random_state=0),
    ValueOfClassifier(),
]


def draw(seed, n=200):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)


TRAIN, HELD = draw(0), draw(1, n=40)
PRICES = Prices([1, 2, 1, 0.5, 3], groups={"lab": [3, 4]}, shared={"lab": 2.0}, evaluation=0.01)


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
@pytest.mark.parametrize("law", ["walks-numbers", "bills-numbers", "known-numbers"])
def test_a_rival_obeys_the_laws(rival, law):
    checks = dict(laws(rival))
    checks[law]()


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: type(rival).__name__)
def test_a_path_goes_from_the_constant_to_everything(rival):
    points = list(rival.set_params(prices=PRICES).path(*TRAIN, validation=HELD))
    assert points[0].bill == 0.0
    assert points[-1].bill == pytest.approx(9.5 + 5 * 0.01)
    for point in points[1::6]:
        assert point.bill == point.model.bill(HELD[0]).mean()
        assert point.quality == np.mean(point.model.predict(HELD[0]) == HELD[1])


def test_one_order_is_greedy_on_all_training_rows():
    model = FixedOrderClassifier(base="logistic", alpha=0.0).fit(*TRAIN).model_
    X, y = TRAIN
    sums, sign = np.full(len(X), model.terms.offset[0]), np.where(y == 1, 1, -1)
    for place, feature in enumerate(model.order):
        right = {
            j: np.sum(sign * (sums + model.row_terms[:, j, 0]) > 0) for j in model.order[place:]
        }
        assert right[feature] == max(right.values())
        sums = sums + model.row_terms[:, feature, 0]


def test_every_row_buys_the_same_features():
    model = FixedOrderClassifier(base="logistic", features=2).fit(*TRAIN)
    used = model.used(HELD[0])
    assert (used == used[0]).all() and used[0].sum() == 2
    assert model.score(*HELD) > 0.85


def test_the_seed_draws_the_order():
    def order(seed):
        return RandomOrderClassifier(base="logistic", random_state=seed).fit(*TRAIN).model_.order

    assert order(0).tolist() == order(0).tolist()
    assert len({tuple(order(seed)) for seed in range(8)}) > 4
    assert sorted(order(3)) == [0, 1, 2, 3, 4]


def test_with_everything_bought_all_orders_answer_alike():
    answers = [
        estimator.fit(*TRAIN).predict(HELD[0])
        for estimator in (
            FixedOrderClassifier(base="svm"),
            RandomOrderClassifier(base="svm", random_state=1),
            MarginNeighborsClassifier(base="svm", threshold=1.0),
        )
    ]
    assert (answers[0] == answers[1]).all() and (answers[0] == answers[2]).all()


# --- the value of a classifier


def test_two_gaussian_classes_are_told_apart_by_the_feature_between_them():
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
    trail = model.trail()
    first, value = trail.wants, 0.7
    trail.take(value)
    share, likely = model.prior, []
    for label in (0, 1):
        column = X[y == label, first]
        likely.append(np.exp(-0.5 * (value - column.mean()) ** 2 / column.var()) / column.std())
    due = share * likely / np.sum(share * likely)
    assert trail.seen[0][0] == pytest.approx(due.max(), rel=1e-6)


def test_a_dearer_feature_waits():
    X, y = draw(3)
    X[:, 4] = X[:, 0]
    model = ValueOfClassifier(Prices([9, 1, 1, 1, 1]), alpha=0.02).fit(X, y)
    assert model.walk().asks == (4,)


def test_missing_values_are_no_news():
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
    np.testing.assert_array_equal(again.predict_proba(HELD[0]), model.predict_proba(HELD[0]))


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
