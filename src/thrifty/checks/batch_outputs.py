"""Everything that batch prediction returns for a table, to be compared with another run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.checks.verdict import require, same
from thrifty.costs import BoundPrices

__all__ = ["BatchOutputs", "same_model", "table_prices"]


@dataclass(frozen=True, eq=False)
class BatchOutputs:
    """What a fitted estimator or a `Predictor` returns for the n rows of a table.

    Attributes
    ----------
    predictions : array (n,)
        Labels or values.
    scores : float array (n, K) or (n,)
        Class probabilities, or the values again for regression and ranking.
    used : bool array (n, d)
        Which features each row used.
    bill : float array (n,)
        What each row costs.
    """

    predictions: NDArray[Any]
    scores: NDArray[np.float64]
    used: NDArray[np.bool_]
    bill: NDArray[np.float64]

    @classmethod
    def of(cls, fitted: Any, table: Any) -> Self:
        """Run every batch method of a fitted estimator or a `Predictor` on a table."""
        predictor = fitted if isinstance(fitted, Predictor) else fitted.predictor_
        predictions = fitted.predict(table)
        scores = predictions
        if predictor.classes is not None:
            # Not every classifier has `predict_proba`; its frozen predictor does.
            source = fitted if hasattr(fitted, "predict_proba") else predictor
            scores = source.predict_proba(table)
        return cls(predictions, np.asarray(scores), fitted.used(table), fitted.bill(table))

    def require_same(self, other: BatchOutputs, when: str) -> None:
        """Raise `LawError`, which mentions `when`, unless `other` is the same to the bit."""
        for field in fields(self):
            same(f"{field.name} {when}", getattr(self, field.name), getattr(other, field.name))


def table_prices(predictor: Predictor) -> BoundPrices:
    """Return prices in the order of the training table, which is that of `used`."""
    return predictor.prices.take(predictor.schema.table_order)


def same_model(expected: Predictor, found: Predictor, when: str) -> None:
    """Raise `LawError` unless two frozen models have the same state to the bit."""
    (plain, arrays), (other, others) = expected.model.state(), found.model.state()
    require(plain == other, f"model {when}: {other} instead of {plain}")
    require(arrays.keys() == others.keys(), f"model {when}: arrays {sorted(others)}")
    for name, array in arrays.items():
        other_array = others[name]
        require(
            (array.dtype, array.shape) == (other_array.dtype, other_array.shape),
            f"model array {name!r} {when}: {other_array.dtype} {other_array.shape} "
            f"instead of {array.dtype} {array.shape}",
        )
        same(f"model array {name!r} {when}", _bytes(array), _bytes(other_array))


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the rows of an array of any type, records included, as rows of bytes."""
    rows = np.atleast_1d(np.ascontiguousarray(array))
    width = rows[:1].nbytes
    return np.frombuffer(rows.tobytes(), dtype=np.uint8).reshape(len(rows), width)
