"""Serving one example: walk, fetch what the walk asks for, answer."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from thrifty.bundle import NamedWalk, Predictor, Receipt
from thrifty.costs.money import as_float, money
from thrifty.errors import DataError, SourceError
from thrifty.serve.sources.rows import Feature, Source, fetch

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
        What the example may cost at most. Features are bought only if the bill, with the
        evaluations that their values may lead to, stays within the cap; if it cannot, the best
        answer so far is the answer.

    Returns
    -------
    answer : label or value
    receipt : Receipt

    Raises
    ------
    DataError
        If `known` or `cap` is invalid, or the evaluations before the first purchase cost more than
        the cap.
    SourceError
        If a feature cannot be fetched, or its value is invalid; the message names it. Its `receipt`
        says what was bought, `walk` can go on, and `values` are all that was fetched.

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
    >>> receipt.stopped, receipt.reason
    ('cap', 'cap of 0.50 reached')
    """
    limit = as_float(cap)
    if cap is not None and not (isinstance(limit, float) and limit >= 0):
        raise DataError(f"cap: {cap!r} is not a number of 0 or more")
    walk = predictor.walk(known, cap)
    if cap is not None and walk.receipt.total > cap:
        least = money(walk.receipt.total, predictor.prices.unit)
        raise DataError(
            f"cap: {cap!r} is less than the evaluations that come first; raise it to {least}"
        )
    while walk.why is not None:  # reading a reason puts it on the receipt
        wanted = walk.asks if cap is None else _affordable(walk, cap)
        if not wanted:
            walk.stop(f"cap of {money(cap or 0.0, predictor.prices.unit)} reached", code="cap")
            break
        _fetch_into(walk, source, wanted)
    return walk.answer, walk.receipt


def _affordable(walk: NamedWalk, cap: float) -> tuple[Feature, ...]:
    """Return what to ask for now, of what fits under the cap together, the most useful first.

    Features that are bought together are worth nothing one by one: it is all of them or none. What
    is required counts with what requires it: it is not bought for what cannot be paid.
    """
    if walk.largest_bill(walk.wants) <= cap:
        return walk.asks
    if walk.wants_together:
        return ()
    wanted: list[Feature] = []
    for feature in walk.wants:
        if walk.largest_bill([*wanted, feature]) <= cap:
            wanted.append(feature)
    return tuple(feature for feature in walk.asks if feature in walk.bought_with(wanted))


def _fetch_into(walk: NamedWalk, source: Source, wanted: tuple[Feature, ...]) -> None:
    """Fetch values and pass them to the walk; an error has all that was paid for."""
    try:
        values = fetch(source, wanted)
        try:
            walk.tell(values)
        except DataError as error:
            raise SourceError(f"the source returned an invalid value: {error}", values) from error
    except SourceError as error:
        for feature, value in error.values.items():
            with suppress(DataError):  # the invalid ones are in the message
                walk.tell({feature: value})
        reason = f"source failed: {error}"
        error.values = {**walk.told, **error.values}
        error.walk = walk
        error.receipt = replace(walk.receipt, stopped="source_failed", reason=reason)
        raise
