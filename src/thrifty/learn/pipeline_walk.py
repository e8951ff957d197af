"""The walk of one example through a pipeline: it asks for the columns of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor, Purchase, Receipt
from thrifty.bundle.columns import is_missing
from thrifty.costs import BoundPrices
from thrifty.errors import DataError, did_you_mean, raise_all

__all__ = ["PipelineWalk"]


class PipelineWalk:
    """One example that asks for source columns, which the steps of a pipeline transform.

    A transformed column is computed as soon as all of its sources are known.

    Parameters
    ----------
    predictor : Predictor
        The last step, which reads transformed columns.
    transform : callable
        Transforms one example of which some values are known, by source column.
    names : tuple of str or int
        The source columns.
    sources : bool array of shape (n_transformed, d)
        Which of them each transformed column is made of.
    prices : BoundPrices
        Prices of the source columns.
    known : mapping, optional
        Values known beforehand, by source column; they are free of charge.
    """

    def __init__(
        self,
        predictor: Predictor,
        transform: Callable[[Mapping[Any, Any]], dict[str, Any]],
        names: tuple[Any, ...],
        sources: NDArray[np.bool_],
        prices: BoundPrices,
        known: Mapping[Any, Any] | None = None,
    ) -> None:
        self._inner = predictor.walk()
        self._transform = transform
        self._names = names
        self._prices = prices
        self._made_of = {
            str(column): tuple(names[j] for j in np.flatnonzero(row))
            for column, row in zip(predictor.schema.table_names, sources, strict=True)
        }
        self._values: dict[Any, Any] = {}
        self._why: dict[Any, Literal["asked", "known", "skipped"]] = {}
        self._add(known or {}, "known")

    @property
    def asks(self) -> tuple[Any, ...]:
        """Source columns wanted now; empty when done."""
        wanted = (name for column in self._inner.asks for name in self._made_of[str(column)])
        return tuple(dict.fromkeys(name for name in wanted if name not in self._values))

    @property
    def done(self) -> bool:
        """Whether no column is wanted any more."""
        return self._inner.done

    def tell(self, values: Mapping[Any, Any]) -> None:
        """Pass values by source column, asked for or not, and advance as far as they allow.

        Raises
        ------
        DataError
            If a column is unknown, or another value of it was passed before.
        """
        self._add(values, "asked")

    def skip(self, feature: Any) -> None:
        """Go on without a column, as if its value were missing; it is not charged."""
        self._add({feature: None}, "skipped")

    def stop(self, reason: str = "stopped by the caller") -> None:
        """End the walk: the best answer so far becomes the answer."""
        self._inner.stop(reason)

    def price(self, feature: Any) -> float:
        """Return what a column would cost now; 0 if it is paid, known or skipped already."""
        raise_all(DataError, "values", self._unknown([feature]))
        if feature in self._values:
            return 0.0
        bought = {self._names.index(name) for name, why in self._why.items() if why == "asked"}
        return self._prices.marginal(self._names.index(feature), bought)

    @property
    def answer(self) -> Any:
        """The predicted label or value; None while the walk is not done."""
        return self._inner.answer

    @property
    def best(self) -> Any:
        """The best answer so far."""
        return self._inner.best

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the best answer so far: class probabilities, or one value."""
        return self._inner.scores

    @property
    def receipt(self) -> Receipt:
        """What was bought so far, and at what price, by source column."""
        inner = self._inner.receipt
        used = {name for each in inner.purchases for name in self._made_of[str(each.feature)]}
        purchases, bought = [], set[int]()
        for name, value in self._values.items():
            if name in used:
                price, why = 0.0, self._why[name]
                if why == "asked":
                    price = self._prices.marginal(self._names.index(name), bought)
                    bought.add(self._names.index(name))
                purchases.append(Purchase(name, value, price, why))
        charged = np.isin(np.arange(len(self._names)), sorted(bought))
        features = float(self._prices.bill(charged[np.newaxis])[0])
        told = [name for name, why in self._why.items() if why == "asked"]
        return Receipt(
            purchases=tuple(purchases),
            evaluation=inner.evaluation,
            total=features + inner.evaluation,
            unit=self._prices.unit,
            stopped=inner.stopped,
            unread=tuple(name for name in told if name not in used),
            reason=inner.reason,
            answer=inner.answer,
            probability=inner.probability,
            interval=inner.interval,
        )

    def __repr__(self) -> str:
        state = f"answer={self.answer!r}" if self.done else f"asks={self.asks!r}"
        return f"PipelineWalk({len(self._values)} values, {state})"

    def _add(self, values: Mapping[Any, Any], why: Literal["asked", "known", "skipped"]) -> None:
        """Record values, and pass on the transformed columns that they complete."""
        problems = self._unknown(values)
        for name, value in values.items():
            if name not in self._values:
                continue
            old = self._values[name]
            # A missing value cannot be compared: NaN equals nothing, NA is neither true nor false.
            either_is_missing = is_missing(old) or is_missing(value)
            if is_missing(old) != is_missing(value) if either_is_missing else old != value:
                problems.append(f"{name!r} is {old!r} already; start another walk for {value!r}")
        raise_all(DataError, "values", problems)
        told = {**values, **self._values}
        ready = self._ready(told)
        try:
            row = self._transform(told) if ready else {}
        except (ValueError, TypeError) as error:
            raise DataError(f"values: a step of the pipeline refuses them: {error}") from error
        for name, value in values.items():
            self._values.setdefault(name, value)
            self._why.setdefault(name, why)
        while ready:
            self._inner.tell({column: row[column] for column in ready})
            ready = self._ready(told)

    def _ready(self, told: Mapping[Any, Any]) -> list[str]:
        """Return the columns that the model asks for and whose sources are all known."""
        asked = [str(column) for column in self._inner.asks]
        return [column for column in asked if told.keys() >= set(self._made_of[column])]

    def _unknown(self, names: Any) -> list[str]:
        """Describe the names that no source column has."""
        return [
            f"there is no feature {name!r}{did_you_mean(name, self._names)}"
            for name in names
            if name not in self._names
        ]
