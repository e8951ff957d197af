"""CSCC: stages that let negatives go; the objective itself is held to account with that of CSTC."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import CostCascadeClassifier, Prices
from thrifty.learn.cost_tree.soft_tree import Shape, SoftTree
from thrifty.model import OneVsRest


def draw_rare(n=1500, seed=0):
    """Positives lie in a corner; the first column lets most rows go."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X[:, 0] > 1) & (X[:, 1] > 0.8)


def test_a_cascade_exits_on_the_left_of_every_stage() -> None:
    shape = Shape.chain(4)
    assert [found.node for found in shape.exits] == [0, 1, 2, 3]
    tree = SoftTree.blank(shape, 2)
    right = np.full((5, 4), 0.75)
    reach = tree.reach(right)
    np.testing.assert_allclose(reach[0], 0.75 ** np.arange(4))
    leaving = tree.leaving(reach, right)
    np.testing.assert_allclose(leaving.sum(axis=1), 1.0)
    np.testing.assert_allclose(leaving[0, :3], 0.25 * reach[0, :3])


@pytest.mark.parametrize("loss", ["log_loss", "squared"])
def test_most_negatives_pay_for_the_cheap_column_only(loss) -> None:
    X, y = draw_rare()
    model = CostCascadeClassifier(
        Prices([1.0, 10.0, 10.0]), penalty=0.005, n_stages=2, loss=loss, class_weight="balanced"
    ).fit(X, y)
    held, truth = draw_rare(seed=1)
    bills = model.bill(held)
    assert bills.mean() < 4.0
    assert np.mean(bills[~truth] == 1.0) > 0.6
    assert model.predict(held)[truth].mean() > 0.9
    assert model.predict(held)[~truth].mean() < 0.1


def test_whoever_goes_on_is_above_the_threshold() -> None:
    X, y = draw_rare()
    model = CostCascadeClassifier(
        Prices([1.0, 10.0, 10.0]), penalty=0.005, n_stages=3, class_weight="balanced"
    ).fit(X, y)
    tree = model.model_
    assert np.all(tree.left == -1)
    assert len(tree.left) > 1
    depth = tree.visited(X).sum(axis=1)
    assert depth[y].mean() > depth[~y].mean() + 0.5


def test_one_stage_is_a_single_linear_classifier() -> None:
    X, y = draw_rare(400)
    model = CostCascadeClassifier(n_stages=1).fit(X, y)
    assert len(model.model_.left) == 1
    assert len(np.unique(model.bill(X))) == 1


def test_several_classes_have_a_cascade_each() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0], [-0.6, 0.6])
    model = CostCascadeClassifier(n_stages=2, penalty=0.01, max_sweeps=3).fit(X, y)
    assert isinstance(model.model_, OneVsRest)
    assert model.score(X, y) > 0.75


def test_boosted_stages_see_what_no_linear_one_does() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = np.abs(X[:, 0]) > 1.3
    settings = {"penalty": 0.002, "n_stages": 2, "class_weight": "balanced", "max_sweeps": 2}
    boosted = CostCascadeClassifier(base="boosted", n_estimators=10, **settings).fit(X, y)
    assert boosted.predict(X)[y].mean() > 0.9
    assert boosted.predict(X)[~y].mean() < 0.1


def test_a_path_of_cascades_is_sorted_by_bill() -> None:
    X, y = draw_rare(600)
    held = draw_rare(300, seed=4)
    model = CostCascadeClassifier(Prices([1.0, 5.0, 5.0]), n_stages=2, max_sweeps=2)
    points = list(model.path(X, y, validation=held, penalties=[0.1, 0.01, 0.001]))
    bills = [point.bill for point in points]
    assert bills == sorted(bills) and bills[0] == 0.0
    assert points[-1].quality > points[0].quality
