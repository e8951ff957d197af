"""Choosing among operating points: the best that a budget allows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Real
from typing import Any

from thrifty.costs.money import money
from thrifty.errors import BudgetError
from thrifty.learn import Point

__all__ = ["check_budget", "choose", "undominated"]


def choose(points: Iterable[Point], budget: float) -> Point:
    """Choose the point of best quality whose mean bill is within the budget.

    Of points that are equally good the cheapest is taken, of those the first.

    Parameters
    ----------
    points : iterable of Point
        For example what `path` yields.
    budget : float
        Largest mean bill, 0 or more.

    Raises
    ------
    BudgetError
        If every point costs more, or the budget is not a finite number of 0 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier import choose
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> train, validation = (X[:300], y[:300]), (X[300:], y[300:])
    >>> points = list(GreedyMiserRegressor().path(*train, validation=validation))
    >>> choose(points, budget=1.0).bill
    1.0
    """
    points = list(points)
    budget = check_budget(budget)
    if not points:
        raise BudgetError("there is no point to choose from")
    within = [point for point in points if point.bill <= budget]
    if not within:
        raise BudgetError(_too_small(budget, min(points, key=lambda point: point.bill)))
    return max(within, key=lambda point: (point.quality, -point.bill))


def undominated(points: Iterable[Point]) -> tuple[Point, ...]:
    """Keep the points that no other point beats, cheapest first.

    A point stays if it is better than every point that costs as much or less.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier import undominated
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> train, validation = (X[:300], y[:300]), (X[300:], y[300:])
    >>> points = GreedyMiserRegressor().path(*train, validation=validation)
    >>> kept = undominated(points)
    >>> kept[0].bill, kept[-1].bill
    (0.0, 2.0)
    """
    best = -math.inf
    kept = []
    for point in sorted(points, key=lambda point: (point.bill, -point.quality)):
        if point.quality > best:
            best = point.quality
            kept.append(point)
    return tuple(kept)


def check_budget(budget: Any) -> float:
    """Give the budget as a float; BudgetError unless it is finite and 0 or more."""
    amount = float(budget) if isinstance(budget, Real) else math.nan
    if isinstance(budget, bool) or not 0 <= amount < math.inf:
        raise BudgetError(f"budget: {budget!r} is not a finite number of 0 or more")
    return amount


def _too_small(budget: float, cheapest: Point) -> str:
    unit = cheapest.model.prices.unit
    return (
        f"no point has a mean bill of at most {money(budget, unit)}; the cheapest, "
        f"{cheapest.knob}, costs {money(cheapest.bill, unit)}: raise the budget to that"
    )
