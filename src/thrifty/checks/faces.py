"""The batch faces of a predictor on one table, side by side, to be compared with another's."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.checks.verdict import require, same

__all__ = ["Faces", "same_model"]


@dataclass(frozen=True, eq=False)
class Faces:
    """What an estimator or a predictor says of every row of a table."""

    answers: NDArray[Any]
    scores: NDArray[np.float64]
    used: NDArray[np.bool_]
    bill: NDArray[np.float64]

    @classmethod
    def of(cls, speaker: Any, table: Any) -> Self:
        """Ask a fitted estimator, or a `Predictor`."""
        return cls(
            speaker.predict(table),
            np.asarray(_scores(speaker, table)),
            speaker.used(table),
            speaker.bill(table),
        )

    def agree(self, other: Faces, when: str) -> None:
        """Raise `LawError` unless `other`, found `when`, is the same to the bit."""
        for field in fields(self):
            same(f"{field.name} {when}", getattr(self, field.name), getattr(other, field.name))


def _scores(speaker: Any, table: Any) -> Any:
    predictor = speaker if isinstance(speaker, Predictor) else speaker.predictor_
    if predictor.classes is None:
        return speaker.predict(table)
    # Not every classifier shows probabilities; its frozen predictor does.
    return (speaker if hasattr(speaker, "predict_proba") else predictor).predict_proba(table)


def same_model(expected: Predictor, found: Predictor, when: str) -> None:
    """Raise `LawError` unless two frozen models have the same state to the bit."""
    (plain, arrays), (other, others) = expected.model.state(), found.model.state()
    require(plain == other, f"model {when}: {other} where {plain} is due")
    require(arrays.keys() == others.keys(), f"model {when}: arrays {sorted(others)}")
    for name, array in arrays.items():
        other_array = others[name]
        require(
            (array.dtype, array.shape) == (other_array.dtype, other_array.shape),
            f"model array {name!r} {when}: {other_array.dtype} {other_array.shape} "
            f"where {array.dtype} {array.shape} is due",
        )
        same(f"model array {name!r} {when}", _bytes(array), _bytes(other_array))


def _bytes(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Rows of bytes, whatever the type, records included."""
    rows = np.atleast_1d(np.ascontiguousarray(array))
    width = rows[:1].nbytes
    return np.frombuffer(rows.tobytes(), dtype=np.uint8).reshape(len(rows), width)
