"""Facts: what the fit says, in values that JSON can hold."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thrifty.frontier.splits import Rows
from thrifty.report import facts, facts_of
from thrifty.report.answers import _bars
from thrifty.report.words import average, gap


@pytest.mark.parametrize("name", ["found", "frugal", "regression"])
def test_facts_are_plain(name, request) -> None:
    told = facts(request.getfixturevalue(name))
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_what_was_asked_is_told(found) -> None:
    asked = facts(found, target="illness", source="heart.csv")["asked"]
    assert (asked["target"], asked["source"], asked["budget"]) == ("illness", "heart.csv", 9.0)
    assert asked["full"] == 11.5
    assert sum(asked["rows"].values()) == 300


def test_figures_are_those_of_the_fit(found) -> None:
    told = facts(found)
    assert told["chosen"]["test"] == {
        "bill": found.held_out.bill,
        "quality": found.held_out.quality,
    }
    assert told["chosen"]["validation"]["bill"] == found.chosen.bill
    assert [line["bill"] for line in told["baselines"]] == [b.bill for b in found.baselines]
    assert len(told["points"]) == len(found.curve.points)
    assert [point["chosen"] for point in told["frontier"]].count(True) == 1
    best = [point["quality"] for point in told["frontier"] if not point["beaten"]]
    assert best == [point.quality for point in found.curve.frontier]


def test_purchases_are_counted_on_the_test_rows(found) -> None:
    told = facts(found)
    used = found.predictor.used(found.test.X)
    counts = {item["feature"]: item["rows"] for item in told["bought"]}
    names = found.predictor.schema.names
    assert counts == {names[j]: n for j, n in enumerate(used.sum(axis=0).tolist()) if n}
    rows = [item["rows"] for item in told["bought"]]
    assert rows == sorted(rows, reverse=True)


def test_every_bill_is_in_one_bar(found) -> None:
    told = facts(found)["bills"]
    assert sum(bar["rows"] for bar in told["bars"]) == found.sizes["test"]
    assert told["mean"] == pytest.approx(found.held_out.bill)


def test_many_bills_go_into_ten_bars() -> None:
    bars = _bars(np.linspace(0, 1, 50))
    assert len(bars) == 10
    assert sum(bar["rows"] for bar in bars) == 50


def test_bills_that_differ_in_the_last_bit_are_one_bar() -> None:
    assert len(_bars(np.array([0.3, 0.1 + 0.2]))) == 1


def test_five_examples_go_from_the_smallest_bill_to_the_largest(found) -> None:
    told = facts(found)
    bills = found.predictor.bill(found.test.X)
    totals = [example["total"] for example in told["examples"]]
    assert (totals[0], totals[-1]) == (bills.min(), bills.max())
    assert totals == sorted(totals)
    assert len({example["row"] for example in told["examples"]}) == 5
    for example in told["examples"]:
        assert sum(p["price"] for p in example["purchases"]) == pytest.approx(example["total"])
        at = found.test.index.tolist().index(example["row"])
        assert example["truth"] == found.test.y[at]
        assert example["answer"] == found.predictor.predict(found.test.X.iloc[[at]])[0]


def test_nothing_bought_is_said_in_words(frugal) -> None:
    told = facts(frugal)
    assert told["bought"] == []
    assert told["examples"][0]["story"].startswith("It bought nothing, and answered")


def test_the_headline_compares_with_the_predictor_learnt_without_prices(found) -> None:
    share = 100 * found.held_out.bill / found.baselines[1].bill
    assert facts(found)["headline"].startswith(f"{share:.3g} % of the price (")


@pytest.mark.parametrize(
    ("metric", "change", "words"),
    [
        ("accuracy", -0.0123, "1.2 points of accuracy less"),
        ("accuracy", 0.05, "5.0 points of accuracy more"),
        ("accuracy", 0.0001, "the same accuracy"),
        ("r2", -0.25, "0.2500 of r2 less"),
    ],
)
def test_a_gap_is_told_in_its_own_measure(metric, change, words) -> None:
    assert gap(metric, change) == words


def test_a_mean_has_no_false_digits() -> None:
    assert average(29.131858, "min") == "min 29.13"
    assert average(0.000123456) == "0.000123"
    assert average(0.0) == "0.00"


def test_a_mean_bill_above_the_budget_is_admitted(found) -> None:
    from dataclasses import replace

    tight = replace(found, estimator=found.estimator.at_budget(found.chosen.bill))
    tight.estimator.budget = found.held_out.bill / 2
    assert any("above the budget" in text for text in facts(tight)["assumptions"])
    assert not any("above the budget" in text for text in facts(found)["assumptions"])


def test_what_budget_and_cap_promise_is_told(found) -> None:
    told = " ".join(facts(found)["assumptions"])
    assert "With confidence 0.95 the mean bill" in told
    assert "single examples may cost more" in told


def test_the_confusion_counts_every_test_row_once(found) -> None:
    table = facts(found)["confusion"]
    right = np.trace(np.array(table["rows"]))
    assert table["classes"] == ["<script>", "well"]
    assert np.sum(table["rows"]) == found.sizes["test"]
    assert right / found.sizes["test"] == pytest.approx(found.held_out.quality)


def test_calibration_counts_every_test_row_once(found, regression) -> None:
    (line,) = facts(found)["calibration"]
    assert line["rows"] == found.sizes["test"] == sum(bin_["rows"] for bin_ in line["bins"])
    right = sum(bin_["rows"] * bin_["right"] for bin_ in line["bins"])
    assert right / line["rows"] == pytest.approx(found.held_out.quality)
    assert facts(regression)["calibration"] == [] and facts(regression)["confusion"] is None


def test_a_predictor_alone_is_told_without_a_curve(found) -> None:
    rows = Rows(np.arange(len(found.test)), found.test.X, found.test.y)
    told = facts_of(found.predictor, rows, target="illness")
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["bills"]["mean"] == pytest.approx(found.held_out.bill)
    assert f"accuracy {found.held_out.quality:.4g}" in told["headline"]
    assert told["provenance"]["data"] == found.data
    assert "frontier" not in told


def test_seed_versions_and_data_are_told(found) -> None:
    origin = facts(found, note="Prices are made up.")["provenance"]
    assert origin["seed"] == 0
    assert origin["data"] == found.data
    assert set(origin["versions"]) >= {"thrifty", "python", "numpy"}
    assert facts(found, note="Prices are made up.")["assumptions"][-1] == "Prices are made up."
