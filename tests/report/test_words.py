"""Number formats, and what the figures rest on."""

from __future__ import annotations

import copy
import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.frontier import TestResult
from thrifty.report.words import (
    assumptions,
    format_difference,
    format_interval,
    format_mean,
    format_number,
    format_quality,
    per_example,
    shown_frontier,
    summary,
)


def test_a_summary_has_cost_quality_and_interval() -> None:
    result = TestResult(2.0, 0.125, (1.0, 3.0), (0.1, 0.2))
    words = "2.00 [1.00, 3.00] per example, r2 0.1250 [0.1000, 0.2000]."
    assert summary(result, "r2", "") == words
    fixed = TestResult(2.0, 0.125, (2.0, 2.0), (0.1, 0.2))
    assert summary(fixed, "r2", "").startswith("2.00 per example, ")


@pytest.mark.parametrize(
    ("unit", "words"),
    [("min", "3.22 min per example"), ("CAD", "CAD 3.22 per example"),
     ("$", "$3.22 per example"), ("", "3.22 per example")],
)  # fmt: skip
def test_units_are_written_as_people_write_them(unit, words) -> None:
    assert per_example(3.2199, unit) == words


figures = st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1)), min_size=1, max_size=12)


@given(figures, st.sampled_from(["accuracy", "r2"]))
def test_no_listed_point_is_beaten_or_repeated_as_printed(figures, metric) -> None:
    points = [{"bill": bill, "quality": quality} for bill, quality in figures]
    shown = [
        (float(format_mean(p["bill"])), float(format_quality(metric, p["quality"]).rstrip("%")))
        for p in shown_frontier(points, metric)
    ]
    assert shown
    for (bill, quality), (other_bill, other_quality) in itertools.pairwise(shown):
        assert bill < other_bill and quality < other_quality
    for point in points:  # whatever is left out is beaten or repeated
        bill = float(format_mean(point["bill"]))
        quality = float(format_quality(metric, point["quality"]).rstrip("%"))
        assert any(b <= bill and q >= quality for b, q in shown)


def test_a_mean_has_no_false_digits() -> None:
    assert format_mean(29.131858, "min") == "29.13 min"
    assert format_mean(0.000123456) == "0.000123"
    assert format_mean(0.0) == "0.00"


def test_numbers_are_rounded_and_labels_are_not() -> None:
    assert format_quality("balanced_accuracy", 0.98765) == "98.8%"
    assert format_quality("ndcg@5", 0.98765) == "0.9877"
    assert format_quality("r2", 0.5) == "0.5000"  # no digit is lost
    assert format_quality("neg_mean_squared_error", -12345.678) == "-12345.7"
    assert format_interval("accuracy", (0.9, 1.0)) == "[90.0, 100.0]"
    assert format_interval("r2", (None, 1.0)) == "[?, 1.0000]"
    assert [format_number(value) for value in (12345.678, 12345, "x", True)] == [
        "1.235e+04", "12345", "x", "True"
    ]  # fmt: skip


def test_the_meaning_of_budget_and_cap_is_explained(found, regression) -> None:
    text = " ".join(assumptions(found, ""))
    assert "With 95% confidence, the mean bill" in text
    assert "a single example may cost more" in text
    assert "stratified by class: 180 for training, 60 for validation, 60 for testing" in text
    assert "The task, classification, was inferred from the target." in text
    assert "at random: " in " ".join(assumptions(regression, ""))


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.9, "With 90% confidence, the accuracy of new examples"),
     (None, "The accuracy is at least 60.0% on the validation set")],
)  # fmt: skip
def test_the_meaning_of_a_quality_is_explained(found, confidence, words) -> None:
    estimator = copy.copy(found.estimator)
    estimator.budget, estimator.confidence = None, confidence
    text = assumptions(replace(found, estimator=estimator, target_quality=0.6), "")
    assert any(item.startswith(words) for item in text)


def test_a_note_comes_last(found) -> None:
    assert assumptions(found, "Prices are made up.")[-1] == "Prices are made up."
    assert assumptions(found, "Prices are made up.")[:-1] == assumptions(found, "")


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert format_difference("accuracy", -0.0001, (-0.118, -0.0002)) == "+0.0 points [-11.8, 0.0]"
    assert format_difference("r2", -0.00001, (-0.5, -0.00001)) == "+0.0000 [-0.5000, 0.0000]"
