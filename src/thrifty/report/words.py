"""Sentences and number formats of the report page and the command line."""

from __future__ import annotations

import math
from typing import Any

from thrifty.costs.money import money
from thrifty.frontier import BudgetFit

__all__ = ["assumptions", "format_mean", "format_number", "format_quality", "headline", "summary"]

# Metrics that people quote in percent.
PERCENT_METRICS = ("accuracy", "balanced_accuracy")
# A difference in accuracy of fewer standard errors than this is called noise.
NOISE_STANDARD_ERRORS = 2.0
HOW_SPLIT = {
    "classification": "at random, stratified by class",
    "regression": "at random",
    "ranking": "at random, keeping queries whole",
}


def headline(found: BudgetFit) -> str:
    """Compare the chosen model with plain boosting on all features, both on the test set.

    A small difference in accuracy is marked as noise. The standard error is that of two accuracies
    on independent rows; as both are measured on the same rows, it errs on the side of caution.
    """
    chosen, baseline = found.test_result, found.baselines[1]
    metric, n_rows = found.curve.scoring, found.sets.sizes["test"]
    cost = _per_example(chosen.bill, found.predictor.prices.unit)
    if baseline.bill > 0 and format_mean(baseline.bill) != format_mean(chosen.bill):
        saving = 1 - chosen.bill / baseline.bill
        change = "cheaper" if saving >= 0 else "more expensive"
        cost += f" instead of {format_mean(baseline.bill)} ({100 * abs(saving):.0f}% {change})"
    ours, theirs = (format_quality(metric, each.quality) for each in (chosen, baseline))
    if ours == theirs:
        return f"{cost}, {metric} {ours}, the same as plain boosting on all features."
    comparison = f"{metric} {ours} vs. {theirs} for plain boosting on all features"
    if metric == "accuracy":
        p, q = chosen.quality, baseline.quality
        standard_error = math.sqrt((p * (1 - p) + q * (1 - q)) / n_rows)
        if abs(p - q) < NOISE_STANDARD_ERRORS * standard_error:
            comparison += f" (difference within noise: {n_rows} rows)"
    return f"{cost}, {comparison}."


def summary(bill: float, quality: float, metric: str, unit: str) -> str:
    """Return the cost and the quality of one model as a sentence.

    Examples
    --------
    >>> from thrifty.report.words import summary
    >>> summary(12.5, 0.875, "accuracy", "CAD")
    'CAD 12.50 per example, accuracy 87.5%.'
    """
    return f"{_per_example(bill, unit)}, {metric} {format_quality(metric, quality)}."


def assumptions(found: BudgetFit, note: str) -> list[str]:
    """List what the figures of a fit rest on, one sentence or two per item.

    Parameters
    ----------
    found : BudgetFit
    note : str
        A further assumption, appended at the end unless it is empty.
    """
    sizes, estimator, unit = found.sets.sizes, found.estimator, found.predictor.prices.unit
    split = f"The rows were split {HOW_SPLIT[found.task]}: {sizes['train']} for training, "
    if found.sets.cross_fitted:
        how = "all" if sizes["validation"] == sizes["train"] else str(sizes["validation"])
        split += f"{sizes['test']} for testing. The validation set is {how} of the training rows, "
        split += "each scored by models that have not seen it. "
    else:
        split += f"{sizes['validation']} for validation, {sizes['test']} for testing. "
    items = [
        f"{split}New data is assumed to come from the same distribution.",
        "Bills and qualities along the curve are means over the validation set. The chosen point "
        "is the best of many there, so its validation quality is optimistic. The test set was "
        "used neither for training nor for model selection.",
    ]
    if estimator.cap is not None:
        items.append(f"No example can cost more than the cap, {money(estimator.cap, unit)}.")
    if estimator.budget is not None:
        items.append(
            "The budget holds for the mean bill on the validation set, without a safety margin "
            "for new data."
            if estimator.confidence is None
            else f"With {100 * estimator.confidence:g}% confidence, the mean bill of new examples "
            "drawn like the validation set is within the budget."
        )
        if estimator.cap is None:
            items.append("The budget limits the mean bill; a single example may cost more.")
        if found.test_result.bill > estimator.budget:
            items.append(
                f"On the test set the mean bill is {format_mean(found.test_result.bill, unit)}, "
                f"above the budget of {money(estimator.budget, unit)}."
            )
    items.append("A missing value was requested, paid for, and came back empty.")
    if found.guessed:
        items.append(f"The task, {found.task}, was inferred from the target.")
    return [*items, note] if note else items


def format_mean(amount: float, unit: str = "") -> str:
    """Format a mean amount: two decimals from 1 on, three significant digits below.

    Examples
    --------
    >>> from thrifty.report.words import format_mean
    >>> format_mean(29.131858, "CAD"), format_mean(0.0012345, "ms")
    ('CAD 29.13', '0.00123 ms')
    """
    return money(round(amount, 2) if amount >= 1 else float(f"{amount:.3g}"), unit)


def format_quality(metric: str, value: float) -> str:
    """Format a quality: accuracies in percent, other metrics with four decimals, two from 10 on.

    Examples
    --------
    >>> from thrifty.report.words import format_quality
    >>> format_quality("accuracy", 0.9646), format_quality("r2", 0.96)
    ('96.5%', '0.9600')
    """
    if metric in PERCENT_METRICS:
        return f"{100 * value:.1f}%"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def format_number(value: Any) -> str:
    """Format a float with four significant digits and anything else as `str` does.

    Examples
    --------
    >>> from thrifty.report.words import format_number
    >>> format_number(0.123456), format_number(12), format_number("male")
    ('0.1235', '12', 'male')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _per_example(bill: float, unit: str) -> str:
    return f"{format_mean(bill, unit)} per example"
