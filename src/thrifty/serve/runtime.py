"""One example from the first question to the answer: walk, fetch, tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from thrifty.bundle import NamedWalk, Predictor, Receipt
from thrifty.costs.money import money
from thrifty.errors import DataError, SourceError
from thrifty.serve.sources import Feature, Source, fetch

__all__ = ["answer"]


def answer(
    predictor: Predictor,
    source: Source,
    known: Mapping[Any, Any] | None = None,
    cap: float | None = None,
) -> tuple[Any, Receipt]:
    """Predict one example and fetch only what the prediction asks for.

    Parameters
    ----------
    predictor : Predictor
    source : Source
        Where values come from.
    known : mapping, optional
        Values already at hand, by feature; they are free of charge.
    cap : float, optional
        What the example may cost at most. A feature is bought only if the bill so far and
        its price stay within it; when no wanted feature does, the best answer so far is the
        answer. The price of evaluations counts as soon as they are made.

    Returns
    -------
    answer : label or value
    receipt : Receipt

    Raises
    ------
    SourceError
        If a feature that is needed cannot be fetched; it names the feature.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import RowSource, answer
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> label, receipt = answer(model.predictor_, RowSource({0: 1.5, 1: 0.2}))
    >>> label, receipt.total
    ('yes', 1.0)
    >>> label, receipt = answer(model.predictor_, RowSource({}), cap=0.5)
    >>> receipt.stopped
    'cap of 0.50 reached'
    """
    limit = math.inf if cap is None else _checked(cap)
    walk = predictor.walk(known)
    while walk.asks:
        wanted = _affordable(predictor, walk, limit)
        if wanted:
            _tell(walk, fetch(source, wanted))
        else:
            walk.stop(f"cap of {money(limit, predictor.prices.unit)} reached")
    return walk.answer, walk.receipt


def _affordable(predictor: Predictor, walk: NamedWalk, cap: float) -> tuple[Feature, ...]:
    """Features that are wanted and fit under the cap together, the most useful first."""
    if cap == math.inf:
        return walk.asks
    index = predictor.schema.index
    wanted: list[Feature] = []
    bill, bought = walk.receipt.total, {index(name) for name in walk.told}
    for feature in walk.asks:
        price = predictor.prices.marginal(index(feature), bought)
        if bill + price <= cap:
            wanted.append(feature)
            bought.add(index(feature))
            bill += price
    return tuple(wanted)


def _tell(walk: NamedWalk, values: dict[Feature, Any]) -> None:
    try:
        walk.tell(values)
    except DataError as error:
        raise SourceError(f"the source gave what cannot be used: {error}") from error


def _checked(cap: float) -> float:
    if not cap >= 0:
        raise DataError(f"cap: {cap!r} is not a number of 0 or more")
    return cap
