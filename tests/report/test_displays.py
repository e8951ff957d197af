"""The pictures: what is drawn is what the data say."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection, LineCollection
from matplotlib.figure import Figure

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor, Predictor, Prices
from thrifty.bundle import Schema
from thrifty.errors import DataError
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.model import Forest, Stages
from thrifty.model.forest.nodes import empty_nodes
from thrifty.report.displays import CalibrationDisplay, CurveDisplay, PurchaseDisplay


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    """Axes that pyplot knows nothing of."""
    return Figure().add_subplot()


def legend_of(display) -> list[str]:
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


# --- the curve ---------------------------------------------------------------


def point(bill, quality, learner="miser", wide=0.05, dear=0.0) -> CurvePoint:
    nothing = np.empty(0)
    return CurvePoint(
        learner, {}, None, bill, quality, nothing, (bill - dear, bill + dear),
        (quality - wide, quality + wide), bill, nothing,
    )  # fmt: skip


POINTS = (point(0.0, 0.5), point(2.0, 0.8, dear=0.5), point(3.0, 0.7), point(4.0, 0.9, dear=1.0))


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
    assert list(line.get_markevery()) == [0, 1, 2]  # the end of the axis is no point
    (dots,) = [drawn for drawn in ax.lines if drawn.get_linestyle() == "None"]
    assert (dots.get_xdata(), dots.get_ydata()) == ([3.0], [0.7])
    assert ax.get_xlim()[1] == pytest.approx(right)


def test_the_band_goes_from_the_dear_and_bad_to_the_cheap_and_good(ax) -> None:
    CurveDisplay.from_curve(curve_of(), ax=ax)
    (band,) = [drawn for drawn in ax.collections if isinstance(drawn, FillBetweenPolyCollection)]
    (path,) = band.get_paths()
    corners = {(round(float(x), 9), round(float(y), 9)) for x, y in path.vertices}
    # The best: 0.85 from 1.5 on, 0.95 from 3 on. The worst: 0.75 from 2.5 on, 0.85 from 5 on,
    # which is beyond the end of the axis.
    assert {(1.5, 0.55), (1.5, 0.85), (3.0, 0.85), (3.0, 0.95)} <= corners
    assert {(2.5, 0.45), (2.5, 0.75)} <= corners
    assert {(0.0, 0.45), (0.0, 0.55)} <= corners


def test_budget_and_chosen_point_are_marked(ax) -> None:
    display = CurveDisplay.from_curve(curve_of().choosing(POINTS[1]), budget=2.5, ax=ax)
    budget, star = ax.lines[-2:]
    np.testing.assert_array_equal(budget.get_xdata(), [2.5, 2.5])
    assert (star.get_marker(), star.get_xdata(), star.get_ydata()) == ("*", [2.0], [0.8])
    assert legend_of(display) == ["beaten points", "frontier", "budget $ 2.50", "chosen"]


def test_a_budget_far_beyond_does_not_squeeze_the_curve(ax) -> None:
    CurveDisplay.from_curve(curve_of(), budget=1e6, ax=ax)
    assert ax.get_xlim()[1] == pytest.approx(1.04 * 1.2 * 4.0)


def test_a_curve_of_the_constant_alone_is_drawn(ax) -> None:
    display = CurveDisplay.from_curve(curve_of([point(0.0, 0.5)]), ax=ax)
    np.testing.assert_allclose(display.lines_["frontier"].get_xdata(), [0.0, 1.04])


def test_axes_are_labeled_with_measure_and_unit_and_a_dollar_is_no_formula(ax) -> None:
    display = CurveDisplay.from_curve(curve_of(unit="$US$"), budget=1.0, ax=ax)
    assert ax.get_xlabel() == "mean bill ($US$)"
    assert ax.get_ylabel() == "balanced accuracy"
    texts = [ax.xaxis.label, *ax.get_legend().get_texts()]
    assert not any(text.get_parse_math() for text in texts)
    display.figure_.canvas.draw()
    assert CurveDisplay.from_curve(curve_of(unit="")).ax_.get_xlabel() == "mean bill"


def test_several_curves_differ_in_color_line_and_marker(ax) -> None:
    other = curve_of([point(0.0, 0.5), point(8.0, 0.95)])
    display = CurveDisplay.from_curves({"one": curve_of(), "two": other}, ax=ax)
    one, two = display.lines_["one"], display.lines_["two"]
    for what in ("get_color", "get_linestyle", "get_marker"):
        assert getattr(one, what)() != getattr(two, what)()
    assert one.get_xdata()[-1] == two.get_xdata()[-1] == pytest.approx(1.04 * 8)
    assert legend_of(display) == ["one", "two"]


def test_a_fitted_budget_estimator_brings_its_budget_and_choice(ax) -> None:
    fitted = SimpleNamespace(frontier_=curve_of().choosing(POINTS[3]), budget=4.5)
    display = CurveDisplay.from_estimator(fitted, ax=ax)
    assert display.budget == 4.5
    assert legend_of(display)[-1] == "chosen"
    assert CurveDisplay.from_estimator(fitted, budget=3.0).budget == 3.0


def test_a_learner_is_traced(ax) -> None:
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
    ids=["none", "units", "measures"],
)
def test_curves_that_do_not_go_together_are_refused(curves, words) -> None:
    with pytest.raises(DataError, match=words):
        CurveDisplay(curves)


# --- pyplot ------------------------------------------------------------------


def test_given_axes_leave_pyplot_alone_and_without_axes_one_figure_is_made(ax) -> None:
    CurveDisplay.from_curve(curve_of(), ax=ax)
    assert plt.get_fignums() == []
    display = CurveDisplay.from_curve(curve_of())
    assert plt.get_fignums() == [display.figure_.number]


def test_displays_do_not_import_matplotlib_before_they_draw(modules_after) -> None:
    loaded = modules_after("-c", "import thrifty.report.displays")
    assert not {name for name in loaded if name.split(".")[0] == "matplotlib"}


# --- purchases ---------------------------------------------------------------


def tree(nodes, values, link="sum", d=3) -> Forest:
    array = empty_nodes(len(nodes))
    for i, node in enumerate(nodes):
        if node:
            array[i] = node
    zero = np.zeros(1, dtype=np.int64)
    return Forest(array, np.array(values, dtype=float)[:, None], zero, zero, np.zeros(1), link, d)


# age <= 0: done; else $bmi$ <= 0: done; else done. The third column is never read.
NODES = [(0.0, 1, 0), None, (0.0, 3, 1), None, None]
NAMES = ["age", "$bmi$", "thal"]
PRICES = Prices({"age": 1.0, "$bmi$": 2.5, "thal": 9.0}, groups={"scale": ["$bmi$"]},
                shared={"scale": 0.75}, unit="EUR")  # fmt: skip
TABLE = {"age": [-1.0, 1.0, 1.0, -2.0], "$bmi$": [0.0, 1.0, -1.0, 0.0], "thal": [0.0] * 4}
STUMP = Predictor(tree(NODES, [0, 1, 0, 2, 3]), Schema.of(TABLE), PRICES.bind(NAMES))


def test_bars_are_the_shares_of_the_rows_that_buy_in_the_order_of_buying(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, ax=ax)
    assert [bar.get_width() for bar in display.bars_] == [100.0, 50.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age", "$bmi$"]
    low, high = ax.get_ylim()
    assert low > high  # the first is on top
    assert display.features == ("age", "$bmi$")
    np.testing.assert_array_equal(display.places, [1.0, 2.0])
    assert ax.get_title(loc="left") == "2 of 3 features are bought"


def test_places_and_prices_stand_beside_the_bars(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, ax=ax)
    written = [text.get_text() for text in ax.texts]
    assert written == ["place", "price (EUR)", "1.0", "1.00", "2.0", "2.50 + 0.75 scale"]
    assert not any(text.get_parse_math() for text in (*ax.texts, *ax.get_yticklabels()))
    display.figure_.canvas.draw()


def test_places_are_means_over_the_rows_that_buy(ax) -> None:
    # thal first: below 0 it asks for age and then bmi, above for bmi alone.
    nodes = [(0.0, 1, 2), (0.0, 3, 0), (0.0, 5, 1), None, (0.0, 7, 1), None, None, None, None]
    model = Predictor(tree(nodes, range(9)), Schema.of(TABLE), PRICES.bind(NAMES))
    table = {"age": [1.0, 1.0, 1.0], "$bmi$": [0.0] * 3, "thal": [-1.0, 1.0, 1.0]}
    display = PurchaseDisplay.from_predictor(model, table, ax=ax)
    told = dict(zip(display.features, display.places.tolist(), strict=True))
    assert told == {"thal": 1.0, "age": 2.0, "$bmi$": pytest.approx((3 + 2 + 2) / 3)}
    assert display.features == ("thal", "age", "$bmi$")


def test_shares_are_those_of_all_rows_when_few_are_walked(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, walks=1, ax=ax)
    np.testing.assert_array_equal(display.shares, [1.0, 0.5])
    np.testing.assert_array_equal(display.places, [1.0, np.nan])
    assert [text.get_text() for text in ax.texts][4] == ""
    with pytest.raises(DataError, match="walks: 0"):
        PurchaseDisplay.from_predictor(STUMP, TABLE, walks=0)


def test_an_estimator_is_drawn_by_its_predictor(ax) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GreedyMiserClassifier(n_estimators=2, min_samples_leaf=5).fit(X, X[:, 0] > 0)
    display = PurchaseDisplay.from_estimator(model, X, ax=ax)
    used = model.used(X).mean(axis=0)
    told = dict(zip(display.features, display.shares.tolist(), strict=True))
    assert told == {j: share for j, share in enumerate(used.tolist()) if share}


def test_of_many_features_those_of_the_largest_shares_are_shown(ax) -> None:
    shares = np.array([0.2, 0.9, 0.1, 0.8])
    given = (("a", "b", "c", "d"), shares, np.arange(1.0, 5.0), ("1.00",) * 4, "", 7)
    display = PurchaseDisplay(*given).plot(ax, most=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d"]
    assert [bar.get_width() for bar in display.bars_] == [90.0, 80.0]
    assert ax.get_title(loc="left") == "4 of 7 features are bought, 2 shown"
    assert ax.texts[1].get_text() == "price"


def test_a_model_that_buys_nothing_has_no_bars(ax) -> None:
    constant = Predictor(tree([None], [1.0]), Schema.of(TABLE), PRICES.bind(NAMES))
    display = PurchaseDisplay.from_predictor(constant, TABLE, ax=ax)
    assert len(display.bars_) == 0
    assert ax.get_title(loc="left") == "0 of 3 features are bought"


# --- calibration -------------------------------------------------------------


def logit(p: float) -> float:
    return float(np.log(p / (1 - p)))


def sure(p: float, feature: int) -> Forest:
    """A model that is sure of the sign of a feature with probability p."""
    return tree([(0.0, 1, feature), None, None], [0.0, -logit(p), logit(p)], "sigmoid", 2)


CLASSES = np.array(["down", "up"])


def classifier(model) -> Predictor:
    return Predictor(model, Schema.of(np.zeros((1, 2))), Prices([1.0, 2.0]).bind(2), CLASSES)


def test_one_line_for_a_model_without_rungs(ax) -> None:
    X = np.ones((10, 2))
    y = np.repeat(["up", "down"], [7, 3])
    display = CalibrationDisplay.from_predictor(classifier(sure(0.9, 0)), X, y, ax=ax)
    (line,) = display.lines
    assert (line.confidence, line.right, line.counts) == (pytest.approx([0.9]), [0.7], [10])
    assert line.error == pytest.approx(0.2)
    assert line.low[0] == pytest.approx(0.3968, abs=1e-4)  # Wilson's interval of 7 in 10
    assert line.high[0] == pytest.approx(0.8922, abs=1e-4)
    assert legend_of(display) == ["as sure as right", "all: 10 rows, error 0.200"]
    drawn = display.lines_["all"]
    np.testing.assert_allclose(drawn.get_xydata(), [[0.9, 0.7]])


def test_a_ladder_has_a_line_for_each_rung_where_rows_stop(ax) -> None:
    # The first rung is sure of positive rows only, the third is never reached.
    first = tree([(0.0, 1, 0), None, None], [0.0, logit(0.4), logit(0.9)], "sigmoid", 2)
    ladder = Stages.of([first, sure(0.8, 1), sure(0.99, 1)], limits=[0.2, np.inf, np.inf])
    X = np.array([[1.0, 1.0]] * 4 + [[-1.0, 1.0]] * 6)
    y = np.repeat(["up", "down", "up"], [3, 2, 5])
    display = CalibrationDisplay.from_predictor(classifier(ladder), X, y, ax=ax)
    assert list(display.lines_) == ["rung 0", "rung 1"]
    one, two = display.lines
    assert (one.counts.tolist(), one.right.tolist()) == ([4], [0.75])
    assert (two.counts.tolist(), two.right.tolist()) == ([6], [pytest.approx(5 / 6)])
    assert two.confidence.tolist() == pytest.approx([0.8])
    assert legend_of(display)[1:] == ["rung 0: 4 rows, error 0.150", "rung 1: 6 rows, error 0.033"]


def test_bins_have_about_equally_many_rows_and_equal_ones_stay_together(ax) -> None:
    confidence = np.repeat([0.55, 0.65, 0.75, 0.95], [50, 30, 20, 100])
    right = np.arange(200) % 4 > 0
    predictor = SimpleNamespace(
        classes=CLASSES,
        model=None,
        predict_proba=lambda X: np.column_stack([1 - confidence, confidence]),
    )
    display = CalibrationDisplay.from_predictor(
        predictor, None, np.where(right, "up", "down"), ax=ax
    )
    (line,) = display.lines
    assert line.counts.tolist() == [50, 30, 20, 100]
    assert line.confidence == pytest.approx([0.55, 0.65, 0.75, 0.95])
    expected = [right[a:b].mean() for a, b in ((0, 50), (50, 80), (80, 100), (100, 200))]
    assert line.right == pytest.approx(expected)
    (bars,) = [drawn for drawn in ax.collections if isinstance(drawn, LineCollection)]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([line.low, line.high]))


def test_calibration_of_an_estimator_is_labeled(ax) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GreedyMiserClassifier(n_estimators=2, min_samples_leaf=5).fit(X, X[:, 0] > 0)
    display = CalibrationDisplay.from_estimator(model, X, X[:, 0] > 0, ax=ax)
    assert sum(line.counts.sum() for line in display.lines) == 60
    assert ax.get_xlabel() == "confidence (probability of the predicted class)"
    assert ax.get_ylabel() == "share of right answers"
    assert display.figure_ is ax.figure


def test_calibration_needs_classes_and_one_label_a_row() -> None:
    with pytest.raises(DataError, match="gives values"):
        CalibrationDisplay.from_predictor(STUMP, TABLE, [0.0] * 4)
    with pytest.raises(DataError, match="target: 2 values for 3 rows"):
        CalibrationDisplay.from_predictor(classifier(sure(0.9, 0)), np.ones((3, 2)), ["up"] * 2)
