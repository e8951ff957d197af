"""The columns of a gated model: the user's table, and beside it what a call is paid by.

An expensive model that is frozen and free leaves the table as it is. One that is frozen and has a
price gets one further column, which stands for the call. The results of a model that is not part of
the file are further columns, one for each class or one for a value, that are bought together at the
price of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Column, Schema
from thrifty.bundle.endpoint import Endpoint
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.expensive_model import ExpensiveModel
from thrifty.model import CallResult, Frozen, LeafGate, PricedCall

__all__ = ["GateColumns"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GateColumns:
    """The table that a frozen gate reads.

    Parameters
    ----------
    call : Call
        The call to the expensive model.
    table : Schema
        Columns of the user's table, d of them.
    schema : Schema
        Those columns, and after them the column of a priced call, or the columns of a call result:
        one for each class, or one for a value.
    prices : BoundPrices
        Prices of `schema`; the columns of a call result are a group with the name and the price of
        the call.
    expensive : Frozen
        The expensive model as a model of `schema`.
    call_result : CallResult or None
        The same, if it is called; None if the expensive model is frozen.
    """

    call: Call
    table: Schema
    schema: Schema
    prices: BoundPrices
    expensive: Frozen
    call_result: CallResult | None

    @classmethod
    def of(cls, expensive: ExpensiveModel, train: TrainingSet) -> Self:
        """Add columns for the results of a call, unless the expensive model is frozen.

        Raises
        ------
        DataError
            If a column or a price group has the name of the call already.
        """
        call, schema, prices = expensive.call, train.schema, train.prices
        d, frozen = len(schema), expensive.frozen
        if frozen is not None and call.price == 0 and expensive.reads is None:
            return cls(call, schema, schema, prices, frozen, None)
        if call.name in prices.group_names:
            raise DataError(f"call {call.name!r}: the prices have a group of that name already")
        labels = ["value"] if train.classes is None else train.classes.tolist()
        k = len(labels) if frozen is None else 1
        names: list[Any] = list(range(d, d + k))
        if schema.named:
            names = [f"{call.name}: {label}" for label in labels] if frozen is None else [call.name]
        for name in names:
            if schema.named and name in schema.names:
                raise DataError(f"call {call.name!r}: the table has a column {name!r} already")
        columns = (Column(name, is_call=frozen is not None) for name in names)
        wide = Schema((*schema.columns, *columns), schema.named)
        wide_names = (*(prices.names or ()), *names) if schema.named else None
        if frozen is not None:
            wide_prices = prices.with_column(wide_names, call.price)
            reads = np.arange(d) if expensive.reads is None else expensive.reads
            return cls(
                call, schema, wide, wide_prices, PricedCall.of(frozen, reads, d, d + 1), None
            )
        wide_prices = prices.with_group(wide_names, k, call.name, call.price)
        needs = range(d) if call.needs is None else map(schema.index, call.needs)
        result = CallResult.of(np.arange(d, d + k), sorted(needs), d + k)
        return cls(call, schema, wide, wide_prices, result, result)

    def widen_training(self, train: TrainingSet) -> TrainingSet:
        """Return the training set as the frozen gate reads it, as if every call succeeded."""
        X = self.assume_calls(train.X)
        return replace(train, schema=self.schema, prices=self.prices, X=X)

    def widen_model(self, model: Frozen) -> Frozen:
        """Return a model of the user's columns as one of `schema`."""
        if self.n_added == 0:
            return model
        if isinstance(model, LeafGate):
            return replace(model, forest=replace(model.forest, n_features=len(self.schema)))
        return replace(model, n_features=len(self.schema))  # type: ignore[type-var]

    @property
    def origin(self) -> dict[str, Any]:
        """What a model file says about the call; a URL is kept without its secrets."""
        if self.n_added == 0:
            return {}
        fn = self.call.fn
        url = Endpoint(fn).public_url if isinstance(fn, str) else None
        return {"call": {"name": self.call.name, "url": url}}

    @property
    def n_added(self) -> int:
        """Number of columns beside those of the user's table."""
        return len(self.schema) - len(self.table)

    def widen(self, X: NDArray[np.floating], scores: Floats | None = None) -> NDArray[np.floating]:
        """Append the results (n, K) or (n,) of calls to encoded rows (n, d); NaN without any."""
        if self.n_added == 0:
            return X
        if scores is None:
            scores = np.full((len(X), self.n_added), np.nan, dtype=X.dtype)
        return np.hstack([X, scores.reshape(len(X), -1)])

    def assume_calls(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Widen rows as if every call succeeded, for what does not depend on its result."""
        if self.call_result is None:
            return self.widen(X)
        return self.widen(X, np.full((len(X), self.n_added), 1.0 / self.n_added))

    def run_call(self, values: Mapping[Any, Any], classes: NDArray[Any] | None) -> dict[Any, float]:
        """Run the call for one example; return its result by column name, NaN if it failed.

        Raises
        ------
        DataError
            If the expensive model is frozen, or a needed value is absent.
        """
        name, schema = self.call.name, self.table
        if self.call_result is None:
            raise DataError(f"{name!r} is part of the model: there is no call to make")
        needed = schema.table_names if self.call.needs is None else self.call.needs
        absent = [feature for feature in needed if feature not in values]
        if absent:
            raise DataError(f"call {name!r}: it needs {absent}, which have no value yet")
        row = {feature: values.get(feature) for feature in schema.table_names}
        if schema.named:
            import pandas as pd

            table: Any = pd.DataFrame({feature: [value] for feature, value in row.items()})
        else:
            numbers = [np.nan if value is None else value for value in row.values()]
            table = np.array([numbers], dtype=np.float64)
        scores = self.call.run(table, classes).scores[0]
        return dict(zip(self.schema.names[len(schema) :], scores.tolist(), strict=True))
