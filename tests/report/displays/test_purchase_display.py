"""The plot of purchases: shares of rows, the order of purchase, and prices."""

from __future__ import annotations

import numpy as np
import pytest
from report_models import STUMP, TABLE, regression_of

from thrifty import GreedyMiserClassifier
from thrifty.errors import DataError
from thrifty.report.displays import PurchaseDisplay


def test_bars_are_the_shares_of_rows_in_the_order_of_purchase(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, ax=ax)
    assert [bar.get_width() for bar in display.bars_] == [100.0, 50.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age", "$bmi$"]
    low, high = ax.get_ylim()
    assert low > high  # the first is on top
    assert display.features == ("age", "$bmi$")
    np.testing.assert_array_equal(display.positions, [1.0, 2.0])
    assert ax.get_title(loc="left") == "2 of 3 features are bought"


def test_positions_and_prices_are_written_beside_the_bars(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, ax=ax)
    written = [text.get_text() for text in ax.texts]
    assert written == ["position", "price (EUR)", "1.0", "1.00", "2.0", "2.50 + 0.75 scale"]
    assert not any(text.get_parse_math() for text in (*ax.texts, *ax.get_yticklabels()))
    display.figure_.canvas.draw()


def test_positions_are_means_over_the_rows_that_buy(ax) -> None:
    # thal first: up to 0 it requests age and then bmi, above only bmi.
    nodes = [(0.0, 1, 2), (0.0, 3, 0), (0.0, 5, 1), None, (0.0, 7, 1), None, None, None, None]
    model = regression_of(nodes, range(9))
    table = {"age": [1.0, 1.0, 1.0], "$bmi$": [0.0] * 3, "thal": [-1.0, 1.0, 1.0]}
    display = PurchaseDisplay.from_predictor(model, table, ax=ax)
    found = dict(zip(display.features, display.positions.tolist(), strict=True))
    assert found == {"thal": 1.0, "age": 2.0, "$bmi$": pytest.approx((3 + 2 + 2) / 3)}
    assert display.features == ("thal", "age", "$bmi$")


def test_shares_are_those_of_all_rows_when_few_are_walked(ax) -> None:
    display = PurchaseDisplay.from_predictor(STUMP, TABLE, walks=1, ax=ax)
    np.testing.assert_array_equal(display.shares, [1.0, 0.5])
    np.testing.assert_array_equal(display.positions, [1.0, np.nan])
    assert [text.get_text() for text in ax.texts][4] == ""
    with pytest.raises(DataError, match="walks: 0"):
        PurchaseDisplay.from_predictor(STUMP, TABLE, walks=0)


def test_an_estimator_is_plotted_by_its_predictor(ax) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = GreedyMiserClassifier(n_estimators=2, min_samples_leaf=5).fit(X, X[:, 0] > 0)
    display = PurchaseDisplay.from_estimator(model, X, ax=ax)
    used = model.used(X).mean(axis=0)
    found = dict(zip(display.features, display.shares.tolist(), strict=True))
    assert found == {j: share for j, share in enumerate(used.tolist()) if share}


def test_only_the_features_of_the_largest_shares_are_shown(ax) -> None:
    shares = np.array([0.2, 0.9, 0.1, 0.8])
    given = (("a", "b", "c", "d"), shares, np.arange(1.0, 5.0), ("1.00",) * 4, "", 7)
    display = PurchaseDisplay(*given).plot(ax, most=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "d"]
    assert [bar.get_width() for bar in display.bars_] == [90.0, 80.0]
    assert ax.get_title(loc="left") == "4 of 7 features are bought, 2 shown"
    assert ax.texts[1].get_text() == "price"


def test_a_model_that_buys_nothing_has_no_bars(ax) -> None:
    constant = regression_of([None], [1.0])
    display = PurchaseDisplay.from_predictor(constant, TABLE, ax=ax)
    assert len(display.bars_) == 0
    assert ax.get_title(loc="left") == "0 of 3 features are bought"
