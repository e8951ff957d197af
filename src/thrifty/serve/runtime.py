"""Serving one example: walk, fetch what the walk asks for, answer."""

from __future__ import annotations

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
    """Predict one example, fetching only what the prediction asks for.

    Parameters
    ----------
    predictor : Predictor
    source : Source
        Where values come from.
    known : mapping, optional
        Values known beforehand, by feature; they are free of charge.
    cap : float, optional
        What the example may cost at most. A feature is bought only if the bill stays within the
        cap; if that holds for no wanted feature, the best answer so far is the answer. The price
        of evaluations counts as soon as they are made.

    Returns
    -------
    answer : label or value
    receipt : Receipt

    Raises
    ------
    DataError
        If `known` or `cap` is invalid.
    SourceError
        If a feature cannot be fetched, or its value is invalid; the message names it.

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
    if cap is not None and not cap >= 0:
        raise DataError(f"cap: {cap!r} is not a number of 0 or more")
    walk = predictor.walk(known, cap)
    while walk.asks:
        wanted = walk.asks if cap is None else _affordable(predictor, walk, cap)
        if not wanted:
            walk.stop(f"cap of {money(cap or 0.0, predictor.prices.unit)} reached")
            break
        values = fetch(source, wanted)
        try:
            walk.tell(values)
        except DataError as error:
            raise SourceError(f"the source returned an invalid value: {error}") from error
    return walk.answer, walk.receipt


def _affordable(predictor: Predictor, walk: NamedWalk, cap: float) -> tuple[Feature, ...]:
    """Return the wanted features that fit under the cap together, the most useful first."""
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
