"""What one would do without Thrifty, to compare a choice with.

Each baseline is plain boosting with early stopping on the validation set, measured on the test set:
with every feature fetched for every row, with only the features that the trees read, and on the
cheapest features that the budget buys for every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thrifty.costs import BoundPrices
from thrifty.frontier.scoring import Metric
from thrifty.learn.dataset import TrainingSet, ValidationSet

__all__ = ["Baseline", "baselines", "cheapest"]


@dataclass(frozen=True)
class Baseline:
    """Number of features, mean bill and quality of one baseline on the test set."""

    name: str
    features: int
    bill: float
    quality: float


def baselines(
    learner: Any,
    prices: BoundPrices,
    train: TrainingSet,
    validation: ValidationSet,
    test: ValidationSet,
    metric: Metric,
    budget: float,
) -> Iterator[Baseline]:
    """Train clones of the learner and yield each baseline, measured on the test set.

    The first two are one model, billed for all features and for those that its rows use. The third,
    on the cheapest features, is left out if the budget buys none of them or all of them.

    Parameters
    ----------
    learner : estimator
        Trained without prices; stops early on the validation set.
    prices : BoundPrices
        The prices of all features.
    train : TrainingSet
    validation, test : ValidationSet
    metric : Metric
    budget : float
    """
    model = clone(learner).fit(train, None, validation=validation).model_
    quality, used = metric.value(model.score(test.X), test), model.used(test.X)
    evaluation = prices.evaluation * float(model.evaluations(test.X).mean())
    yield Baseline("all features fetched", len(prices.own), prices.full + evaluation, quality)
    bill = float(prices.bill(used).mean()) + evaluation
    yield Baseline("plain boosting", int(used.any(axis=0).sum()), bill, quality)
    columns = cheapest(prices, budget)
    if 0 < len(columns) < len(prices.own):
        narrow = train.take_columns(columns)
        held_out, rows = validation.take_columns(columns), test.take_columns(columns)
        model = clone(learner).fit(narrow, None, validation=held_out).model_
        used = np.zeros((len(test), len(prices.own)), dtype=bool)
        used[:, columns] = model.used(rows.X)
        bill = float(prices.bill(used, model.evaluations(rows.X)).mean())
        quality = metric.value(model.score(rows.X), rows)
        name = "plain boosting on the cheapest"
        yield Baseline(name, int(used.any(axis=0).sum()), bill, quality)


def cheapest(prices: BoundPrices, budget: float) -> NDArray[np.intp]:
    """Return the features, cheapest first, whose total price is within the budget, in order.

    Examples
    --------
    >>> from thrifty import Prices
    >>> from thrifty.frontier.baselines import cheapest
    >>> cheapest(Prices([5.0, 1.0, 2.0]).bind(3), budget=4.0)
    array([1, 2])
    """
    bought: set[int] = set()
    spent = 0.0
    left = set(range(len(prices.own)))
    while left:
        price, feature = min((prices.marginal(j, bought), j) for j in left)
        if spent + price > budget:
            break
        bought.update(prices.closure([feature]).tolist())  # with what it requires
        left -= bought
        spent += price
    return np.array(sorted(bought), dtype=np.intp)
