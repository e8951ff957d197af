"""What one would do without Thrifty, to measure a choice against.

Each is plain boosting, stopped early on the validation rows, and is told by its figures on the
test rows: with every feature fetched for every row, with only those that the trees read, and on
the cheapest features that the budget buys for everyone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices
from thrifty.frontier.scoring import Quality
from thrifty.frontier.splits import Rows

__all__ = ["Baseline", "baselines", "cheapest"]


@dataclass(frozen=True)
class Baseline:
    """Mean bill and quality on the test rows of one way to do without prices."""

    name: str
    features: int
    bill: float
    quality: float


def baselines(
    learner: Any,
    prices: BoundPrices,
    parts: dict[str, Rows],
    measure: Quality,
    budget: float,
) -> Iterator[Baseline]:
    """Learn the baselines on the training rows and measure them on the test rows.

    Parameters
    ----------
    learner : estimator
        Learns without prices; stops early on validation rows.
    prices : BoundPrices
        The prices of all features.
    parts : dict of Rows
        The rows "train", "validation" and "test".
    measure : Quality
    budget : float
    """
    model, test = _learnt(learner, parts), parts["test"]
    quality, used = measure.measure(model, test), model.used(test.X)
    evaluation = prices.evaluation * float(model.evaluations(test.X).mean())
    yield Baseline("all features fetched", len(prices.own), prices.full + evaluation, quality)
    bill = float(prices.bill(used).mean()) + evaluation
    yield Baseline("plain boosting", int(used.any(axis=0).sum()), bill, quality)
    columns = cheapest(prices, budget)
    if 0 < len(columns) < len(prices.own):
        yield _on_columns(learner, prices, parts, measure, columns)


def cheapest(prices: BoundPrices, budget: float) -> NDArray[np.intp]:
    """The features, cheapest first, whose bill together is within the budget.

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
        left.remove(feature)
        bought.add(feature)
        spent += price
    return np.array(sorted(bought), dtype=np.intp)


def _on_columns(
    learner: Any,
    prices: BoundPrices,
    parts: dict[str, Rows],
    measure: Quality,
    columns: NDArray[np.intp],
) -> Baseline:
    narrow = {
        name: Rows(rows.index, _safe_indexing(rows.X, columns, axis=1), rows.y, rows.qid)
        for name, rows in parts.items()
    }
    model, test = _learnt(learner, narrow), narrow["test"]
    used = np.zeros((len(test), len(prices.own)), dtype=bool)
    used[:, columns] = model.used(test.X)
    bill = float(prices.bill(used, model.evaluations(test.X)).mean())
    name = "plain boosting on the cheapest"
    return Baseline(name, int(used.any(axis=0).sum()), bill, measure.measure(model, test))


def _learnt(learner: Any, parts: dict[str, Rows]) -> Predictor:
    train, rows = parts["train"], parts["validation"]
    queries = {} if train.qid is None else {"qid": train.qid}
    held_out = (rows.X, rows.y) if rows.qid is None else (rows.X, rows.y, rows.qid)
    fitted = clone(learner).fit(train.X, train.y, validation=held_out, **queries)
    predictor: Predictor = fitted.predictor_
    return predictor
