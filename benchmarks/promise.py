"""How often a promised budget is broken, and how much of it is left: many draws of held-out rows.

A table is learnt from once; held-out rows are drawn from a large population again and again. Each
draw learns its whole path anew, as early stopping and the choice of points look at the same rows.
The true mean bill is that of the population. A budget is broken when the chosen point costs more.
"""

from __future__ import annotations

import math
import sys
from functools import cache

import numpy as np
from _harness import report
from scipy.stats import norm

from thrifty import BudgetForestClassifier, GreedyMiserClassifier, data
from thrifty.errors import DataError
from thrifty.frontier import promised, trace
from thrifty.frontier.blending import blend
from thrifty.frontier.choice import _place, _steadiest
from thrifty.frontier.confidence import bernstein_bound, upper_bound
from thrifty.frontier.splits import Rows

TRAIN, HELD_OUT, POPULATION, DRAWS = 600, 200, 8_000, 100
CONFIDENCES = (0.9, 0.95, 0.99)
BUDGETS = np.geomspace(0.05, 0.8, 12)
ROUNDING = 1e-12
AS_IT_IS = "mean bill as it is"


def tables():
    """A generator, and real sets where their folder is."""
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
    """What a textbook gives; it promises nothing for few rows."""
    return bills.mean() + norm.ppf(confidence) * bills.std(ddof=1) / math.sqrt(len(bills))


class Rules:
    """The points that each rule lets through, on one curve."""

    def __init__(self, curve):
        self.curve = curve
        self.bounds = cache(self._bounds)

    def _bounds(self, bound, confidence):
        return [bound(p.bills, confidence, p.ceiling) for p in self.curve.points]

    def each(self, bound, budget, confidence):
        """Points whose bound is within the budget, one by one."""
        pairs = zip(self.curve.points, self.bounds(bound, confidence), strict=True)
        return [point for point, high in pairs if high <= budget]

    def all_at_once(self, bound, budget, confidence):
        """The same with bounds that hold for all points at once."""
        return self.each(bound, budget, 1 - (1 - confidence) / len(self.curve.points))

    def in_sequence(self, bound, budget, confidence):
        """The same in the order of the training rows, up to the first that is not within."""
        pairs = zip(self.curve.points, self.bounds(bound, confidence), strict=True)
        kept = []
        for point, high in sorted(pairs, key=lambda pair: _place(pair[0], budget)):
            if high > budget:
                break
            kept.append(point)
        return kept

    def within(self, budget, confidence):
        """Every rule by name."""
        yield AS_IT_IS, promised(self.curve, budget, None)
        yield "normal, each", self.each(normal_bound, budget, confidence)
        yield "Bernstein, all at once", self.all_at_once(bernstein_bound, budget, confidence)
        yield "betting, all at once", self.all_at_once(upper_bound, budget, confidence)
        yield "Bernstein, in sequence", self.in_sequence(bernstein_bound, budget, confidence)
        yield "betting, in sequence (choose)", promised(self.curve, budget, confidence)


def curves(table, draws):
    """Curves of one training table and many draws of held-out rows."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(table.X))
    train, population = order[:TRAIN], order[TRAIN:]
    X, y = table.X, table.y
    learners = {
        "miser": GreedyMiserClassifier(prices=table.prices, n_estimators=20),
        "forest": BudgetForestClassifier(prices=table.prices, n_estimators=6),
    }
    rows = X.iloc[population[:POPULATION]]
    for _ in range(draws):
        held = rng.choice(population[:POPULATION], HELD_OUT, replace=False)
        validation = (X.iloc[held], y[held])
        curve = trace(learners, X.iloc[train], y[train], validation=validation)
        yield curve, Rows(held, *validation), rows


def judged(curve, held_out, rows):
    """For each rule, confidence and budget: true bill over budget, and held-out quality."""
    rules = Rules(curve)
    true_bill = cache(lambda point: float(point.model.bill(rows).mean()))
    for confidence in CONFIDENCES:
        for budget in BUDGETS * curve.full:
            for name, within in rules.within(budget, confidence):
                point = _steadiest(within)
                yield name, confidence, true_bill(point) / budget, point.quality
            # The last rule is that of `choose`, which stands in where there is nothing to blend.
            point = blend(curve, budget, held_out, confidence) or point
            yield "blend, or choose", confidence, true_bill(point) / budget, point.quality


def main(draws=DRAWS):
    """Run every rule on the same draws."""
    rows = []
    for table in tables():
        found = {}
        for drawn in curves(table, draws):
            for name, confidence, *outcome in judged(*drawn):
                found.setdefault((name, confidence), []).append(outcome)
        for (name, confidence), outcomes in found.items():
            if name == AS_IT_IS and confidence != CONFIDENCES[0]:
                continue  # it knows no confidence
            spent, quality = np.array(outcomes).T
            broken = np.reshape(spent > 1 + ROUNDING, (draws, len(BUDGETS)))
            rows.append(
                (table.name, name, "" if name == AS_IT_IS else confidence, f"{broken.mean():.3f}",
                 f"{broken.mean(axis=0).max():.2f}", f"{1 - spent.mean():.3f}",
                 f"{quality.mean():.3f}")
            )  # fmt: skip
    header = ("set", "rule", "confidence", "broken", "at the worst budget", "left unused",
              "held-out accuracy")  # fmt: skip
    report("promise", header, rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
