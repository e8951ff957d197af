"""Number formats of the report page and the command line, and what the figures rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thrifty.costs.money import format_mean, money
from thrifty.frontier import BudgetFit, TestResult
from thrifty.learn.dataset import ValidationSet
from thrifty.learn.sampled_training_set import SampledTrainingSet

__all__ = [
    "assumptions",
    "count_queries",
    "drawn_words",
    "format_difference",
    "format_interval",
    "format_mean",
    "format_number",
    "format_quality",
    "per_example",
    "shown_frontier",
    "summary",
    "total_words",
]

# Metrics that people quote in percent.
PERCENT_METRICS = ("accuracy", "balanced_accuracy")
HOW_SPLIT = {
    "classification": "at random, stratified by class",
    "regression": "at random",
    "ranking": "at random, keeping queries whole",
}


def shown_frontier(points: Sequence[dict[str, Any]], metric: str) -> list[dict[str, Any]]:
    """Return the points that are Pareto-optimal as they are printed, cheapest first, without ties.

    Parameters
    ----------
    points : sequence of dict
        With ``bill``, ``quality`` and, perhaps, ``chosen``; of points that look the same, the
        chosen one is kept.

    Examples
    --------
    >>> from thrifty.report.words import shown_frontier
    >>> points = [{"bill": 2.111, "quality": 0.9469}, {"bill": 4.38, "quality": 0.9471}]
    >>> [point["bill"] for point in shown_frontier(points, "accuracy")]
    [2.111]
    """

    def printed(point: dict[str, Any]) -> tuple[float, float, bool]:
        quality = float(format_quality(metric, point["quality"]).rstrip("%"))
        return float(format_mean(point["bill"])), -quality, not point.get("chosen", False)

    kept: list[dict[str, Any]] = []
    for point in sorted(points, key=printed):
        if not kept or printed(point)[1] < printed(kept[-1])[1]:
            kept.append(point)
    return kept


def summary(result: TestResult, metric: str, unit: str) -> str:
    """Return the cost and the quality of one model as a sentence.

    Examples
    --------
    >>> from thrifty.frontier import TestResult
    >>> from thrifty.report.words import summary
    >>> summary(TestResult(12.5, 0.875, (12.1, 12.9), (0.81, 0.92)), "accuracy", "CAD")
    'CAD 12.50 [12.10, 12.90] per example, accuracy 87.5% [81.0, 92.0].'
    """
    quality = format_quality(metric, result.quality)
    interval = format_interval(metric, result.quality_interval)
    low, high = (format_mean(end) for end in result.bill_interval)
    bill = format_mean(result.bill, unit) + (f" [{low}, {high}]" if low != high else "")
    return f"{bill} per example, {metric} {quality} {interval}."


def drawn_words(found: BudgetFit) -> str | None:
    """Say which rows of a table in files were drawn, and which the model was trained on.

    None if all rows were in memory.
    """
    train, n_refit = found.sets.train, found.estimator.refit_rows_
    if not isinstance(train, SampledTrainingSet) or not train.has_others:
        return None
    n_rows = train.others.n_rows
    words = f"{len(train.drawn):,} of {n_rows:,} rows were drawn to compare models and to test one"
    if not n_refit:
        return f"{words}; it was trained on them alone."
    return (
        f"{words}. Its boosted trees were then trained on {n_refit:,} rows: all but those that "
        "models were compared or tested on."
    )


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
    if (drawn := drawn_words(found)) is not None:
        items.insert(1, drawn)
    if estimator.main_cap is not None:
        items.append(f"No example can cost more than the cap, {money(estimator.main_cap, unit)}.")
    if estimator.budget is not None:
        held = "the mean bill of new examples drawn like the validation set is within the budget"
        if estimator.has_several_budgets:
            held = "new examples drawn like the validation set are within all budgets on average"
        items.append(
            "The budget holds for the mean bill on the validation set, without a safety margin "
            "for new data."
            if estimator.confidence is None
            else f"With {100 * estimator.confidence:g}% confidence, {held}."
        )
        if estimator.main_cap is None:
            items.append("The budget limits the mean bill; a single example may cost more.")
    if found.target_quality is not None:
        metric = found.curve.scoring
        target = format_quality(metric, found.target_quality)
        items.append(
            f"The {metric} is at least {target} on the validation set, without a safety margin for "
            "new data."
            if estimator.confidence is None
            else f"With {100 * estimator.confidence:g}% confidence, the {metric} of new examples "
            f"drawn like the validation set is at least {target}. A fifth of the validation rows "
            "ranked the models, the others tested them."
        )
    items.append("A missing value was requested, paid for, and came back empty.")
    if found.guessed:
        items.append(f"The task, {found.task}, was inferred from the target.")
    return [*items, note] if note else items


def count_queries(rows: ValidationSet) -> int | None:
    """Return the number of queries of a ranking; None for other tasks."""
    return None if rows.query is None else len(np.unique(rows.query))


def per_example(bill: float, unit: str) -> str:
    """Format a mean bill as people write it.

    Examples
    --------
    >>> from thrifty.report.words import per_example
    >>> per_example(3.2199, "min"), per_example(3.2199, "CAD")
    ('3.22 min per example', 'CAD 3.22 per example')
    """
    return f"{format_mean(bill, unit)} per example"


def total_words(total: Mapping[str, float], unit: str) -> str:
    """Write what an example costs on average: its features, its errors, and both.

    Examples
    --------
    >>> from thrifty.report.words import total_words
    >>> total_words({"features": 12.0, "errors": 30.5, "total": 42.5}, "CAD")
    'Total per example: CAD 12.00 for features + CAD 30.50 for errors = CAD 42.50.'
    """
    features, errors, both = (
        format_mean(total[name], unit) for name in ("features", "errors", "total")
    )
    return f"Total per example: {features} for features + {errors} for errors = {both}."


def format_quality(metric: str, value: float) -> str:
    """Format a quality: accuracies in percent, costs with cents, others with four decimals.

    Large values have six digits.

    Examples
    --------
    >>> from thrifty.report.words import format_quality
    >>> format_quality("accuracy", 0.9646), format_quality("r2", 0.95)
    ('96.5%', '0.9500')
    """
    if metric in PERCENT_METRICS:
        return f"{_rounded(100 * value, 1):.1f}%"
    if metric == "neg_error_cost" and abs(value) >= 1:
        return f"{value:.2f}"
    return f"{_rounded(value, 4):.4f}" if abs(value) < 10 else f"{value:.6g}"


def format_interval(metric: str, interval: Sequence[float | None]) -> str:
    """Format the confidence interval of a quality; an end that is None is unknown.

    Examples
    --------
    >>> from thrifty.report.words import format_interval
    >>> format_interval("accuracy", (0.931, 0.983)), format_interval("r2", (0.9, 0.95))
    ('[93.1, 98.3]', '[0.9000, 0.9500]')
    """
    low, high = (
        "?" if end is None else format_quality(metric, end).rstrip("%") for end in interval
    )
    return f"[{low}, {high}]"


def format_difference(metric: str, value: float, interval: Sequence[float]) -> str:
    """Format a difference of qualities with its sign and interval.

    Examples
    --------
    >>> from thrifty.report.words import format_difference
    >>> format_difference("accuracy", -0.044, (-0.089, 0.003))
    '-4.4 points [-8.9, 0.3]'
    """
    if metric in PERCENT_METRICS:
        return f"{_rounded(100 * value, 1):+.1f} points {format_interval(metric, interval)}"
    return f"{_rounded(value, 4):+.4f} {format_interval(metric, interval)}"


def _rounded(value: float, digits: int) -> float:
    """Round a number; what rounds to nothing has no sign."""
    return round(value, digits) + 0.0


def format_number(value: Any) -> str:
    """Format a float with four significant digits and anything else as `str` does.

    Examples
    --------
    >>> from thrifty.report.words import format_number
    >>> format_number(0.123456), format_number(12), format_number("male")
    ('0.1235', '12', 'male')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)
