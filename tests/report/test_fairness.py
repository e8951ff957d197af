"""Results by group: the figures are those of the rows of the group, and differences are real."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, Prices
from thrifty.errors import DataError
from thrifty.learn.dataset import ValidationSet
from thrifty.report.fairness import (
    GroupResult,
    find_differences,
    group_facts,
    group_results,
    group_rows,
)

RNG = np.random.default_rng(3)
X = pd.DataFrame({"a": RNG.normal(size=500), "b": RNG.normal(size=500)})
SEX = np.where(RNG.random(500) < 0.2, "f", "m")
Y = np.where((X["a"] + np.where(SEX == "f", 2.0, 0.2) * RNG.normal(size=500)) > 0, "yes", "no")
PRICES = Prices({"a": 1.0, "b": 4.0}, unit="EUR")


@pytest.fixture(scope="module")
def model():
    return GreedyMiserClassifier(PRICES, n_estimators=10, charge="example").fit(X, Y).predictor_


@pytest.fixture(scope="module")
def rows(model):
    return ValidationSet.for_predictor(model, "classification", X, Y)


def sizes(values) -> dict[str, int]:
    return {name: len(rows) for name, rows in group_rows(values).items()}


def test_figures_equal_those_of_the_rows_taken_by_hand(model, rows) -> None:
    found = group_results(model, rows, SEX, "accuracy")
    assert [result.group for result in found] == ["f", "m"]
    predicted, bills = model.predict(X), model.bill(X)
    for result in found:
        here = result.group == SEX
        right = predicted[here] == Y[here]
        assert result.rows == here.sum()
        assert result.quality == right.mean()
        wilson = binomtest(int(right.sum()), len(right)).proportion_ci(method="wilson")
        assert (result.quality_low, result.quality_high) == pytest.approx(tuple(wilson))
        assert result.bill == pytest.approx(bills[here].mean())
        half = 1.965 * bills[here].std(ddof=1) / np.sqrt(here.sum())
        assert result.bill_high - result.bill == pytest.approx(half, rel=0.03)
        for shares, labels in ((result.predicted, predicted), (result.actual, Y)):
            assert shares == {c: np.mean(labels[here] == c) for c in ("no", "yes")}
    assert sum(result.rows * result.quality for result in found) == pytest.approx(
        np.sum(predicted == Y)
    )


def test_values_of_a_regression_are_compared_by_their_means() -> None:
    y = X["a"].to_numpy() + 0.1 * RNG.normal(size=500)
    model = GreedyMiserRegressor(n_estimators=10).fit(X, y).predictor_
    rows = ValidationSet.for_predictor(model, "regression", X, y)
    low, *_, high = group_results(model, rows, X["a"], "r2", "a")
    assert low.predicted["mean"] < 0 < high.predicted["mean"]
    here = X["a"].rank(method="first").to_numpy() <= 125
    assert low.actual == {"mean": pytest.approx(y[here].mean())}
    alone = np.arange(500) == 0
    (_, one) = group_results(model, rows, alone, "r2")
    assert (one.rows, one.few, one.quality, one.quality_low) == (1, True, None, None)
    assert json.dumps(group_facts(model, rows, {"alone": alone}, "r2"), allow_nan=False)


def test_queries_are_not_divided() -> None:
    query = np.arange(500) // 10
    grades = (X["a"] > 0).astype(int).to_numpy()
    model = GreedyMiserRanker(n_estimators=5).fit(X, grades, qid=query).predictor_
    rows = ValidationSet.for_predictor(model, "ranking", X, grades, query)
    first, second = group_results(model, rows, query % 2, "ndcg@5")
    assert (first.rows, second.rows, first.predicted) == (250, 250, {})
    with pytest.raises(DataError, match="sex: it differs within a query"):
        group_results(model, rows, SEX, "ndcg@5", "sex")


def test_every_row_is_in_one_group() -> None:
    assert sizes(["b", "a", None, "a", np.nan]) == {"a": 2, "b": 1, "missing": 2}
    assert sizes(["missing", None]) == {"missing": 2}
    assert sizes([True, False, True]) == {"False": 1, "True": 2}
    assert sizes([10, 9, 10.0]) == {"9": 1, "10": 2}
    assert sizes(np.array(["1", 1], dtype=object)) == {"1": 2}
    assert sizes(pd.Series([1.5, np.nan] * 5)) == {"1.5": 5, "missing": 5}
    many = np.r_[np.arange(100.0), np.nan]
    assert sizes(many) == {"0 to 24": 25, "25 to 49": 25, "50 to 74": 25, "75 to 99": 25,
                           "missing": 1}  # fmt: skip
    close = 1e9 + np.arange(40.0)
    assert len(sizes(close)) == 4 and sum(sizes(close).values()) == 40
    assert sum(sizes(np.r_[np.zeros(90), np.arange(10)]).values()) == 100


def test_too_many_groups_and_too_few_values_are_rejected(model, rows) -> None:
    names = [f"name {i}" for i in range(500)]
    with pytest.raises(DataError, match="name: 500 different values are too many groups"):
        group_results(model, rows, names, "accuracy", "name")
    with pytest.raises(DataError, match="by: 3 values for 500 rows"):
        group_results(model, rows, [1, 2, 3], "accuracy")
    with pytest.raises(DataError, match="2 problems(.|\n)*one: (.|\n)*two: "):
        group_facts(model, rows, {"one": names, "two": names, "sex": SEX}, "accuracy")


A = GroupResult("a", 90, False, 3.0, 2.5, 3.5, 0.9, 0.85, 0.95, {}, {})


def test_differences_beyond_noise_are_reported() -> None:
    close = replace(A, group="b", quality=0.85, quality_low=0.8, quality_high=0.9)
    far = replace(A, group="c", quality=0.5, quality_low=0.4, quality_high=0.6)
    assert find_differences([A, close], "sex", "accuracy", "EUR") == ()
    (sentence,) = find_differences([A, close, far], "sex", "accuracy", "EUR")
    assert sentence.startswith(
        "The accuracy for sex a, 90.0%, is above that for sex c, 50.0%: the 95% confidence"
    )
    dear = replace(close, bill=9.0, bill_low=8.0, bill_high=10.0)
    (sentence,) = find_differences([A, dear], "sex", "accuracy", "EUR")
    assert "The mean bill for sex b, EUR 9.00, is above that for sex a, EUR 3.00" in sentence


def test_equal_bills_do_not_differ_by_rounding() -> None:
    bill = 7.27
    same = [
        replace(A, group=str(n), bill=sum([bill] * n) / n, bill_low=bill, bill_high=bill)
        for n in (30, 77, 79, 80)
    ]
    assert len({each.bill for each in same}) > 1
    exact = [replace(each, bill_low=each.bill, bill_high=each.bill) for each in same]
    assert find_differences(exact, "sex", "accuracy", "") == ()


def test_groups_of_few_rows_or_without_a_figure_are_not_compared() -> None:
    far = replace(A, group="c", quality=0.5, quality_low=0.4, quality_high=0.6)
    assert find_differences([A, replace(far, few=True)], "x", "accuracy", "") == ()
    unknown = replace(far, quality=None, quality_low=None, quality_high=None)
    assert find_differences([A, unknown], "x", "roc_auc", "") == ()
    assert find_differences([], "x", "accuracy", "") == ()


def test_a_true_difference_is_found_in_the_facts(model, rows) -> None:
    (entry,) = group_facts(model, rows, {"sex": SEX}, "accuracy")
    assert entry["column"] == "sex" and len(entry["groups"]) == 2
    assert any("The accuracy for sex m" in sentence for sentence in entry["differences"])


def test_of_many_equal_groups_few_are_said_to_differ():
    # Twenty groups of fifty rows that are all right with probability 0.8.
    rng = np.random.default_rng(0)
    n_false = 0
    for _ in range(40):
        shares = rng.binomial(50, 0.8, size=20) / 50
        half = 1.96 * np.sqrt(shares * (1 - shares) / 50)
        results = [
            replace(A, group=str(k), quality=q, quality_low=q - h, quality_high=q + h)
            for k, (q, h) in enumerate(zip(shares.tolist(), half.tolist(), strict=True))
        ]
        n_false += bool(find_differences(results, "x", "accuracy", ""))
    assert n_false <= 8  # without the correction it is most of them
