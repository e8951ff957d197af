"""Points: measured on the validation set, with small outputs kept."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, Prices
from thrifty.learn import point as point_module
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import Point, ValidationOutputs

X = np.random.default_rng(0).normal(size=(100, 2))
y = X[:, 0] > 0


@pytest.fixture
def model():
    return GreedyMiserClassifier(Prices([1.0, 5.0], evaluation=0.1), n_estimators=4).fit(X, y)


@pytest.fixture
def validation():
    train = TrainingSet.read("classification", X, y)
    return ValidationSet.read((X[:30], y[:30]), train)


def test_bill_and_quality_are_what_the_model_gives(model, validation):
    point = Point.measure(model.predictor_, validation)
    assert point.bill == model.bill(X[:30]).mean()
    assert point.quality == model.score(X[:30], y[:30])
    assert point.knob == model.predictor_.knob
    np.testing.assert_array_equal(point.outputs.scores, model.predict_proba(X[:30]))


def test_outputs_that_are_known_are_not_computed_again(model, validation):
    outputs = ValidationOutputs(np.tile([1.0, 0.0], (30, 1)), np.full(30, 7.0))
    point = Point.measure(model.predictor_, validation, outputs)
    assert point.bill == 7.0 and point.quality == np.mean(~y[:30])
    assert point.outputs is outputs


def test_large_outputs_are_not_kept(model, validation, monkeypatch):
    monkeypatch.setattr(point_module, "MAX_KEPT", 89)
    assert Point.measure(model.predictor_, validation).outputs is None
    monkeypatch.setattr(point_module, "MAX_KEPT", 90)
    assert Point.measure(model.predictor_, validation).outputs is not None


def test_a_point_can_be_sent_to_another_process(model, validation):
    interim = lambda: []  # noqa: E731
    point = Point.measure(model.predictor_, validation, interim=interim)
    copy = pickle.loads(pickle.dumps(point))
    assert point.interim is interim and copy.interim is None
    assert (copy.bill, copy.quality) == (point.bill, point.quality)
