"""Facts: what a fit or a predictor did, in values that JSON can hold."""

from __future__ import annotations

import json

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
    assert facts["chosen"]["test"] == {
        "bill": found.test_result.bill,
        "quality": found.test_result.quality,
    }
    assert facts["chosen"]["validation"]["bill"] == found.chosen.bill
    assert [line["bill"] for line in facts["baselines"]] == [b.bill for b in found.baselines]
    assert len(facts["points"]) == len(found.curve.points)
    assert [point["chosen"] for point in facts["frontier"]].count(True) == 1
    best = [point["quality"] for point in facts["frontier"] if not point["dominated"]]
    assert best == [point.quality for point in found.curve.frontier]


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
