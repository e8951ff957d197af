"""The path: operating points from the constant up, each as good and as expensive as it says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import ndcg_score

from thrifty import Point, Predictor, Prices, threads
from thrifty.errors import DataError
from thrifty.learn import (
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
)
from thrifty.learn.boosting.penalty_path import SMALLEST_PENALTY, STEP
from thrifty.learn.losses import LambdaLoss, LogLoss, SquaredHinge, SquaredLoss

PRICES = Prices([1, 2, 1, 0.5, 3, 1], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.01)
SETTINGS = {"prices": PRICES, "n_estimators": 25, "min_samples_leaf": 5, "learning_rate": 0.3}
MODELS = {
    "regressor": GreedyMiserRegressor(**SETTINGS),
    "example": GreedyMiserRegressor(**SETTINGS, charge="example"),
    "two classes": GreedyMiserClassifier(**SETTINGS),
    "classes": GreedyMiserClassifier(**SETTINGS),
    "hinge": GreedyMiserClassifier(**SETTINGS, loss="squared_hinge"),
    "ranker": GreedyMiserRanker(**SETTINGS),
}


def draw(name, seed, n=250):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + np.where(X[:, 1] > 0, X[:, 2], X[:, 4]) + rng.normal(scale=0.3, size=n)
    if name in ("regressor", "example"):
        return X, value
    return X, np.digitize(value, [0.0] if name == "two classes" else [-0.8, 0.8])


@pytest.fixture(scope="module", params=MODELS, ids=lambda name: name.replace(" ", "-"))
def path(request):
    """Name of a model, its points, and the validation rows."""
    train, validation = draw(request.param, 0), draw(request.param, 1)
    points = list(MODELS[request.param].path(*train, validation=validation))
    return request.param, points, validation


def test_the_first_point_is_the_constant_at_bill_0(path):
    _, points, (X, _) = path
    constant = points[0]
    assert constant.bill == 0.0
    assert constant.knob["trees"] == 0
    assert constant.model.bill(X).max() == 0.0
    assert len(np.unique(constant.model.model.raw(X), axis=0)) == 1
    assert sum(point.knob["trees"] == 0 for point in points) == 1


def test_points_come_cheapest_first(path):
    _, points, _ = path
    bills = [point.bill for point in points]
    assert bills == sorted(bills)
    assert len(points) > 10
    assert all(isinstance(point, Point) for point in points)


def test_bill_and_quality_are_those_of_the_model_on_the_validation_rows(path):
    name, points, (X, y) = path
    for point in points[:: max(1, len(points) // 12)]:
        assert isinstance(point.model, Predictor)
        assert point.bill == point.model.bill(X).mean()
        assert point.quality == quality_of(name, point.model, X, y)


def quality_of(name, model, X, y):
    predicted = model.predict(X)
    if name in ("regressor", "example"):
        return 1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2)
    if name == "ranker":
        return pytest.approx(ndcg_score([2.0**y - 1.0], [predicted], k=5))
    return np.mean(predicted == y)


def runs_of(points):
    """The points of the falling penalty and those of the penalty 0, each with the constant."""
    constant, *rest = points
    falling = [constant, *(point for point in rest if point.knob["penalty"] > 0)]
    return falling, [constant, *(point for point in rest if point.knob["penalty"] == 0)]


def test_a_point_that_costs_more_has_less_loss_within_its_run(path):
    name, points, (X, y) = path
    loss = loss_of(name, y)
    for run in runs_of(points):
        bills = [point.bill for point in run[1:]]
        losses = [loss.value(point.model.model.raw(X).T) for point in run]
        assert bills == sorted(set(bills))
        assert losses == sorted(set(losses), reverse=True)


def test_no_prefix_left_out_has_less_loss_for_the_same_bill(path):
    name, points, (X, y) = path
    loss = loss_of(name, y)
    for run in runs_of(points):
        forest, prices = run[-1].model.model, run[-1].model.prices
        reached = [(point.bill, loss.value(point.model.model.raw(X).T)) for point in run]
        for trees in range(len(forest.base), len(forest.roots) + 1, len(forest.base)):
            prefix = forest.prefix(trees)
            bill = prices.bill(prefix.used(X), trees).mean()
            value = loss.value(prefix.raw(X).T)
            assert any(b <= bill and v <= value for b, v in reached)


def loss_of(name, y):
    if name in ("regressor", "example"):
        return SquaredLoss(y, None)
    if name == "ranker":
        return LambdaLoss(y, None, np.zeros(len(y), dtype=int))
    kind = SquaredHinge if name == "hinge" else LogLoss
    return kind(y, None, 2 if name == "two classes" else 3)


def test_the_penalty_falls_along_the_first_run(path):
    _, points, _ = path
    penalties = [point.knob["penalty"] for point in runs_of(points)[0]]
    assert penalties == sorted(penalties, reverse=True)
    levels = list(dict.fromkeys(penalties))
    assert len(levels) > 1
    assert all(after <= STEP * before for before, after in pairwise(levels))
    assert levels[-1] >= SMALLEST_PENALTY * levels[0]


def test_a_point_is_a_prefix_of_the_dearer_ones_of_its_run(path):
    _, points, (X, _) = path
    for run in runs_of(points):
        longest = run[-1].model
        for point in run:
            prefix = longest.model.prefix(point.knob["trees"])
            np.testing.assert_array_equal(prefix.raw(X), point.model.model.raw(X))
            assert not (point.model.used(X) & ~longest.used(X)).any()


def test_the_second_run_is_the_plain_fit(path):
    name, points, (X, y) = path
    plain = clone(MODELS[name]).fit(*draw(name, 0), validation=(X, y)).model_
    last = runs_of(points)[1][-1]
    assert last.knob["trees"] == len(plain.roots)
    np.testing.assert_array_equal(last.model.model.raw(X), plain.raw(X))


def test_a_knob_tells_points_apart(path):
    _, points, _ = path
    assert len({tuple(point.knob.items()) for point in points}) == len(points)


def test_points_hold_whole_rounds(path):
    name, points, _ = path
    outputs = 3 if name in ("classes", "hinge") else 1
    for point in points:
        assert point.knob["trees"] == len(point.model.model.roots)
        assert point.knob["trees"] % outputs == 0
        assert point.model.knob == point.knob


@pytest.mark.parametrize("penalty", [0.0, 0.02])
@pytest.mark.parametrize("name", MODELS)
def test_a_single_penalty_gives_prefixes_of_its_fit(name, penalty):
    train, validation = draw(name, 0), draw(name, 1)
    X = validation[0]
    points = list(MODELS[name].path(*train, validation=validation, penalties=[penalty]))
    model = clone(MODELS[name]).set_params(penalty=penalty).fit(*train)
    for point in points:
        assert point.knob["penalty"] == penalty
        prefix = model.model_.prefix(point.knob["trees"])
        np.testing.assert_array_equal(prefix.raw(X), point.model.model.raw(X))
        np.testing.assert_array_equal(prefix.used(X), point.model.used(X))


def test_no_run_has_more_rounds_than_a_fit(path):
    name, points, _ = path
    outputs = 3 if name in ("classes", "hinge") else 1
    assert max(point.knob["trees"] for point in points) <= SETTINGS["n_estimators"] * outputs


def test_a_path_is_the_same_for_any_number_of_threads():
    train, validation = draw("classes", 0), draw("classes", 1)
    paths = []
    for count in (1, 3):
        with threads(count):
            paths.append(list(MODELS["classes"].path(*train, validation=validation)))
    assert [point.knob for point in paths[0]] == [point.knob for point in paths[1]]
    assert [point.bill for point in paths[0]] == [point.bill for point in paths[1]]
    raw = [points[-1].model.model.raw(validation[0]) for points in paths]
    np.testing.assert_array_equal(*raw)


@pytest.mark.parametrize("charge", ["model", "example"])
def test_the_largest_penalty_is_just_below_the_one_that_buys_nothing(charge):
    X, y = draw("regressor", 0)
    model = GreedyMiserRegressor(**SETTINGS, charge=charge)
    points = model.path(X, y, validation=draw("regressor", 1))
    largest = max(point.knob["penalty"] for point in points) / STEP
    just_below = GreedyMiserRegressor(**SETTINGS, charge=charge, penalty=0.999 * largest)
    just_above = GreedyMiserRegressor(**SETTINGS, charge=charge, penalty=1.001 * largest)
    assert just_below.fit(X, y).used(X).any()
    assert not just_above.fit(X, y).used(X).any()


def test_penalties_may_be_given():
    X, y = draw("regressor", 0)
    model = GreedyMiserRegressor(**SETTINGS)
    points = list(model.path(X, y, validation=(X, y), penalties=[0.001, 0.1]))
    assert {point.knob["penalty"] for point in points} == {0.1, 0.001}


def test_an_empty_sequence_of_penalties_is_refused():
    X, y = draw("regressor", 0)
    with pytest.raises(DataError, match="at least one"):
        GreedyMiserRegressor(**SETTINGS).path(X, y, validation=(X, y), penalties=[])


def test_free_features_need_no_penalties():
    X, y = draw("regressor", 0)
    model = GreedyMiserRegressor(Prices([0.0] * 6), n_estimators=5)
    points = list(model.path(X, y, validation=(X, y)))
    assert {point.knob["penalty"] for point in points} == {0.0}
    # All prefixes cost nothing: the constant and the best of the others remain.
    assert [point.knob["trees"] for point in points] == [0, 5]
    assert points[1].quality > points[0].quality == pytest.approx(0.0)


def test_a_path_learns_names_and_categories_too():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "city": rng.choice(["Bonn", "Oslo"], 200)})
    y = frame["x"] + (frame["city"] == "Oslo")
    prices = Prices({"x": 1.0, "city": 2.0})
    points = list(
        GreedyMiserRegressor(prices, n_estimators=10).path(frame, y, validation=(frame, y))
    )
    assert points[-1].model.predict(frame[:3]).shape == (3,)
    assert set(points[-1].model.walk().asks) <= {"x", "city"}
    assert {point.bill for point in points} >= {0.0, 3.0}


def test_a_path_does_not_fit_the_estimator():
    X, y = draw("regressor", 0)
    model = GreedyMiserRegressor(**SETTINGS)
    list(model.path(X, y, validation=(X, y)))
    with pytest.raises(ValueError, match="not fitted"):
        model.predict(X)
