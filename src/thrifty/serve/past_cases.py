"""What another model would have done with the cases of a ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from thrifty.bundle import Predictor, Receipt
from thrifty.bundle.receipt import plain_value
from thrifty.errors import DataError, SourceError
from thrifty.serve.ledger.records import CaseRow, Entry
from thrifty.serve.runtime.catalog import client_item
from thrifty.serve.runtime.one_source import answer
from thrifty.serve.sources.rows import Feature, RowSource
from thrifty.serve.sources.values import check_values, load_json, load_values

__all__ = ["MissingValueError", "ReplayedCase", "WhatIf", "replay", "what_if"]

BELOW_CAP = "(cap)"
"""Stands for a feature where the cap is below the evaluations that come first."""


@dataclass(frozen=True)
class ReplayedCase:
    """One case, as it was and as it would have been.

    Parameters
    ----------
    case : str
        Its keyed hash.
    answer_before, answer_after : label or float
    bill_before, bill_after : float
        The bills of the models.
    spent_before : float
        What was really spent.
    """

    case: str
    answer_before: Any
    answer_after: Any
    bill_before: float
    bill_after: float
    spent_before: float


@dataclass(frozen=True)
class WhatIf:
    """What another model would have done.

    Parameters
    ----------
    replayed : tuple of ReplayedCase
        The cases whose values were all there.
    incomplete : int
        Cases for which the other model asks for values that were never bought.
    lacking : dict of feature to int
        Those values, and in how many cases they are missing first.
    without_values : int
        Cases that have not ended, or whose values were erased.
    """

    replayed: tuple[ReplayedCase, ...]
    incomplete: int
    lacking: dict[Feature, int]
    without_values: int

    @property
    def changed(self) -> int:
        """How many of the replayed cases have another answer."""
        return sum(case.answer_before != case.answer_after for case in self.replayed)

    @property
    def bill_before(self) -> float:
        """Mean bill of the replayed cases as they were; 0 if there are none."""
        return self._mean([case.bill_before for case in self.replayed])

    @property
    def bill_after(self) -> float:
        """Mean bill of the replayed cases with the other model; 0 if there are none."""
        return self._mean([case.bill_after for case in self.replayed])

    def _mean(self, amounts: list[float]) -> float:
        return sum(amounts) / len(amounts) if amounts else 0.0


class MissingValueError(DataError):
    """A model asks for a feature that a past case does not have."""

    def __init__(self, feature: Feature) -> None:
        super().__init__(f"{feature!r} was never bought")
        self.feature = feature


def replay(
    predictor: Predictor,
    known: Mapping[Feature, Any],
    bought: Mapping[Feature, Any],
    cap: float | None = None,
) -> tuple[Any, Receipt]:
    """Predict a case with the values that it had, and return the answer and the receipt.

    Values of features that the model does not know are left out.

    Raises
    ------
    MissingValueError
        If the model asks for another one.
    """
    schema = predictor.schema
    free, values = (
        check_values(schema, {f: x for f, x in found.items() if f in schema.names})[0]
        for found in (known, bought)
    )
    try:
        return answer(predictor, RowSource(values), free, cap)
    except SourceError as error:
        absent = [feature for feature in error.walk.asks if feature not in values]
        raise MissingValueError(absent[0]) from None
    except DataError:  # the cap is below the evaluations that come first
        raise MissingValueError(BELOW_CAP) from None


def what_if(
    cases: Iterable[tuple[CaseRow, list[Entry]]], predictor: Predictor, cap: float | None = None
) -> WhatIf:
    """Replay past cases on another model, with the values that they had.

    Nothing is bought. Values that were known already are free again, and what a client could not
    deliver is missing again. The comparison
    is of cases for which all values are there that the other model asks for: a model that asks for
    other features than those that were bought leaves few.

    Parameters
    ----------
    cases : iterable
        Of `Ledger.cases`.
    predictor : Predictor
        The other model.
    cap : float, optional
        What a case may cost at most with the other model.
    """
    replayed, lacking, n_without = [], Counter[Feature](), 0
    schema = predictor.schema
    for row, entries in cases:
        ending = row.ending
        if ending is None or ending.answer is None or row.header.known is None:
            n_without += 1
            continue
        free, bought = load_values(row.header.known), dict[Feature, Any]()
        for entry in entries:
            if entry.values is not None:
                (free if entry.outcome == "known" else bought).update(load_values(entry.values))
            elif entry.outcome == "declined":  # missing, and free
                free |= {f: None for f in schema.names if client_item(f) == entry.item}
        try:
            label, receipt = replay(predictor, free, bought, cap)
        except MissingValueError as error:
            lacking[error.feature] += 1
            continue
        replayed.append(
            ReplayedCase(
                row.header.case,
                load_json(ending.answer),
                plain_value(label),
                ending.bill,
                receipt.total,
                ending.spent,
            )
        )
    return WhatIf(tuple(replayed), lacking.total(), dict(lacking), n_without)
