"""Where the answers of a call stand in the table, and what they cost.

An expensive model that is frozen inside leaves the table as it is. The answers of a call are
further columns, one for each class, that are bought together at the price of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Column, Schema
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.learn.call import Call
from thrifty.learn.expensive import Expensive
from thrifty.model import Answer, Frozen, LeafGate

__all__ = ["System"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class System:
    """The table that the frozen gate reads.

    `own` is the schema of the user's table; `schema` and `prices` have the answers of a call too.
    """

    call: Call
    own: Schema
    schema: Schema
    prices: BoundPrices
    expensive: Frozen
    answer: Answer | None

    @classmethod
    def of(
        cls, expensive: Expensive, schema: Schema, prices: BoundPrices, classes: NDArray[Any]
    ) -> System:
        """As it is for a frozen model; with columns for the answers of a call."""
        call = expensive.call
        if expensive.frozen is not None:
            return cls(call, schema, schema, prices, expensive.frozen, None)
        d, k = len(schema), len(classes)
        names: list[Any] = [f"{call.name}: {label}" for label in classes.tolist()]
        if not schema.named:
            names = list(range(d, d + k))
        _refuse_clashes(call, schema, prices, names)
        wide = Schema((*schema.columns, *(Column(name) for name in names)), schema.named)
        needs = range(d) if call.needs is None else map(schema.index, call.needs)
        answer = Answer.of(np.arange(d, d + k), sorted(needs), d + k)
        return cls(call, schema, wide, _priced(prices, call, names, schema.named), answer, answer)

    @property
    def name(self) -> str:
        """Name of the call."""
        return self.call.name

    def fitting(self, model: Frozen) -> Frozen:
        """A model of the user's columns as one of the wider table."""
        if self.answer is None:
            return model
        if isinstance(model, LeafGate):
            return replace(model, forest=replace(model.forest, n_features=len(self.schema)))
        return replace(model, n_features=len(self.schema))  # type: ignore[type-var]

    def widened(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows with empty columns for the answers."""
        if self.answer is None:
            return rows
        empty = np.full((len(rows), len(self.answer.columns)), np.nan, dtype=rows.dtype)
        return np.hstack([rows, empty])

    def assumed(self, rows: NDArray[np.floating]) -> NDArray[np.floating]:
        """Rows as if every call answered, no matter what: for what is read and paid."""
        if self.answer is None:
            return rows
        k = len(self.answer.columns)
        return self.filled(self.widened(rows), np.full((len(rows), k), 1.0 / k))

    def filled(self, rows: NDArray[np.floating], answers: Floats) -> NDArray[np.floating]:
        """Wide rows with answers (n, K); the answers keep all their bits."""
        if self.answer is None:
            return rows
        rows = rows.astype(np.float64)
        rows[:, self.answer.columns] = answers
        return rows

    def answer_for(self, values: Mapping[Any, Any], classes: NDArray[Any]) -> dict[Any, float]:
        """Make the call for one example; by the names of the answer's columns."""
        if self.answer is None:
            raise DataError(f"{self.name!r} is part of the model: there is no call to make")
        needed = self.own.names if self.call.needs is None else self.call.needs
        absent = [name for name in needed if name not in values]
        if absent:
            raise DataError(f"call {self.name!r}: it needs {absent}, which have no value yet")
        table = _one_row({name: values.get(name) for name in self.own.names}, self.own.named)
        found = self.call.ask(table, classes).probabilities[0]
        names = self.schema.names[len(self.own) :]
        return dict(zip(names, found.tolist(), strict=True))


def _one_row(values: dict[Any, Any], named: bool) -> Any:
    if not named:
        row = [np.nan if value is None else value for value in values.values()]
        return np.array([row], dtype=np.float64)
    import pandas as pd

    return pd.DataFrame({name: [value] for name, value in values.items()})


def _refuse_clashes(call: Call, schema: Schema, prices: BoundPrices, names: list[Any]) -> None:
    taken = [name for name in names if schema.named and name in schema.names]
    if taken:
        raise DataError(f"call {call.name!r}: the table has a column {taken[0]!r} already")
    if call.name in prices.group_names:
        raise DataError(f"call {call.name!r}: the prices have a group of that name already")


def _priced(prices: BoundPrices, call: Call, names: list[Any], named: bool) -> BoundPrices:
    """The answers are a group: its shared price is that of the call."""
    k, groups = len(names), len(prices.shared)
    return replace(
        prices,
        names=(*(prices.names or ()), *names) if named else None,
        own=np.append(prices.own, np.zeros(k)),
        group=np.append(prices.group, np.full(k, groups)),
        shared=np.append(prices.shared, call.price),
        group_names=(*prices.group_names, call.name),
    )
