"""The plot of calibration: one line per curve, intervals, and the diagonal."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from report_models import STUMP, TABLE, classifier_of, confident

from thrifty import GreedyMiserClassifier
from thrifty.errors import DataError
from thrifty.report.calibration import CalibrationCurve
from thrifty.report.displays import CalibrationDisplay


def test_one_line_for_a_model_without_rungs(ax, legend_of) -> None:
    X, y = np.ones((10, 2)), np.repeat(["up", "down"], [7, 3])
    display = CalibrationDisplay.from_predictor(classifier_of(confident(0.9, 0)), X, y, ax=ax)
    assert legend_of(display) == ["perfectly calibrated", "all: 10 rows, error 0.200"]
    np.testing.assert_allclose(display.lines_["all"].get_xydata(), [[0.9, 0.7]])


def test_every_curve_has_a_line_with_its_rows_and_its_error(ax, legend_of) -> None:
    def curve(name, confidence, accuracy, rows):
        at = [np.array([value]) for value in (confidence, accuracy, accuracy - 0.1, accuracy + 0.1)]
        return CalibrationCurve(name, *at, np.array([rows]))

    curves = (curve("rung 0", 0.9, 0.75, 4), curve("rung 1", 0.8, 5 / 6, 6))
    display = CalibrationDisplay(curves).plot(ax)
    assert list(display.lines_) == ["rung 0", "rung 1"]
    assert legend_of(display)[1:] == ["rung 0: 4 rows, error 0.150", "rung 1: 6 rows, error 0.033"]
    one, two = display.lines_.values()
    assert one.get_color() != two.get_color() and one.get_marker() != two.get_marker()


def test_intervals_are_drawn_as_bars(ax) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = np.where(X[:, 0] > 0.5, "up", "down")
    display = CalibrationDisplay.from_predictor(classifier_of(confident(0.9, 0)), X, y, ax=ax)
    (curve,) = display.curves
    (bars,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([curve.low, curve.high]))


def test_bins_of_few_rows_say_how_many_and_the_legend_hides_nothing(ax) -> None:
    X, y = np.ones((10, 2)), np.repeat(["up", "down"], [7, 3])
    display = CalibrationDisplay.from_predictor(classifier_of(confident(0.9, 0)), X, y, ax=ax)
    assert [text.get_text() for text in ax.texts] == ["10 rows"]
    display.figure_.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
    many = [np.array([value]) for value in (0.9, 0.75, 0.6, 0.8, 100)]
    ax.clear()
    CalibrationDisplay((CalibrationCurve("all", *many),)).plot(ax)
    assert not ax.texts


def test_calibration_of_an_estimator_is_labeled(ax) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GreedyMiserClassifier(n_estimators=2, min_samples_leaf=5).fit(X, X[:, 0] > 0)
    display = CalibrationDisplay.from_estimator(model, X, X[:, 0] > 0, ax=ax)
    assert sum(curve.counts.sum() for curve in display.curves) == 60
    assert ax.get_xlabel() == "probability of the predicted class"
    assert ax.get_ylabel() == "accuracy"
    assert display.figure_ is ax.figure


def test_a_regression_is_rejected() -> None:
    with pytest.raises(DataError, match="is not a classifier"):
        CalibrationDisplay.from_predictor(STUMP, TABLE, [0.0] * 4)
