"""The model card: every section, in Markdown and in HTML, from the same facts."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier
from thrifty.learn.dataset import ValidationSet
from thrifty.report import card_facts, fit_facts, model_card, predictor_facts, render_page

SECTIONS = ["Model", "Purpose", "Data", "Results", "Prices", "Decision rule", "Results by group",
            "Limits"]  # fmt: skip


def facts_of(found, **by):
    sets = {"training": found.sets.train, "test": found.test}
    facts = fit_facts(found, target="illness", source="heart.csv", note="Prices are made up.")
    return facts | card_facts(found.predictor, sets, by=by, date="2026-03-01")


@pytest.fixture(scope="module")
def facts(found):
    few = np.where(np.arange(len(found.test)) < 3, "rare | one", "other")
    return facts_of(found, sex=found.test.table["sex"], few=few)


@pytest.fixture(scope="module")
def card(facts) -> str:
    return model_card(facts)


@pytest.mark.parametrize("name", ["found", "frugal", "regression"])
def test_every_section_is_there_in_both_forms(name, request) -> None:
    facts = facts_of(request.getfixturevalue(name))
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert re.findall(r"^## (.*)$", model_card(facts), flags=re.MULTILINE) == SECTIONS
    assert re.findall(r"<h2>(.*)</h2>", model_card(facts, html=True)) == SECTIONS


def test_results_have_intervals_and_are_those_of_the_facts(facts, card) -> None:
    test = facts["test"]
    quality = [f"{100 * test[key]:.1f}%" for key in ("quality", "quality_low", "quality_high")]
    assert "| {} ({} to {}) |".format(*quality) in card
    assert f"| this model | $\\<$ {test['bill']:.2f} ({test['bill_low']:.2f} to " in card
    for baseline in facts["baselines"]:
        assert f"| {baseline['name']} | $\\<$ {baseline['bill']:.2f}" in card


def test_data_prices_purpose_and_limits_are_described(facts, card, found) -> None:
    labels = found.sets.train.labels
    well = np.sum(labels == "well")
    assert f"| well | {well} ({100 * well / len(labels):.1f}%) |" in card
    assert re.search(r"\| chol & co \| 1\d\.\d% \| 1\d\.\d% \|", card)  # missing in every 7th row
    assert "heart.csv" in card and "180 training, 60 test" in card
    assert "within $\\<$ 9.00 per example on average, with 95% confidence" in card
    assert "| chol & co | $\\<$ 5.00 | $\\<$ 2.00 (blood) |" in card
    assert "Prices are those of 2026-03-01." in card and "Prices are made up." in card
    assert "The test set has only 60 rows" in card
    assert "It predicts the most probable class." in card
    assert "same distribution" in card


def test_groups_are_compared_and_few_rows_are_marked(facts, card) -> None:
    for group in facts["by"][0]["groups"]:
        name = group["group"] + (" (few rows)" if group["rows"] < 25 else "")
        assert f"| {name} | {group['rows']} | {100 * group['quality']:.1f}% (" in card
    assert "| rare \\| one (few rows) | 3 |" in card
    assert "Groups of few with few test rows, which were not compared: rare \\| one (3)." in card
    page = render_page(facts)
    assert "<h2>Results by group</h2>" in page and "rare | one (few rows)" in page


def test_groups_of_a_regression_have_mean_predictions(regression) -> None:
    facts = facts_of(regression, sex=regression.test.table["sex"])
    group = facts["by"][0]["groups"][0]
    means = f"{group['predicted']['mean']:.4g} (true {group['actual']['mean']:.4g}) |"
    card = model_card(facts)
    assert "| mean prediction |" in card and means in card


def test_differences_are_listed(facts) -> None:
    sentence = "The accuracy for sex f, 99.0%, is above that for sex m, 50.0%"
    entry = {**facts["by"][0], "differences": [sentence]}
    assert f"- {sentence}" in model_card({**facts, "by": [entry]})
    assert "no difference is beyond noise" in model_card(
        {**facts, "by": [{**entry, "differences": []}]}
    )


def test_without_columns_groups_are_not_examined(found) -> None:
    facts = facts_of(found)
    assert "Not examined" in model_card(facts)
    assert "Results by group" not in render_page(facts)


def test_names_are_text_and_not_markup(facts, card) -> None:
    assert "<b>" not in card.replace("\\<b\\>", "") and "\\<script\\>" in card
    html = model_card(facts, html=True)
    assert "<b>age" not in html and "<script>" not in html and "&lt;b&gt;age" in html
    assert "http" not in html.replace("http-equiv", "")


def test_a_model_on_new_rows_has_a_card_too(found) -> None:
    rows = found.test
    facts = predictor_facts(found.predictor, rows, target="illness")
    facts |= card_facts(found.predictor, {"test": rows})
    card = model_card(facts)
    assert re.findall(r"^## (.*)$", card, flags=re.MULTILINE) == SECTIONS
    assert "| illness | test |" in card and "plain boosting" not in card
    assert re.search(r"Prices are those of \d{4}-\d\d-\d\d\.", card)


def test_a_target_quality_and_a_cap_are_part_of_the_purpose(facts) -> None:
    settings = {**facts["settings"], "budget": None, "quality": 0.8, "cap": 5.0}
    card = model_card({**facts, "settings": settings})
    assert "Chosen as the cheapest model whose accuracy is at least 80.0%" in card
    assert "No example may cost more than $\\<$ 5.00." in card


def test_rare_classes_empty_features_and_many_features_are_mentioned() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 50))
    X[:200, 1:] = np.nan
    y = np.where(X[:, 0] > 0, "b", "a")
    y[:5] = "c"
    model = GreedyMiserClassifier(n_estimators=5).fit(X, y).predictor_
    rows = ValidationSet.for_predictor(model, "classification", X, y)
    facts = predictor_facts(model, rows) | card_facts(model, {"test": rows})
    facts["bought"] = [{**facts["bought"][0], "feature": i} for i in range(50)]
    card = model_card(facts)
    assert "Classes with few test rows: c (5)." in card
    assert "Features that are mostly missing: 1, 2, 3" in card
    assert "And 9 more features with missing values." in card and "And 10 more features." in card
    unseen = replace(rows, y=np.where(rows.y == 2, 0, rows.y))
    facts = predictor_facts(model, unseen) | card_facts(model, {"test": unseen})
    assert "| c | 0 (0.0%) |" in model_card(facts)
