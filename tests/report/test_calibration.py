"""Calibration curves: accuracy by confidence, one curve for each place where rows stop."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from report_models import CLASSES, STUMP, TABLE, classifier_of, confident, logit, make_tree

from thrifty.errors import DataError
from thrifty.learn.dataset import ValidationSet
from thrifty.model import Stages
from thrifty.report.calibration import calibration_curves, join_rungs


def curves_of(predictor, X, y):
    rows = ValidationSet.for_predictor(predictor, "classification", X, y)
    return calibration_curves(predictor, rows)


def test_a_model_without_rungs_has_one_curve() -> None:
    X, y = np.ones((10, 2)), np.repeat(["up", "down"], [7, 3])
    (curve,) = curves_of(classifier_of(confident(0.9, 0)), X, y)
    assert (curve.confidence, curve.accuracy, curve.counts) == (pytest.approx([0.9]), [0.7], [10])
    assert curve.error == pytest.approx(0.2)
    assert curve.low[0] == pytest.approx(0.3968, abs=1e-4)  # Wilson's interval of 7 in 10
    assert curve.high[0] == pytest.approx(0.8922, abs=1e-4)


def test_a_ladder_has_a_curve_for_each_rung_where_rows_stop() -> None:
    # The first rung is confident of positive rows only; the third is never reached.
    first = make_tree([(0.0, 1, 0), None, None], [0.0, logit(0.4), logit(0.9)], "sigmoid", 2)
    rungs = [first, confident(0.8, 1), confident(0.99, 1)]
    ladder = Stages.of(rungs, thresholds=[0.2, np.inf, np.inf])
    X = np.array([[1.0, 1.0]] * 40 + [[-1.0, 1.0]] * 60)
    y = np.repeat(["up", "down", "up"], [30, 20, 50])
    one, two = curves_of(classifier_of(ladder), X, y)
    assert (one.name, two.name) == ("rung 0", "rung 1")
    assert (one.counts.tolist(), one.accuracy.tolist()) == ([40], [0.75])
    assert (two.counts.tolist(), two.accuracy.tolist()) == ([60], [pytest.approx(5 / 6)])
    assert two.confidence.tolist() == pytest.approx([0.8])


def test_rungs_where_few_rows_stop_share_a_curve() -> None:
    def sizes(*counts):
        stops = join_rungs(np.repeat(np.arange(len(counts)), counts))
        return {name: len(rows) for name, rows in stops.items()}

    assert sizes(4, 1, 30, 40) == {"rungs 0 to 2": 35, "rung 3": 40}
    assert sizes(60, 2, 1) == {"rungs 0 to 2": 63}  # the last ones join those before them
    assert sizes(3, 2) == {"rungs 0 to 1": 5}
    assert sizes(7) == {"rung 0": 7}
    assert len(sizes(*[30] * 40)) == 5  # many lines would be a thicket


def test_bins_have_about_equally_many_rows_and_equal_ones_stay_together() -> None:
    confidence = np.repeat([0.55, 0.65, 0.75, 0.95], [50, 30, 20, 100])
    correct = np.arange(200) % 4 > 0
    scores = np.column_stack([1 - confidence, confidence])
    model = SimpleNamespace(score=lambda X: scores)
    predictor = SimpleNamespace(classes=CLASSES, model=model)
    rows = SimpleNamespace(X=None, y=correct.astype(int))  # class 1 is predicted everywhere
    (curve,) = calibration_curves(predictor, rows)
    assert curve.counts.tolist() == [50, 30, 20, 100]
    assert curve.confidence == pytest.approx([0.55, 0.65, 0.75, 0.95])
    expected = [correct[a:b].mean() for a, b in ((0, 50), (50, 80), (80, 100), (100, 200))]
    assert curve.accuracy == pytest.approx(expected)


def test_classes_and_one_label_per_row_are_needed() -> None:
    with pytest.raises(DataError, match="is not a classifier"):
        curves_of(STUMP, TABLE, [0.0] * 4)
    with pytest.raises(DataError, match="target: 2 labels for 3 rows"):
        curves_of(classifier_of(confident(0.9, 0)), np.ones((3, 2)), ["up"] * 2)
