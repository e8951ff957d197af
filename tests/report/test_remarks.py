"""What is said first: constants, baselines that are not behind, goals that are missed."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty import GreedyMiserClassifier, Prices
from thrifty.costs.money import money
from thrifty.frontier import fit_budget
from thrifty.report import fit_facts
from thrifty.report.remarks import comparison, remarks
from thrifty.report.words import format_mean


def compared(found, ours, theirs, difference=(-0.05, 0.05), place=0, **changes):
    """The fit with other figures (bill, quality) of the chosen model and of one baseline."""
    chosen = replace(found.test_result, bill=ours[0], quality=ours[1])
    others = [
        replace(each, bill=1000.0, quality=0.0, difference=1.0, difference_interval=(0.9, 1.0))
        for each in found.baselines
    ]
    others[place] = replace(
        found.baselines[place], bill=theirs[0], quality=theirs[1],
        difference=ours[1] - theirs[1], difference_interval=difference, saving_interval=(-9, -1),
    )  # fmt: skip
    constant = replace(found.constant, difference=0.5, difference_interval=(0.4, 0.6))
    given = {"test_result": chosen, "baselines": tuple(others), "constant": constant}
    return replace(found, **given, **changes)


# --- the comparison ----------------------------------------------------------


def test_the_comparison_is_with_the_better_baseline_on_all_features(found) -> None:
    best = max(found.baselines[:2], key=lambda each: (each.quality, -each.bill))
    saving = 100 * (1 - found.test_result.bill / best.bill)
    words = comparison(found)
    assert words.startswith(f"$<$ {format_mean(found.test_result.bill)} per example instead of ")
    assert f"({saving:.0f}% cheaper), accuracy " in words and best.name in words


@pytest.mark.parametrize(
    ("ours", "theirs", "difference", "words"),
    [
        ((2.0, 0.9), (8.0, 0.7), (0.1, 0.3), "$<$ 2.00 per example instead of 8.00 (75% cheaper), "
         "accuracy 90.0% ["),
        ((2.0, 0.9), (8.0, 0.7), (0.1, 0.3), "] vs. 70.0% for plain boosting on all features "
         "(difference +20.0 points [10.0, 30.0])."),
        ((9.0, 0.9), (6.0, 0.7), (0.1, 0.3), "instead of 6.00 (50% more expensive), "),
        ((2.0, 0.9), (8.0, 0.92), (-0.06, 0.02), "vs. 92.0% for plain boosting on all features "
         "(difference -2.0 points [-6.0, 2.0], within noise: 60 rows)."),
        ((2.0, 0.9), (8.0, 0.9001), (-0.1, 0.1), ", the same as plain boosting on all features."),
        ((0.0, 0.9), (0.0, 0.7), (0.1, 0.3), "$<$ 0.00 per example, accuracy 90.0% ["),
    ],
)  # fmt: skip
def test_the_comparison_says_how_much_cheaper_and_better(
    found, ours, theirs, difference, words
) -> None:
    assert words in comparison(compared(found, ours, theirs, difference))


def test_metrics_that_are_not_shares_are_compared_as_they_are(regression) -> None:
    words = comparison(compared(regression, (1.0, 0.75), (2.0, 0.5), (0.2, 0.3)))
    assert "r2 0.7500 [" in words
    assert words.endswith(
        "vs. 0.5000 for plain boosting on all features (difference +0.2500 [0.2000, 0.3000])."
    )


# --- a baseline that is not behind -------------------------------------------


@pytest.mark.parametrize(
    ("ours", "theirs", "difference", "words"),
    [
        ((3.0, 0.90), (8.0, 0.95), (-0.08, -0.02), "A baseline is better within this budget: "),
        ((3.0, 0.90), (8.0, 0.92), (-0.06, 0.02), "A baseline is ahead within this budget, though"),
        ((6.0, 0.90), (2.0, 0.90), (-0.03, 0.03), "A baseline is as good for less: "),
    ],
)
def test_a_baseline_that_is_not_behind_is_named_first(
    found, ours, theirs, difference, words
) -> None:
    changed = compared(found, ours, theirs, difference, place=2)
    (first,) = remarks(changed)
    assert first.startswith(words)
    name = found.baselines[2].name
    assert f"{name} has accuracy {100 * theirs[1]:.1f}% [" in first
    assert f"at $<$ {theirs[0]:.2f} per example, the chosen model accuracy 90.0% [" in first
    assert "60 test rows" in first and "To use it, train a model of that kind on its " in first
    assert fit_facts(compared(found, ours, theirs, difference, place=2))["headline"].startswith(
        words
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        ((3.0, 0.90), (9.1, 0.95), (-0.08, -0.02)),  # over the budget
        ((3.0, 0.90), (8.0, 0.90), (-0.03, 0.03)),  # as good, but dearer
        ((3.0, 0.90), (2.9, 0.90), (-0.03, 0.03)),  # as good, hardly cheaper
        ((3.0, 0.90), (1.0, 0.80), (0.02, 0.18)),
    ],
)
def test_a_baseline_that_is_behind_is_not_mentioned(found, ours, theirs, difference) -> None:
    assert remarks(compared(found, ours, theirs, difference, place=2)) == []


def test_without_a_budget_a_baseline_may_cost_as_much_as_the_model(found) -> None:
    estimator = copy.copy(found.estimator)
    estimator.budget = None
    cheap = compared(found, (3.0, 0.9), (2.9, 0.95), (-0.08, -0.02), estimator=estimator)
    assert remarks(cheap)[0].startswith("A baseline is better at no higher cost: ")
    dear = compared(found, (3.0, 0.9), (3.1, 0.95), (-0.08, -0.02), estimator=estimator)
    assert remarks(dear) == []


def test_a_baseline_that_may_break_the_cap_is_not_mentioned(found) -> None:
    estimator = copy.copy(found.estimator)
    changed = compared(found, (3.0, 0.9), (2.0, 0.95), (-0.08, -0.02), estimator=estimator)
    estimator.cap = changed.baselines[0].ceiling
    assert remarks(changed)[0].startswith("A baseline is better")
    estimator.cap -= 0.1
    assert remarks(changed) == []


def test_many_features_of_a_baseline_are_counted(found) -> None:
    changed = compared(found, (3.0, 0.9), (8.0, 0.95), (-0.08, -0.02))
    many = replace(changed.baselines[0], columns=tuple("abcdefghij"), features=10)
    (first,) = remarks(replace(changed, baselines=(many, *changed.baselines[1:])))
    assert "its 10 features (a, b, c, d, e, f, g, h and 2 more)" in first


# --- constants ---------------------------------------------------------------


def test_a_constant_says_so_first(frugal) -> None:
    first = remarks(frugal)[0]
    assert first.startswith("The model is a constant: it buys nothing and answers ")
    assert "raise the budget" in first
    assert fit_facts(frugal)["headline"].startswith("The model is a constant")


def test_a_constant_that_meets_a_quality_says_so(frugal) -> None:
    estimator = copy.copy(frugal.estimator)
    estimator.budget = None
    first = remarks(replace(frugal, estimator=estimator, target_quality=0.1))[0]
    assert "It is as good as was asked for" in first


def test_a_model_that_pays_for_always_the_same_answer_says_so_first(found) -> None:
    """Thyroid at 15 CAD: class 2 for every row, at 8.93 CAD a row."""
    first = remarks(replace(found, same_answer="well"))[0]
    assert first.startswith("The model answers well for all 60 test rows and costs $<$ ")
    assert "the constant costs nothing" in first and "Use the constant" in first


def test_a_constant_that_is_as_good_is_named(found) -> None:
    changed = compared(found, (3.0, 0.6), (1000.0, 0.1), (0.4, 0.6))
    constant = replace(
        found.constant, quality=0.6, difference=0.0, difference_interval=(-0.1, 0.1),
        saving_interval=(-4.0, -2.0),
    )  # fmt: skip
    (first,) = remarks(replace(changed, constant=constant))
    assert first.startswith("A baseline is as good for less: the constant has accuracy 60.0%")
    assert first.endswith("Use the constant, or another metric.")


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.5, 1.5, 3.0]), st.floats(0.0, 3.0))
def test_the_constant_is_always_shown_and_announced(seed, budget, signal) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 2))
    y = np.where(signal * X[:, 0] + rng.normal(size=90) > 0, "yes", "no")
    found = fit_budget(
        X, y, budget=budget, prices=Prices([1.0, 2.0]), random_state=0,
        learners=[GreedyMiserClassifier(n_estimators=5)],
    )  # fmt: skip
    facts = fit_facts(found)
    free = [point for point in facts["test_points"] if point["name"] == "constant"]
    assert [point["bill"] for point in free] == [0.0]
    assert facts["constant"]["quality"] == free[0]["quality"]
    assert any(row["features"] == 0 for row in facts["frontier"])
    answers = set(found.predictor.predict(found.test.table))
    says_so = facts["headline"].startswith(("The model is a constant", "The model answers"))
    assert says_so == (len(answers) == 1)


# --- goals -------------------------------------------------------------------


def test_a_mean_bill_above_the_budget_is_admitted(found) -> None:
    estimator = copy.copy(found.estimator)
    estimator.budget = found.test_result.bill / 2
    assert any("above the budget" in text for text in remarks(replace(found, estimator=estimator)))
    assert not any("above the budget" in text for text in remarks(found))


def test_a_quality_that_the_test_set_does_not_confirm_is_admitted(found) -> None:
    """--quality 0.8 gave 0.7391 on the test set, without a remark."""
    result = replace(found.test_result, quality=0.7391, quality_interval=(0.67, 0.8))
    short = replace(found, test_result=result, target_quality=0.8)
    words = "On the test set, accuracy is 73.9% [67.0, 80.0], below the 80.0% that was asked for."
    assert words in remarks(short)
    assert words not in remarks(replace(short, target_quality=0.7))


def test_where_money_is_no_object_a_cheaper_model_is_named_with_its_budget(found) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] + rng.normal(size=300) > 0
    rich = fit_budget(
        X, y, prices=Prices([1, 5, 3], unit="CAD"), learners=[GreedyMiserClassifier(n_estimators=9)]
    )
    cheaper, budget = rich.alternative
    assert cheaper.bill < rich.chosen.bill
    assert rich.estimator.at_budget(budget).point_ is cheaper
    (words,) = [text for text in remarks(rich) if "a cheaper one is not clearly worse" in text]
    assert f"at {format_mean(cheaper.bill, 'CAD')} per example instead of" in words
    assert words.endswith(f"To get it, use a budget of {money(budget, 'CAD')}.")
    assert fit_facts(rich)["alternative"]["budget"] == budget
    # A budget below the dearest model, or a quality, is frugal already.
    assert found.alternative is None and fit_facts(found)["alternative"] is None
    assert replace(rich, target_quality=0.5).alternative is None
