"""Sentences and number formats: what they claim is what the figures say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thrifty.report.words import (
    assumptions,
    format_mean,
    format_number,
    format_quality,
    headline,
    summary,
)


def compared(found, bill, quality, baseline_bill, baseline_quality):
    """The fit with other figures of the chosen model and of plain boosting."""
    first, second, *others = found.baselines
    second = replace(second, bill=baseline_bill, quality=baseline_quality)
    chosen = replace(found.test_result, bill=bill, quality=quality)
    return replace(found, test_result=chosen, baselines=(first, second, *others))


def test_the_headline_compares_with_plain_boosting(found) -> None:
    saving = 100 * (1 - found.test_result.bill / found.baselines[1].bill)
    words = headline(found)
    assert words.startswith(f"$<$ {format_mean(found.test_result.bill)} per example instead of ")
    assert f"({saving:.0f}% cheaper), accuracy " in words


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ((2.0, 0.9, 8.0, 0.7), "$<$ 2.00 per example instead of 8.00 (75% cheaper), accuracy "
         "90.0% vs. 70.0% for plain boosting on all features."),
        ((9.0, 0.9, 6.0, 0.7), "$<$ 9.00 per example instead of 6.00 (50% more expensive), "),
        ((2.0, 0.9, 8.0, 0.92), "accuracy 90.0% vs. 92.0% for plain boosting on all features "
         "(difference within noise: 60 rows)."),
        ((2.0, 0.9, 8.0, 0.9001), "accuracy 90.0%, the same as plain boosting on all features."),
        ((0.0, 0.9, 0.0, 0.7), "$<$ 0.00 per example, accuracy 90.0% vs. 70.0%"),
    ],
)  # fmt: skip
def test_the_headline_says_how_much_cheaper_and_better(found, figures, words) -> None:
    assert words in headline(compared(found, *figures))


def test_metrics_that_are_not_shares_are_compared_as_they_are(regression) -> None:
    words = headline(compared(regression, 1.0, 0.75, 2.0, 0.5))
    assert words.endswith("r2 0.7500 vs. 0.5000 for plain boosting on all features.")


def test_a_summary_has_cost_and_quality() -> None:
    assert summary(2.0, 0.125, "r2", "") == "2.00 per example, r2 0.1250."


def test_a_mean_has_no_false_digits() -> None:
    assert format_mean(29.131858, "min") == "29.13 min"
    assert format_mean(0.000123456) == "0.000123"
    assert format_mean(0.0) == "0.00"


def test_numbers_are_rounded_and_labels_are_not() -> None:
    assert format_quality("balanced_accuracy", 0.98765) == "98.8%"
    assert format_quality("ndcg@5", 0.98765) == "0.9877"
    assert format_quality("neg_mean_squared_error", -2987.126) == "-2987.13"
    assert [format_number(value) for value in (12345.678, 12345, "x", True)] == [
        "1.235e+04", "12345", "x", "True"
    ]  # fmt: skip


def test_a_mean_bill_above_the_budget_is_admitted(found) -> None:
    tight = replace(found, estimator=found.estimator.at_budget(found.chosen.bill))
    tight.estimator.budget = found.test_result.bill / 2
    assert any("above the budget" in text for text in assumptions(tight, ""))
    assert not any("above the budget" in text for text in assumptions(found, ""))


def test_the_meaning_of_budget_and_cap_is_explained(found, regression) -> None:
    text = " ".join(assumptions(found, ""))
    assert "With 95% confidence, the mean bill" in text
    assert "a single example may cost more" in text
    assert "stratified by class: 180 for training, 60 for validation, 60 for testing" in text
    assert "The task, classification, was inferred from the target." in text
    assert "at random: " in " ".join(assumptions(regression, ""))


def test_a_note_comes_last(found) -> None:
    assert assumptions(found, "Prices are made up.")[-1] == "Prices are made up."
    assert assumptions(found, "Prices are made up.")[:-1] == assumptions(found, "")
