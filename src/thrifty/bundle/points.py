"""Several operating points of one model: what is chosen from when a budget is given later."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from thrifty.bundle.predictor import Predictor, plain_classes
from thrifty.costs.money import as_float, format_mean, money, price_fault
from thrifty.errors import BudgetError, DataError, raise_all
from thrifty.untrusted import LARGEST, is_count, is_number, is_text, shown

__all__ = ["MAX_POINTS", "OperatingPoints"]

MAX_POINTS = 1024
"""Most points of one model."""


@dataclass(frozen=True, eq=False, repr=False)
class OperatingPoints:
    """Several operating points of one model, one of which is the default.

    Parameters
    ----------
    predictors : sequence of Predictor
        One for each point, with the same columns, classes and prices.
    bills, qualities : sequence of float
        Mean bill and quality of each point on validation rows.
    default : int
        Index of the point that `load` returns.
    metric : str
        Name of the quality, such as ``"accuracy"``; more is better.

    Raises
    ------
    DataError
        If there is no point, a figure is missing or not finite, or the predictors differ in
        columns, classes or prices.

    Examples
    --------
    >>> from thrifty.bundle import OperatingPoints, Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> schema, prices = Schema.of([[0.0]]), Prices([4.0], unit="EUR").bind(1)
    >>> models = [Forest.constant([value], "sum", n_features=1) for value in (1.0, 2.0)]
    >>> predictors = [Predictor(model, schema, prices) for model in models]
    >>> points = OperatingPoints(predictors, [0.0, 3.5], [0.6, 0.9], default=1, metric="r2")
    >>> points
    OperatingPoints(2 points; default: r2 0.9 at EUR 3.50)
    >>> points.at_budget(2.0)
    OperatingPoints(2 points; default: r2 0.6 at EUR 0.00)
    """

    predictors: Sequence[Predictor]
    bills: Sequence[float]
    qualities: Sequence[float]
    default: int = 0
    metric: str = "quality"

    def __post_init__(self) -> None:
        for name in ("predictors", "bills", "qualities"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        raise_all(DataError, "operating points", [*_problems(self)])
        for name in ("bills", "qualities"):
            object.__setattr__(self, name, tuple(float(each) for each in getattr(self, name)))

    @property
    def predictor(self) -> Predictor:
        """The predictor of the default point."""
        return self.predictors[self.default]

    @property
    def unit(self) -> str:
        """Unit of the bills."""
        return self.predictor.prices.unit

    def at_budget(self, budget: float) -> Self:
        """Return the same points; the default is the best one with at most this mean bill.

        The bills are those of the validation rows, without a safety margin for new data.

        Raises
        ------
        BudgetError
            If every point costs more.
        """
        limit = as_float(budget)
        if not isinstance(limit, float) or not limit >= 0:
            raise BudgetError(f"budget: {budget!r} is not a number of 0 or more")
        within = [k for k, bill in enumerate(self.bills) if bill <= limit]
        if not within:
            raise BudgetError(
                f"no operating point costs at most {money(limit, self.unit)} on average; the "
                f"cheapest one costs {format_mean(min(self.bills), self.unit)}"
            )
        best = max(within, key=lambda k: (self.qualities[k], -self.bills[k]))
        return replace(self, default=best)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the points to a model file; the same points always give the same bytes.

        A single point is written as `Predictor.save` does it.
        """
        from thrifty.bundle.points_file import save_points  # that module imports this one

        save_points(self, path)

    def __len__(self) -> int:
        return len(self.predictors)

    def __repr__(self) -> str:
        bill = format_mean(self.bills[self.default], self.unit)
        return (
            f"OperatingPoints({len(self)} points; default: {self.metric} "
            f"{self.qualities[self.default]:.4g} at {bill})"
        )


def _problems(points: OperatingPoints) -> Iterator[str]:
    """Yield what keeps some predictors from being points of one model."""
    n = len(points.predictors)
    if not 1 <= n <= MAX_POINTS:
        yield f"there are {n}, not 1 to {MAX_POINTS}"
        return
    for name in ("bills", "qualities"):
        if len(getattr(points, name)) != n:
            yield f"{name}: {len(getattr(points, name))} for {n} points"
    for k, bill in enumerate(points.bills):
        if fault := price_fault(bill, "bill"):
            yield f"bills[{k}]: {fault}"
    for k, quality in enumerate(points.qualities):
        if not is_number(as_float(quality), -LARGEST, LARGEST):
            yield f"qualities[{k}]: {quality!r} is not a finite number"
    if not is_count(points.default, most=n - 1):
        yield f"default: {points.default!r} is not an index of {n} points"
    if not is_text(points.metric):
        yield f"metric: {shown(points.metric)} is not a name"
    first, *others = points.predictors
    for k, other in enumerate(others, 1):
        if other.schema is not first.schema and other.schema.plain() != first.schema.plain():
            yield f"points 0 and {k} have different columns"
        if other.prices is not first.prices and other.prices.plain() != first.prices.plain():
            yield f"points 0 and {k} have different prices"
        if plain_classes(other.classes) != plain_classes(first.classes):
            yield f"points 0 and {k} have different classes"
