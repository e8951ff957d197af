"""How often a budget is exceeded on new data, by the rule that chooses the point.

The training set is fixed; validation sets are drawn again and again from a large population. For
each draw the whole path is learned anew, because early stopping and the choice of the point use the
same validation set. The true mean bill is that of the population. A budget is exceeded if the true
mean bill of the chosen point is larger.

    python benchmarks/confidence.py [DRAWS]
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from functools import cache

import numpy as np
from _harness import report
from scipy.stats import norm

from thrifty import BudgetForestClassifier, GreedyMiserClassifier, data
from thrifty.errors import DataError
from thrifty.frontier import affordable, blend, choose, trace
from thrifty.frontier.confidence import bernstein_bound, upper_bound

TRAIN_ROWS, VALIDATION_ROWS, POPULATION_ROWS, DRAWS = 600, 200, 8_000, 100
CONFIDENCES = (0.9, 0.95, 0.99)
# Budgets as shares of the full price.
BUDGET_SHARES = np.geomspace(0.05, 0.8, 12)
# Relative excess over a budget that may be due to rounding.
ROUNDING_TOL = 1e-12
NO_CONFIDENCE = "mean bill as it is"


def tables():
    """Yield a synthetic table, and real data sets if they are available, with two classes."""
    table = data.quadrants(20_000, random_state=0)
    yield data.Table("quadrants", table.X, (table.y > 0).astype(int), table.prices)
    for name in ("magic", "letter"):
        try:
            table = data.load(name)
        except DataError:
            continue
        y = (table.y >= 13).astype(int) if name == "letter" else table.y
        yield data.Table(name, table.X, y, table.prices)


def normal_bound(bills, confidence, ceiling):
    """Return the bound of the normal approximation, which guarantees nothing for few rows."""
    return bills.mean() + norm.ppf(confidence) * bills.std(ddof=1) / math.sqrt(len(bills))


class Rules:
    """The points of one curve that each rule takes to be within a budget."""

    def __init__(self, curve):
        self.curve = curve
        self.bounds = cache(self._bounds)

    def _bounds(self, bound, confidence):
        return [bound(p.bills, confidence, p.ceiling) for p in self.curve.points]

    def each(self, bound, budget, confidence):
        """Return the points whose own bound is within the budget."""
        pairs = zip(self.curve.points, self.bounds(bound, confidence), strict=True)
        return [point for point, high in pairs if high <= budget]

    def all_at_once(self, bound, budget, confidence):
        """Return the same with bounds that hold for all points at once (Bonferroni)."""
        return self.each(bound, budget, 1 - (1 - confidence) / len(self.curve.points))

    def in_sequence(self, bound, budget, confidence):
        """Test points in the order of their training bills; return those before the first failure.

        The order is by how many standard deviations the bill is below the budget on the training
        rows, as in `thrifty.frontier.affordable`.
        """

        def standard_deviations_over(pair):
            mean, deviation = pair[0].training_bill
            room = budget - mean
            return (-room / deviation if deviation else math.copysign(math.inf, -room)), mean

        pairs = zip(self.curve.points, self.bounds(bound, confidence), strict=True)
        within = []
        for point, high in sorted(pairs, key=standard_deviations_over):
            if high > budget:
                break
            within.append(point)
        return within

    def within(self, budget, confidence):
        """Yield the name of each rule and its points."""
        yield NO_CONFIDENCE, affordable(self.curve, budget, None)
        yield "normal, each", self.each(normal_bound, budget, confidence)
        yield "Bernstein, all at once", self.all_at_once(bernstein_bound, budget, confidence)
        yield "betting, all at once", self.all_at_once(upper_bound, budget, confidence)
        yield "Bernstein, in sequence", self.in_sequence(bernstein_bound, budget, confidence)
        yield "betting, in sequence (choose)", affordable(self.curve, budget, confidence)


def curves(table, draws):
    """Yield a curve, its validation set and the rows of the population, for each draw."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table.X))
    train, population = order[:TRAIN_ROWS], order[TRAIN_ROWS:][:POPULATION_ROWS]
    X, y = table.X, table.y
    learners = {
        "miser": GreedyMiserClassifier(prices=table.prices, n_estimators=20),
        "forest": BudgetForestClassifier(prices=table.prices, n_estimators=6),
    }
    for _ in range(draws):
        rows = rng.choice(population, VALIDATION_ROWS, replace=False)
        validation = (X.iloc[rows], y[rows])
        curve = trace(learners, X.iloc[train], y[train], validation=validation)
        yield curve, validation, X.iloc[population]


def evaluate(curve, validation, population):
    """Yield rule, confidence, true bill / budget and validation accuracy, for each budget."""
    rules = Rules(curve)
    true_bill = cache(lambda point: float(point.model.bill(population).mean()))
    for confidence in CONFIDENCES:
        for budget in BUDGET_SHARES * curve.full:
            for name, within in rules.within(budget, confidence):
                point = choose(replace(curve, points=tuple(within)), math.inf, None)
                yield name, confidence, true_bill(point) / budget, point.quality
            # The last rule is that of `choose`, which is used if there is nothing to blend.
            point = blend(curve, budget, validation, confidence) or point
            yield "blend, or choose", confidence, true_bill(point) / budget, point.quality


def main(draws=DRAWS):
    """Run every rule on the same draws."""
    rows = []
    for table in tables():
        outcomes = {}
        for draw in curves(table, draws):
            for name, confidence, *outcome in evaluate(*draw):
                outcomes.setdefault((name, confidence), []).append(outcome)
        for (name, confidence), each in outcomes.items():
            if name == NO_CONFIDENCE and confidence != CONFIDENCES[0]:
                continue  # it is the same for all of them
            spent, accuracy = np.array(each).T
            exceeded = np.reshape(spent > 1 + ROUNDING_TOL, (draws, len(BUDGET_SHARES)))
            rows.append(
                (table.name, name, "" if name == NO_CONFIDENCE else confidence,
                 f"{exceeded.mean():.3f}", f"{exceeded.mean(axis=0).max():.2f}",
                 f"{1 - spent.mean():.3f}", f"{accuracy.mean():.3f}")
            )  # fmt: skip
    header = ("data set", "rule", "confidence", "exceeded", "at the worst budget", "left unused",
              "validation accuracy")  # fmt: skip
    report("confidence", header, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
