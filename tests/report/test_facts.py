"""Facts: what a fit or a predictor did, in values that JSON can hold."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace

import pytest

from thrifty.learn.dataset import ValidationSet
from thrifty.report import fit_facts, predictor_facts


@pytest.mark.parametrize("name", ["found", "frugal", "regression"])
def test_facts_are_plain(name, request) -> None:
    facts = fit_facts(request.getfixturevalue(name))
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


def test_the_settings_are_those_of_the_fit(found) -> None:
    settings = fit_facts(found, target="illness", source="heart.csv")["settings"]
    assert (settings["target"], settings["source"]) == ("illness", "heart.csv")
    assert (settings["budget"], settings["full"]) == (9.0, 11.5)
    assert sum(settings["rows"].values()) == 300


def test_figures_are_those_of_the_fit(found) -> None:
    facts = fit_facts(found)
    result = found.test_result
    assert facts["chosen"]["test"] == facts["test"] == {
        "bill": result.bill, "bill_low": result.bill_interval[0],
        "bill_high": result.bill_interval[1], "quality": result.quality,
        "quality_low": result.quality_interval[0], "quality_high": result.quality_interval[1],
    }  # fmt: skip
    assert facts["chosen"]["validation"]["bill"] == found.chosen.bill
    assert [line["bill"] for line in facts["baselines"]] == [b.bill for b in found.baselines]
    assert len(facts["points"]) == len(found.curve.points)
    assert [point["chosen"] for point in facts["frontier"]].count(True) == 1
    best = [point["quality"] for point in facts["frontier"] if not point["dominated"]]
    assert best == sorted(set(best)) and best[-1] == found.curve.frontier[-1].quality


def test_all_that_a_chart_shows_is_measured_on_the_test_rows(found) -> None:
    facts = fit_facts(found)
    rows = (facts["test"], *facts["test_points"], *facts["baselines"], facts["constant"])
    for row in rows:
        assert row["quality_low"] <= row["quality"] <= row["quality_high"]
        assert row["bill_low"] <= row["bill"] <= row["bill_high"]
    (chosen,) = [point for point in facts["test_points"] if point["chosen"]]
    assert (chosen["bill"], chosen["quality"]) == (facts["test"]["bill"], facts["test"]["quality"])
    assert facts["baselines"][0]["verdict"] in ("behind", "ahead", "better", "cheaper")


def test_a_curve_without_a_constant_shows_it_all_the_same(found) -> None:
    paid = replace(found.curve, points=tuple(p for p in found.curve.points if p.bill > 0))
    estimator = copy.copy(found.estimator)
    estimator.frontier_ = paid
    rows = fit_facts(replace(found, estimator=estimator))["frontier"]
    assert rows[0]["learner"] == "constant" and rows[0]["features"] == 0
    assert rows[0]["quality"] == found.constant_validation.quality


def test_a_chosen_point_that_is_dominated_is_marked(found) -> None:
    estimator = copy.copy(found.estimator)
    best = found.curve.frontier[-1]
    beaten = replace(best, bill=best.bill + 5.0, quality=best.quality - 0.1)
    points = (*found.curve.points, beaten)
    estimator.frontier_ = replace(found.curve, points=points, chosen=beaten)
    rows = fit_facts(replace(found, estimator=estimator))["frontier"]
    assert [(row["chosen"], row["tied"]) for row in rows if row["dominated"]] == [(True, False)]
    assert not any(row["chosen"] for row in rows if not row["dominated"])


def test_a_chosen_point_that_is_ahead_by_less_than_the_digits_is_called_tied(found) -> None:
    estimator = copy.copy(found.estimator)
    best = found.curve.frontier[-1]
    ahead = replace(best, bill=best.bill + 5.0, quality=best.quality + 1e-6)
    points = (*found.curve.points, ahead)
    estimator.frontier_ = replace(found.curve, points=points, chosen=ahead)
    rows = fit_facts(replace(found, estimator=estimator))["frontier"]
    assert [row["tied"] for row in rows if row["dominated"]] == [True]


def test_an_interval_without_an_end_has_none(found) -> None:
    result = replace(found.test_result, quality_interval=(-math.inf, 1.0))
    assert fit_facts(replace(found, test_result=result))["test"]["quality_low"] is None


def test_a_predictor_alone_has_facts_without_a_curve(found) -> None:
    test = found.test
    rows = ValidationSet.for_predictor(found.predictor, found.task, test.table, test.labels)
    facts = predictor_facts(found.predictor, rows, target="illness")
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["bills"]["mean"] == pytest.approx(found.test_result.bill)
    assert f"accuracy {100 * found.test_result.quality:.1f}%" in facts["headline"]
    assert facts["provenance"]["data"] == found.data
    assert "frontier" not in facts


def test_provenance_has_seed_versions_and_data(found) -> None:
    facts = fit_facts(found, note="Prices are made up.")
    origin = facts["provenance"]
    assert origin["seed"] == 0
    assert origin["data"] == found.data
    assert set(origin["versions"]) >= {"thrifty", "python", "numpy"}
    assert facts["assumptions"][-1] == "Prices are made up."
