"""Several budgets at once: one for each currency, and one for the latency; all of them hold.

Learners weigh one price. So they get a list in which each price is a share of the budget of its
currency, and a scarce currency weighs more. The latency is not a price, as rounds overlap: it only
decides at the choice, where every point is measured in every currency on the same held-out rows.

With k budgets, each is tested at the confidence 1 - (1 - confidence) / k: then all of them hold at
once with the full confidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.bundle.latency import largest_latency, latencies
from thrifty.bundle.predictor import bill_ceiling
from thrifty.costs import BoundPrices, Prices
from thrifty.costs.bound import LATENCY, MAIN
from thrifty.costs.combined import combine
from thrifty.costs.money import duration, money
from thrifty.errors import BudgetError, did_you_mean, raise_all
from thrifty.frontier.choice import affordable, best_of, check_budget
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.evaluate import mean_interval, score_together
from thrifty.learn.dataset import TrainingSet, ValidationSet, bind_prices

__all__ = [
    "Spending", "amount", "choose_within", "main_amount", "most_spent", "one_price", "read_amounts",
    "spent", "within_caps",
]  # fmt: skip

Amounts = Mapping[str, float]
Floats = NDArray[np.float64]

# Training rows on which the bills of a point are estimated beforehand.
TRAINING_ROWS = 500
# A budget of nothing still needs a number to divide by: this share of the full price.
TINY_SHARE = 1e-6


def read_amounts(given: Any, prices: BoundPrices, what: str = "budget") -> dict[str, float]:
    """Return budgets, or caps, by currency; a number is that of the main currency.

    Parameters
    ----------
    given : float, mapping of str to float, or None
    prices : BoundPrices
    what : {"budget", "cap"}

    Raises
    ------
    BudgetError
        If there is no such currency, or an amount is not a finite number of 0 or more.

    Examples
    --------
    >>> from thrifty.costs import Prices
    >>> from thrifty.frontier.several_budgets import read_amounts
    >>> prices = Prices([1, 2], unit="CAD", delays={0: 5}, also={"ms": Prices([3, 4])}).bind(2)
    >>> read_amounts(3, prices), read_amounts({"ms": 7, "latency": 5}, prices)
    ({'CAD': 3.0}, {'ms': 7.0, 'latency': 5.0})
    """
    if given is None:
        return {}
    names = list(prices.currencies)
    if not isinstance(given, Mapping):
        return {names[0]: check_budget(given, what)}
    names += [LATENCY] if prices.delays is not None else []
    problems = ["there is no amount"] if not given else []
    for name in given:
        if name == LATENCY and prices.delays is None:
            problems.append("'latency': the price list has no delays; add them")
        elif name not in names:
            hint = did_you_mean(str(name), names) or f"; there are {', '.join(names)}"
            problems.append(f"{name!r} is not a currency of the price list{hint}")
    raise_all(BudgetError, what, problems)
    return {name: check_budget(amount, f"{what} {name!r}") for name, amount in given.items()}


def main_amount(given: Any, unit: str, what: str = "budget") -> float | None:
    """Return the budget, or the cap, in the main currency, whose unit is given; None if none is.

    Raises
    ------
    BudgetError
        If it is not a finite number of 0 or more.

    Examples
    --------
    >>> from thrifty.frontier.several_budgets import main_amount
    >>> main_amount(3, "CAD"), main_amount({"CAD": 3, "latency": 5}, "CAD")
    (3.0, 3.0)
    """
    amount = given.get(unit or MAIN) if isinstance(given, Mapping) else given
    return None if amount is None else check_budget(amount, what)


def one_price(
    prices: BoundPrices, budgets: Amounts, caps: Amounts
) -> tuple[Prices, float | None] | None:
    """Return a list of prices in shares of their budgets, and a cap in the same shares.

    None if the budgets have no currency but the main one: then learners take prices as they are. A
    row within the cap is within the caps of all currencies.
    """
    main, *_ = prices.currencies
    weighed = [name for name in budgets if name in prices.currencies] or [main]
    if weighed == [main]:
        return None
    lists = prices.currencies
    floors = {name: TINY_SHARE * (lists[name].full or 1.0) for name in weighed}
    weights = {name: 1.0 / max(budgets[name], floors[name]) for name in weighed}
    limits = [weights[name] * cap for name, cap in caps.items() if name in weights]
    return combine(prices, weights), min(limits, default=None)


def spent(predictor: Predictor, name: str, X: NDArray[np.floating]) -> Floats:
    """Return what encoded rows cost in a currency, (n,), or how long they wait."""
    if name == LATENCY:
        return latencies(predictor.model, predictor.prices, X)
    prices = predictor.prices.currencies[name]
    return prices.bill(predictor.model.used(X), predictor.model.evaluations(X))


def most_spent(predictor: Predictor, name: str) -> float:
    """Return what any row can cost at most in a currency, or how long it can wait."""
    if name == LATENCY:
        return largest_latency(predictor.model, predictor.prices)
    return bill_ceiling(predictor.model, predictor.prices.currencies[name])


def within_caps(curve: Curve, caps: Amounts) -> Curve:
    """Keep the points for which no example can go beyond any cap.

    Raises
    ------
    BudgetError
        If there is none; it names the cap, and the lowest one that could be kept.
    """
    prices = curve.points[0].model.prices
    for name, cap in caps.items():
        if name not in (LATENCY, *prices.also):  # the main currency, in which points are measured
            curve = curve.within(cap)
            continue
        ceilings = [most_spent(point.model, name) for point in curve.points]
        kept = [p for p, ceiling in zip(curve.points, ceilings, strict=True) if ceiling <= cap]
        if not kept:
            raise BudgetError(
                f"no point keeps every example within {amount(cap, name, prices)}; the lowest "
                f"ceiling is {amount(min(ceilings), name, prices)}: raise the cap to that"
            )
        curve = replace(curve, points=tuple(kept))
    return curve


def amount(value: float, name: str, prices: BoundPrices) -> str:
    """Format an amount of a currency, or a latency."""
    if name == LATENCY:
        return f"a latency of {duration(value, prices.delay_unit)}"
    return money(value, prices.currencies[name].unit)


@dataclass(frozen=True, eq=False)
class Spending:
    """The rows on which points are measured in every currency, and the prices.

    Parameters
    ----------
    prices : Prices or None
    validation : ValidationSet
        Rows that were held out.
    train : TrainingSet
    """

    prices: Prices | None
    validation: ValidationSet
    train: TrainingSet

    def main(self, curve: Curve) -> Curve:
        """Return the curve with bills in the main currency, and all prices in its models."""
        points = []
        for learner in curve.learners:
            own = curve.of(learner).points
            bound = bind_prices(self.prices, own[0].model.schema)
            points += [replace(point, model=point.model.with_prices(bound)) for point in own]
        name, prices = next(iter(bound.currencies.items()))
        return self.measure(
            replace(curve, points=tuple(points), unit=prices.unit, full=prices.full), name
        )

    def measure(self, curve: Curve, name: str) -> Curve:
        """Return the curve with what its points cost in a currency, or how long they take."""
        rows = np.arange(len(self.train))
        if len(rows) > TRAINING_ROWS:
            draw = np.random.default_rng(0)
            rows = np.sort(draw.choice(len(rows), TRAINING_ROWS, replace=False))
        measured = []
        for learner in curve.learners:
            points = curve.of(learner).points
            schema = points[0].model.schema
            if schema == self.train.schema:
                held_out, training_rows = self.validation.X, self.train.X[rows]
            else:
                held_out = self.validation.encode_by(schema).X
                training_rows = schema.encode(self.train.take(rows).table)
            predictors = [point.model for point in points]
            bills = _spent_by_all(predictors, name, held_out)
            before = _spent_by_all(predictors, name, training_rows)
            for k, point in enumerate(points):
                ceiling = most_spent(point.model, name)
                interval = mean_interval(bills[k], curve.level, ceiling, curve.clusters)
                measured.append(
                    replace(
                        point, bill=float(bills[k].mean()), bills=bills[k], ceiling=ceiling,
                        bill_interval=interval,
                        training_bill=(float(before[k].mean()), float(before[k].std())),
                    )
                )  # fmt: skip
        return replace(curve, points=tuple(measured))


def _spent_by_all(
    predictors: Sequence[Predictor], name: str, X: NDArray[np.floating]
) -> dict[int, Floats]:
    """Return what rows cost under each predictor; their common work is done once."""
    if name == LATENCY:
        return {k: spent(predictor, name, X) for k, predictor in enumerate(predictors)}
    found = {}
    for k, _, used in score_together([predictor.model for predictor in predictors], X):
        prices = predictors[k].prices.currencies[name]
        evaluations = predictors[k].model.evaluations(X) if prices.evaluation else 0
        found[k] = prices.bill(used, evaluations)
    return found


def choose_within(
    curve: Curve, curves: Mapping[str, Curve], budgets: Amounts, confidence: float | None
) -> CurvePoint:
    """Choose the best point that meets all budgets.

    Parameters
    ----------
    curve : Curve
        In the main currency.
    curves : mapping of str to Curve
        The same points as each budget counts them.
    budgets : mapping of str to float
    confidence : float or None
        That all budgets hold on new data; None takes the validation set as it is.

    Raises
    ------
    BudgetError
        If no point meets all budgets; it names those that no point meets, or the nearest point.
    """
    level = None if confidence is None else 1 - (1 - confidence) / len(budgets)
    kept = {id(point.model) for point in curve.points}
    for name, budget in budgets.items():
        kept &= {id(point.model) for point in affordable(curves[name], budget, level)}
    if not kept:
        raise BudgetError(_unmet(curves, budgets, curve.points[0].model.prices))
    points = tuple(point for point in curve.points if id(point.model) in kept)
    no_limit = all(p.ceiling <= budgets[name] for name in budgets for p in curves[name].points)
    return best_of(points, money_is_no_object=no_limit)


def _unmet(curves: Mapping[str, Curve], budgets: Amounts, prices: BoundPrices) -> str:
    """Return the message for budgets that no point is certain to meet together."""
    means = {
        name: {id(point.model): point.bill for point in curve.points}
        for name, curve in curves.items()
    }
    names = {id(p.model): p.name for curve in curves.values() for p in curve.points}

    def excess(model: int) -> float:
        return max(means[name][model] / max(budgets[name], TINY_SHARE) for name in budgets)

    nearest = min(names, key=excess)
    listed = ", ".join(
        f"{amount(means[name][nearest], name, prices)} (budget {budget:.6g})"
        for name, budget in budgets.items()
    )
    failing = max(budgets, key=lambda name: means[name][nearest] / max(budgets[name], TINY_SHARE))
    return (
        f"no point is certain enough to meet all budgets; the nearest, {names[nearest]}, takes "
        f"{listed} on the validation set: raise the budget of {failing!r}"
    )
