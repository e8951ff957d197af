"""What is saved of a curve: the hull and the chosen point, which is the default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty import BudgetClassifier, GreedyMiserClassifier, Prices, load, load_points
from thrifty.bundle.file import pack
from thrifty.frontier.operating_points import operating_points

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
y = (X[:, 0] + 0.7 * X[:, 1] + 0.4 * X[:, 2] > 0).astype(int)


@pytest.fixture(scope="module")
def model():
    learner = GreedyMiserClassifier(n_estimators=10)
    prices = Prices([1.0, 2.0, 4.0])
    return BudgetClassifier(prices, 3.0, learners=[learner], random_state=0).fit(X, y)


def test_the_hull_and_the_chosen_point_are_kept(model):
    curve = model.frontier_
    found = operating_points(curve, model.predictor_)
    expected = sorted({*(point.bill for point in curve.hull), model.point_.bill})
    assert list(found.bills) == expected
    assert found.predictor is model.predictor_
    assert found.metric == "accuracy"


def test_a_chosen_point_below_the_hull_is_kept_too(model):
    curve = model.frontier_
    below = next(point for point in curve.points if point not in curve.hull)
    found = operating_points(curve.with_chosen(below), below.model)
    assert len(found) == len(curve.hull) + 1
    assert found.predictor is below.model


def test_points_of_other_columns_or_prices_are_left_out(model):
    curve = model.frontier_
    last = curve.hull[-1]
    dearer = last.model.with_prices(Prices([9.0, 9.0, 9.0]).bind(3))
    points = [replace(p, model=dearer) if p is last else p for p in curve.points]
    other = replace(curve, points=tuple(points))
    assert len(operating_points(other, model.predictor_)) == (
        len(operating_points(curve, model.predictor_)) - 1
    )


def test_saving_a_budget_estimator_saves_all_points(model, tmp_path):
    model.save(tmp_path / "model.thrifty")
    assert pack(load(tmp_path / "model.thrifty")) == pack(model.predictor_)
    points = load_points(tmp_path / "model.thrifty")
    assert len(points) > 2
    cheaper = points.at_budget(1.5).predictor
    assert cheaper.bill(X).mean() < model.bill(X).mean()


def test_another_budget_is_the_default_of_its_file(model, tmp_path):
    model.at_budget(7.0).save(tmp_path / "model.thrifty")
    points = load_points(tmp_path / "model.thrifty")
    assert points.bills[points.default] == model.at_budget(7.0).point_.bill


def test_the_predictor_alone_is_a_file_of_one_point(model, tmp_path):
    model.predictor_.save(tmp_path / "model.thrifty")
    assert len(load_points(tmp_path / "model.thrifty")) == 1
