"""The plot of curves: the frontier as steps, its band, the budget and the chosen point."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from thrifty import GreedyMiserRegressor, Prices
from thrifty.errors import DataError
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.report.displays import CurveDisplay


def point(bill, quality, learner="miser", wide=0.05, spread=0.0) -> CurvePoint:
    nothing = np.empty(0)
    return CurvePoint(
        learner, {}, None, bill, quality, nothing, (bill - spread, bill + spread),
        (quality - wide, quality + wide), bill, nothing,
    )  # fmt: skip


POINTS = (
    point(0.0, 0.5),
    point(2.0, 0.8, spread=0.5),
    point(3.0, 0.7),
    point(4.0, 0.9, spread=1.0),
)


def curve_of(points=POINTS, **settings) -> Curve:
    given = {"scoring": "balanced_accuracy", "task": "classification", "unit": "$", "full": 9.0}
    return Curve(points, **{**given, **settings})


def test_the_frontier_is_drawn_as_steps_and_the_other_points_as_dots(ax) -> None:
    display = CurveDisplay.from_curve(curve_of(), ax=ax)
    line = display.lines_["frontier"]
    assert line.get_drawstyle() == "steps-post"
    right = 1.04 * 4.0
    np.testing.assert_allclose(line.get_xdata(), [0, 2, 4, right])
    np.testing.assert_allclose(line.get_ydata(), [0.5, 0.8, 0.9, 0.9])
    assert list(line.get_markevery()) == [0, 1, 2]  # the end of the axis is not a point
    (dots,) = [drawn for drawn in ax.lines if drawn.get_linestyle() == "None"]
    assert (dots.get_xdata(), dots.get_ydata()) == ([3.0], [0.7])
    assert ax.get_xlim()[1] == pytest.approx(right)


def test_the_band_goes_from_expensive_and_poor_to_cheap_and_good(ax) -> None:
    CurveDisplay.from_curve(curve_of(), ax=ax)
    (band,) = [drawn for drawn in ax.collections if isinstance(drawn, PolyCollection)]
    (path,) = band.get_paths()
    corners = {(round(float(x), 9), round(float(y), 9)) for x, y in path.vertices}
    # The best: 0.85 from 1.5 on, 0.95 from 3 on. The worst: 0.75 from 2.5 on, 0.85 from 5 on,
    # which is beyond the end of the axis.
    assert {(1.5, 0.55), (1.5, 0.85), (3.0, 0.85), (3.0, 0.95)} <= corners
    assert {(2.5, 0.45), (2.5, 0.75)} <= corners
    assert {(0.0, 0.45), (0.0, 0.55)} <= corners


def test_budget_and_chosen_point_are_marked(ax, legend_of) -> None:
    display = CurveDisplay.from_curve(curve_of().with_chosen(POINTS[1]), budget=2.5, ax=ax)
    budget, star = ax.lines[-2:]
    np.testing.assert_array_equal(budget.get_xdata(), [2.5, 2.5])
    assert (star.get_marker(), star.get_xdata(), star.get_ydata()) == ("*", [2.0], [0.8])
    assert legend_of(display) == ["dominated points", "frontier", "budget $2.50", "chosen"]


def test_a_budget_far_beyond_does_not_squeeze_the_curve(ax) -> None:
    CurveDisplay.from_curve(curve_of(), budget=1e6, ax=ax)
    assert ax.get_xlim()[1] == pytest.approx(1.04 * 1.2 * 4.0)


def test_bills_of_several_decades_get_a_logarithmic_axis_with_a_place_for_what_is_free(ax) -> None:
    points = [point(0.0, 0.5), point(1.2, 0.7), point(15.0, 0.8), point(320.0, 0.9)]
    CurveDisplay.from_curve(curve_of(points), ax=ax)
    assert ax.get_xscale() == "symlog"
    to_pixels = ax.transData.transform
    places = [float(to_pixels((each.bill, 0.5))[0]) for each in points]
    width = float(to_pixels((ax.get_xlim()[1], 0.5))[0]) - places[0]
    assert all(b - a > width / 8 for a, b in pairwise(places))
    assert [label.get_text() for label in ax.get_xticklabels()][:3] == ["0", "1", "3"]
    assert [text.get_text() for text in ax.texts] == ["//"]


def test_the_legend_stands_above_the_data(ax) -> None:
    display = CurveDisplay.from_curve(curve_of().with_chosen(POINTS[1]), budget=2.5, ax=ax)
    display.figure_.draw_without_rendering()
    assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_a_curve_of_the_constant_alone_is_drawn(ax) -> None:
    display = CurveDisplay.from_curve(curve_of([point(0.0, 0.5)]), ax=ax)
    np.testing.assert_allclose(display.lines_["frontier"].get_xdata(), [0.0, 1.04])


def test_axes_are_labeled_with_metric_and_unit_and_a_dollar_is_not_a_formula(ax) -> None:
    display = CurveDisplay.from_curve(curve_of(unit="$US$"), budget=1.0, ax=ax)
    assert ax.get_xlabel() == "mean bill ($US$ per example)"
    assert ax.get_ylabel() == "balanced accuracy"
    texts = [ax.xaxis.label, *ax.get_legend().get_texts()]
    assert not any(text.get_parse_math() for text in texts)
    display.figure_.canvas.draw()
    assert CurveDisplay.from_curve(curve_of(unit="")).ax_.get_xlabel() == "mean bill per example"


def test_several_curves_differ_in_color_line_and_marker(ax, legend_of) -> None:
    other = curve_of([point(0.0, 0.5), point(8.0, 0.95)])
    display = CurveDisplay.from_curves({"one": curve_of(), "two": other}, ax=ax)
    one, two = display.lines_["one"], display.lines_["two"]
    for what in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(one, what)() != getattr(two, what)()
    assert one.get_xdata()[-1] == two.get_xdata()[-1] == pytest.approx(1.04 * 8)
    assert legend_of(display) == ["one", "two"]


def test_a_fitted_budget_estimator_brings_its_budget_and_choice(ax, legend_of) -> None:
    fitted = SimpleNamespace(frontier_=curve_of().with_chosen(POINTS[3]), budget=4.5)
    display = CurveDisplay.from_estimator(fitted, ax=ax)
    assert display.budget == 4.5
    assert legend_of(display)[-1] == "chosen"
    assert CurveDisplay.from_estimator(fitted, budget=3.0).budget == 3.0


def test_a_learner_is_traced_first(ax) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    learner = GreedyMiserRegressor(Prices([1.0, 2.0]), n_estimators=3, min_samples_leaf=5)
    display = CurveDisplay.from_estimator(learner, X, X[:, 0], scoring="r2", ax=ax)
    (curve,) = display.curves.values()
    drawn = display.lines_["GreedyMiserRegressor"].get_ydata()[:-1]
    np.testing.assert_array_equal(drawn, [each.quality for each in curve.frontier])
    with pytest.raises(DataError, match="has no frontier_ to draw: fit it, or give X and y"):
        CurveDisplay.from_estimator(learner)


def test_a_curve_draws_itself(ax) -> None:
    display = CurveDisplay(curve_of())
    assert not hasattr(display, "ax_")
    assert display.plot(ax) is display
    assert display.ax_ is ax and display.figure_ is ax.figure
    shown = curve_of().plot(ax)
    assert isinstance(shown, CurveDisplay) and shown.ax_ is ax


@pytest.mark.parametrize(
    "curves, words",
    [
        ({}, "there is no curve"),
        ({"a": curve_of(), "b": curve_of(unit="EUR")}, r"differ in unit, \['\$', 'EUR'\]"),
        ({"a": curve_of(), "b": curve_of(scoring="r2")}, "differ in scoring"),
    ],
    ids=["none", "units", "metrics"],
)
def test_curves_of_different_metrics_or_units_are_rejected(curves, words) -> None:
    with pytest.raises(DataError, match=words):
        CurveDisplay(curves)


def test_given_axes_leave_pyplot_alone_and_without_axes_one_figure_is_made(ax) -> None:
    CurveDisplay.from_curve(curve_of(), ax=ax)
    assert plt.get_fignums() == []
    display = CurveDisplay.from_curve(curve_of())
    assert plt.get_fignums() == [display.figure_.number]
