"""How often a quality target is missed on new data, with and without a confidence.

As in `confidence.py`, validation sets are drawn again and again from a large population, and the
whole path is learned anew for each draw. The true quality is the accuracy on the population. A
target is missed if the true quality of the chosen point is lower; it is refused if no point is
certain enough.

    python benchmarks/quality_target.py [DRAWS]
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
from _harness import report
from confidence import curves, tables

from thrifty.errors import BudgetError

DRAWS = 100
CONFIDENCES = (None, 0.9, 0.95, 0.99)
# Targets between the true accuracies of the first and the last point of the first draw's frontier.
SHARES = np.linspace(0.3, 0.9, 7)


def evaluate(curve, truth, targets):
    """Yield confidence and outcome (missed, refused, bill as a share), for each target."""
    for confidence in CONFIDENCES:
        for target in targets:
            try:
                point = curve.cheapest(target, confidence)
            except BudgetError:
                yield confidence, 0.0, 1.0, np.nan
            else:
                yield confidence, float(truth(point) < target), 0.0, point.bill / curve.full


def outcomes_of(table, draws):
    """Return the outcomes of all draws by confidence."""
    outcomes, targets = {}, None
    answers = dict(zip(table.X.index, table.y, strict=True))
    for curve, _, population in curves(table, draws):
        labels = np.array([answers[row] for row in population.index])
        truth = cache(lambda p, X=population, y=labels: float(np.mean(p.model.predict(X) == y)))
        if targets is None:  # the same for all draws
            worst, best = truth(curve.frontier[0]), truth(curve.frontier[-1])
            targets = worst + SHARES * (best - worst)
        for confidence, *outcome in evaluate(curve, truth, targets):
            outcomes.setdefault(confidence, []).append(outcome)
    return outcomes


def main(draws=DRAWS):
    """Report how often targets are missed or refused, and what the chosen points cost."""
    rows = []
    for table in tables():
        for confidence, each in outcomes_of(table, draws).items():
            missed, refused, bill = np.array(each).T
            worst = np.reshape(missed, (draws, len(SHARES))).mean(axis=0).max()
            rows.append(
                (table.name, "none" if confidence is None else confidence, f"{missed.mean():.3f}",
                 f"{worst:.2f}", f"{refused.mean():.3f}", f"{np.nanmean(bill):.3f}")
            )  # fmt: skip
    header = ("data set", "confidence", "missed", "at the worst target", "refused",
              "bill / full price")  # fmt: skip
    report("quality_target", header, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
