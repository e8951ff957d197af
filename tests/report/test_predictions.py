"""What a predictor does on labeled rows: purchases, bills, calibration, confusion, examples."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from report_models import LINEAR_PRICES, STUMP, TABLE

from thrifty import GreedyMiserRegressor, SubmodularTreeClassifier
from thrifty.learn.dataset import ValidationSet
from thrifty.report.predictions import bill_distribution, example, prediction_facts, walk_row


@pytest.fixture(scope="module")
def facts(found):
    return prediction_facts(found.predictor, found.test)


def test_purchases_are_counted_by_row(found, facts) -> None:
    used = found.predictor.model.used(found.test.X)
    counts = {item["feature"]: item["rows"] for item in facts["bought"]}
    names = found.predictor.schema.names
    assert counts == {names[j]: n for j, n in enumerate(used.sum(axis=0).tolist()) if n}
    rows = [item["rows"] for item in facts["bought"]]
    assert rows == sorted(rows, reverse=True)
    prices = {item["feature"]: (item["price"], item["group"]) for item in facts["bought"]}
    assert prices["chol & co"] == (5.0, "blood") and prices["<b>age</b>"] == (1.0, None)


def test_every_bill_is_in_one_bar(found, facts) -> None:
    bills = facts["bills"]
    assert sum(bar["rows"] for bar in bills["histogram"]) == found.sets.sizes["test"]
    assert bills["mean"] == pytest.approx(found.test_result.bill)


def test_many_bills_go_into_ten_bars() -> None:
    bars = bill_distribution(np.linspace(0, 1, 50))["histogram"]
    assert len(bars) == 10
    assert sum(bar["rows"] for bar in bars) == 50


def test_bills_that_differ_in_the_last_bit_share_a_bar() -> None:
    assert len(bill_distribution(np.array([0.3, 0.1 + 0.2]))["histogram"]) == 1


def test_five_examples_go_from_the_smallest_bill_to_the_largest(found, facts) -> None:
    bills = found.predictor.bill(found.test.table)
    totals = [item["total"] for item in facts["examples"]]
    assert (totals[0], totals[-1]) == (bills.min(), bills.max())
    assert totals == sorted(totals)
    assert len({item["row"] for item in facts["examples"]}) == 5
    for item in facts["examples"]:
        assert sum(p["price"] for p in item["purchases"]) == pytest.approx(item["total"])
        at = found.test.positions.tolist().index(item["row"])
        assert item["target"] == found.test.labels[at]
        assert item["prediction"] == found.predictor.predict(found.test.table.iloc[[at]])[0]


def test_the_story_of_an_example_has_purchases_prediction_and_bill() -> None:
    X, y = pd.DataFrame(TABLE), [1.0, 2.0, 3.0, 4.0]
    rows = ValidationSet.for_predictor(STUMP, "regression", X, y)
    assert example(STUMP, rows, 1)["story"] == (
        "Bought age for 1.00 (value 1), then $bmi$ for 3.25 (value 1). Predicted 3; "
        "the target is 2. Bill: EUR 4.25."
    )


def test_a_missing_value_is_named_in_the_story(found) -> None:
    X = found.test.table.assign(**{"chol & co": np.nan})
    rows = ValidationSet.for_predictor(found.predictor, found.task, X, found.test.labels)
    stories = [item["story"] for item in prediction_facts(found.predictor, rows)["examples"]]
    assert any("chol & co for 7.00 (missing)" in story for story in stories)


def test_a_model_that_buys_nothing_says_so(frugal) -> None:
    facts = prediction_facts(frugal.predictor, frugal.test)
    assert facts["bought"] == []
    assert facts["examples"][0]["story"].startswith("Bought nothing. Predicted ")


def test_a_walk_buys_in_the_order_of_requests() -> None:
    values = {"age": 1.0, "$bmi$": 0.5, "thal": 0.0}
    walk = walk_row(STUMP, values)
    assert [purchase.feature for purchase in walk.receipt.purchases] == ["age", "$bmi$"]
    assert walk.done and walk.answer == 3.0


def test_the_confusion_matrix_counts_every_row_once(found, facts) -> None:
    table = facts["confusion"]
    correct = np.trace(np.array(table["rows"]))
    assert table["classes"] == ["<script>", "well"]
    assert np.sum(table["rows"]) == found.sets.sizes["test"]
    assert correct / found.sets.sizes["test"] == pytest.approx(found.test_result.quality)


def test_calibration_counts_every_row_once(found, facts, regression) -> None:
    (curve,) = facts["calibration"]
    assert curve["rows"] == found.sets.sizes["test"] == sum(bin_["rows"] for bin_ in curve["bins"])
    correct = sum(bin_["rows"] * bin_["accuracy"] for bin_ in curve["bins"])
    assert correct / curve["rows"] == pytest.approx(found.test_result.quality)
    values = prediction_facts(regression.predictor, regression.test)
    assert values["calibration"] == [] and values["confusion"] is None


def test_only_a_tree_of_linear_models_has_nodes() -> None:
    table = np.random.default_rng(0).normal(size=(400, 4))
    y = np.where(table[:, 0] + 0.2 * table[:, 1] > 0, "yes", "<no>")
    tree = SubmodularTreeClassifier(LINEAR_PRICES, node_budget=3, max_depth=3).fit(table, y)
    rows = ValidationSet.for_predictor(tree.predictor_, "classification", table, y)
    nodes = prediction_facts(tree.predictor_, rows)["tree"]
    assert json.loads(json.dumps(nodes, allow_nan=False)) == nodes
    assert nodes[0]["share"] == 1.0 and nodes[0]["prediction"].startswith("yes: ")
    forest = GreedyMiserRegressor(n_estimators=3).fit(table, table[:, 0])
    rows = ValidationSet.for_predictor(forest.predictor_, "regression", table, table[:, 0])
    assert prediction_facts(forest.predictor_, rows)["tree"] == []
