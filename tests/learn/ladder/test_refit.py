"""Ladders whose boosted trees are trained again on all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty import LadderClassifier, LadderRegressor
from thrifty.learn.binned import Binned, BinnedParts
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.ladder.refit import refit_rungs, replan
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.model import Average, Forest, Stages


def long(task, X, y, prices):
    """The rows as they would come from files."""
    train = TrainingSet.read(task, X, y, prices)
    binned = Binned.of(train.X, train.categorical, np.random.RandomState(0))
    parts = BinnedParts(binned.stored, binned.edges, binned.categorical, len(train))
    return LongTrainingSet(
        task, None, train.schema, train.prices, train.X[:10], train.y, None, train.classes,
        binned=parts, ranges=[None] * 3, random=np.random.RandomState(0),
    )  # fmt: skip


@pytest.fixture
def fitted(prices, make_labels, small):
    """A ladder on few rows, its best point, and all rows."""
    X, y = make_labels(300)
    ladder = LadderClassifier(prices, **small)
    points = [p for p in ladder.path(X, y) if isinstance(p.model.model, Stages)]
    return ladder, points[-1].model, long("classification", *make_labels(3000, seed=5), prices)


def test_boosted_trees_are_replaced_and_nothing_else(fitted) -> None:
    _, predictor, train = fitted
    shares: list[float] = []
    model = refit_rungs(predictor.model, train, seed=0, report=shares.append)
    assert shares[-1] == 1.0
    for old, new in zip(predictor.model.rungs, model.rungs, strict=True):
        if not isinstance(old, Average):
            assert new is old
            continue
        np.testing.assert_array_equal(old.reads, new.reads)
        for one, other in zip(old.parts, new.parts, strict=True):
            boosted = isinstance(one, Forest) and one.link == "sigmoid"
            assert (one is other) != boosted
            if boosted:
                assert len(one.roots) == len(other.roots)
                assert not (other.support & ~new.reads).any()


def test_points_on_all_rows_are_better(fitted, make_labels) -> None:
    ladder, predictor, train = fitted
    sample = TrainingSet.read("classification", *make_labels(300), ladder.prices)
    evidence = long("classification", *make_labels(1000, seed=9), ladder.prices)
    table, y = make_labels(1000, seed=9)
    held_out = sample.hold_out(np.arange(300), sample.schema)
    held_out = replace(held_out, table=table, X=sample.schema.encode(table), y=evidence.y)
    points = ladder.refit(predictor, train, held_out)
    before = float(np.mean(predictor.predict(table) == y))
    assert max(point.quality for point in points) > before
    for point in points[::5]:
        assert point.quality == pytest.approx(np.mean(point.model.predict(table) == y))
        assert point.bill == pytest.approx(point.model.bill(table).mean())


def test_no_rung_is_trained_after_the_deadline(fitted) -> None:
    _, predictor, train = fitted
    times = iter(range(100))
    assert refit_rungs(predictor.model, train, 0, deadline=-1.0, clock=lambda: 0.0) is None
    # Each rung takes a second: the second one would end too late.
    model = refit_rungs(predictor.model, train, 0, deadline=2.0, clock=lambda: float(next(times)))
    changed = [old is not new for old, new in zip(predictor.model.rungs, model.rungs, strict=True)]
    assert changed[-1] and sum(changed) == 1


def test_values_keep_their_thresholds(prices, make_numbers, small) -> None:
    X, y = make_numbers(300)
    ladder = LadderRegressor(prices, **small)
    predictor = [p for p in ladder.path(X, y) if isinstance(p.model.model, Stages)][-1].model
    train = long("regression", *make_numbers(2000, seed=3), prices)
    sample = TrainingSet.read("regression", X, y, prices)
    (point,) = ladder.refit(predictor, train, sample.hold_out(np.arange(300), sample.schema))
    np.testing.assert_array_equal(point.model.model.thresholds, predictor.model.thresholds)
    np.testing.assert_array_equal(point.model.bill(X), predictor.bill(X))
    assert point.model.model is not predictor.model


def test_a_constant_has_nothing_to_train(fitted) -> None:
    ladder, predictor, train = fitted
    constant = predictor.replace(model=Forest.constant(np.array([0.5, 0.5]), "mean", 3))
    assert ladder.refit(constant, train, None) == []


def test_a_single_rung_is_planned_too(fitted, make_labels) -> None:
    ladder, predictor, _ = fitted
    top = predictor.model.rungs[-1]
    sample = TrainingSet.read("classification", *make_labels(300), ladder.prices)
    ((_, plan),) = replan(top, sample.prices, sample.hold_out(np.arange(300), sample.schema))
    assert plan.model is top
