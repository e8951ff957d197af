"""What must hold for whatever a file or a service has led to."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.model import KINDS, CallResult

__all__ = ["BrokenLawError", "check_predictor", "check_text", "table_of"]

ROWS = 5
WALKED = (0, 3)
NUMBERS = (0.0, 1.5, -3.0, 70.0, math.nan, 1e6, -1e-3, 0.4, 2.0, 1e300, -0.7)
# How far class probabilities may be from a sum of 1.
SUM_TOL = 1e-6
# Bills are sums that are rounded once; their bound may be rounded differently.
ROUNDING = 1e-9
CONTROL = {*map(chr, range(32)), *map(chr, range(127, 160))} - {"\n", "\t"}


class BrokenLawError(Exception):
    """Something that must hold does not."""


def require(holds: bool, message: str) -> None:
    if not holds:
        raise BrokenLawError(message)


def table_of(predictor: Predictor) -> list[dict[Any, Any]]:
    """Return a few rows that a predictor can read: values by feature."""
    schema = predictor.schema
    answers = dict.fromkeys(_results_of(predictor.model), 0.0)
    for j in answers:
        answers[j] = 1.0 / len(answers)
    rows = []
    for row in range(ROWS):
        values = {}
        for j, column in enumerate(schema.columns):
            if j in schema.calls:
                continue
            k = 7 * row + 3 * j + row * j
            if j in answers:
                values[column.name] = answers[j]
            elif column.categories is None:
                values[column.name] = NUMBERS[k % len(NUMBERS)]
            else:
                labels = [*column.categories, None]
                values[column.name] = labels[k % len(labels)]
        rows.append(values)
    return rows


def check_predictor(predictor: Predictor) -> None:
    """Score, bill and walk a few rows: walk and batch agree, all probabilities are finite."""
    rows = table_of(predictor)
    schema = predictor.schema
    names = [column.name for j, column in enumerate(schema.columns) if j not in schema.calls]
    table: Any = {name: [row[name] for row in rows] for name in names}
    if not schema.named:
        table = np.array([[row[name] for name in names] for row in rows], dtype=object)
    predictions = predictor.predict(table)
    scores = predictions if predictor.classes is None else predictor.predict_proba(table)
    used, bills = predictor.used(table), predictor.bill(table)
    ceiling = predictor.ceiling
    require(not np.isnan(scores).any(), f"{predictor.model.kind}: a score is NaN")
    if predictor.classes is not None:
        sums = scores.sum(axis=1)
        is_sound = (np.abs(sums - 1) <= SUM_TOL).all() and (scores >= 0).all()
        require(bool(is_sound), f"{predictor.model.kind}: the probabilities are no distribution")
    require(not np.isnan(bills).any(), "a bill is NaN")
    # Not `bills <= ceiling`: both may be infinite.
    excess = bills > ceiling * (1 + ROUNDING) + ROUNDING
    require(not excess.any(), f"{predictor.model.kind}: a bill of {bills.max()} exceeds {ceiling}")
    for row in WALKED:
        _check_walk(predictor, rows[row], np.atleast_1d(scores[row]), used[row], bills[row])


def _check_walk(
    predictor: Predictor, row: dict[Any, Any], scores: Any, used: Any, bill: Any
) -> None:
    """Walk one row, one value at a time, and compare with the batch."""
    walk = predictor.walk()
    kind = predictor.model.kind
    for _ in range(len(predictor.schema) + 1):
        if not walk.asks:
            break
        name = walk.asks[0]
        _ = walk.why, walk.best, walk.interval
        # A call that the model makes itself comes on top of the feature that leads to it.
        bound = math.inf if predictor.schema.calls else walk.largest_bill([name])
        walk.tell({name: row[name]})
        total = walk.receipt.total
        require(
            not total > bound * (1 + ROUNDING) + ROUNDING, f"{kind}: {total} where {bound} was due"
        )
    require(walk.done, f"{kind}: a walk asks for more features than there are")
    require(np.array_equal(walk.scores, scores), f"{kind}: the scores of walk and batch differ")
    receipt = walk.receipt
    bought = {purchase.feature for purchase in receipt.purchases if purchase.why != "required"}
    names = predictor.schema.table_names
    due = {names[j] for j in np.flatnonzero(used)}
    require(bought == due, f"{kind}: the features of walk and batch differ")
    require(receipt.total == bill, f"{kind}: the bills of walk and batch differ")


def check_text(text: str) -> None:
    """Check that a text can be shown: it holds no control characters and no lone surrogates."""
    found = CONTROL & set(text)
    require(not found, f"control characters {sorted(found)!r} reach the terminal")
    require(
        not any("\ud800" <= c <= "\udfff" for c in text), "a lone surrogate reaches the terminal"
    )


def _results_of(model: Any) -> list[int]:
    """Return the columns that hold the result of a call, anywhere in a model."""
    if isinstance(model, CallResult):
        return model.columns.tolist()
    parts = [value for value in vars(model).values() if type(value) in KINDS.values()]
    for value in vars(model).values():
        if isinstance(value, (tuple, list)):
            parts += [each for each in value if type(each) in KINDS.values()]
    return [column for part in parts for column in _results_of(part)]
