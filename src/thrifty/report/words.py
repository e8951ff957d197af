"""What the figures of a fit say, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from thrifty.costs.money import money
from thrifty.frontier import BudgetFit

__all__ = ["assumptions", "average", "gap", "headline", "measured"]

DIVIDED = {
    "classification": "at random, with the same share of every class in each part",
    "regression": "at random",
    "ranking": "at random by whole queries",
}


# Qualities that are told in points of a hundred.
SHARES = ("accuracy", "balanced_accuracy")


def headline(found: BudgetFit) -> str:
    """What the chosen predictor costs and reaches, against the one learnt without prices."""
    ours, theirs = found.held_out, found.baselines[1]
    unit = found.predictor.prices.unit
    cost = f"{average(ours.bill, unit)} an example"
    if theirs.bill > 0:
        share = f"{100 * ours.bill / theirs.bill:.3g} % of the price"
        cost = f"{share} ({cost} instead of {average(theirs.bill, unit)})"
    return f"{cost}, {gap(found.curve.scoring, ours.quality - theirs.quality)}."


def measured(bill: float, value: float, metric: str, unit: str) -> str:
    """What a predictor costs and reaches.

    Examples
    --------
    >>> from thrifty.report.words import measured
    >>> measured(12.5, 0.875, "accuracy", "CAD")
    'CAD 12.50 an example, accuracy 0.875.'
    """
    return f"{average(bill, unit)} an example, {metric} {value:.4g}."


def average(amount: float, unit: str = "") -> str:
    """Write a mean, which has no last digit, with as many as tell something.

    Examples
    --------
    >>> from thrifty.report.words import average
    >>> average(29.131858, "min"), average(0.0012345, "ms")
    ('min 29.13', 'ms 0.00123')
    """
    return money(round(amount, 2) if amount >= 1 else float(f"{amount:.3g}"), unit)


def gap(metric: str, change: float) -> str:
    """Tell a difference of quality.

    Examples
    --------
    >>> from thrifty.report.words import gap
    >>> gap("accuracy", -0.0123), gap("r2", 0.004), gap("accuracy", 0.0)
    ('1.2 points of accuracy less', '0.0040 of r2 more', 'the same accuracy')
    """
    size = abs(change)
    amount = f"{100 * size:.1f} points" if metric in SHARES else f"{size:.4f}"
    if not float(amount.split()[0]):
        return f"the same {metric}"
    return f"{amount} of {metric} {'less' if change < 0 else 'more'}"


def assumptions(found: BudgetFit, note: str) -> list[str]:
    """What must hold for the figures to hold."""
    sizes = found.sizes
    told = [
        f"The rows were divided {DIVIDED[found.task]}: {sizes['train']} to learn from, "
        f"{sizes['validation']} to choose on, {sizes['test']} to report on. "
        "Rows to come are taken to be like them.",
        "Bills and qualities along the curve are means over the validation rows. The chosen point "
        "is the best of many on those rows, so its quality there flatters; the test rows took no "
        "part in learning or choosing.",
        *_limits(found),
        "A value that came back empty was paid for.",
    ]
    if found.guessed:
        told.append(f"The task, {found.task}, was guessed from the target.")
    return [*told, note] if note else told


def _limits(found: BudgetFit) -> Iterator[str]:
    """What budget and cap promise."""
    estimator, unit = found.estimator, found.predictor.prices.unit
    if estimator.cap is not None:
        yield f"No example can cost more than the cap, {money(estimator.cap, unit)}."
    if estimator.budget is None:
        return
    if estimator.confidence is None:
        yield "The budget holds for the mean bill on the validation rows."
    else:
        yield (
            f"With confidence {estimator.confidence:g} the mean bill of rows that are drawn as the "
            "validation rows were is within the budget."
        )
    if estimator.cap is None:
        yield "The budget is for the mean bill; single examples may cost more."
    if found.held_out.bill > estimator.budget:
        yield (
            f"On the test rows the mean bill is {average(found.held_out.bill, unit)}, above the "
            f"budget of {money(estimator.budget, unit)}."
        )
