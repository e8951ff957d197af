"""Reading what a call has answered: probabilities or labels, and which of them are no answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import SourceError
from thrifty.model.call_result import SLACK

__all__ = ["Answers", "read_answer", "refuse_failures", "sound"]

Floats = NDArray[np.float64]
TOLD = 5


class Answers(NamedTuple):
    """Probabilities (n, K), NaN where there are none, and why not, by row."""

    probabilities: Floats
    why: dict[int, str]


def read_answer(answer: Any, rows: int, classes: NDArray[Any]) -> Floats:
    """Probabilities (rows, K) in the order of `classes`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.gates.call_results import read_answer
    >>> read_answer({"probabilities": [[0.9, 0.1]], "classes": ["b", "a"]}, 1, np.array(["a", "b"]))
    array([[0.1, 0.9]])
    """
    labels = None
    if isinstance(answer, Mapping):
        answer, labels = _unpacked(answer)
    elif isinstance(answer, tuple) and len(answer) == 2:
        answer, labels = answer
    found = np.asarray(answer)
    if len(found.shape) not in (1, 2) or len(found) != rows:
        raise ValueError(f"answers of shape {found.shape} for {rows} rows")
    if found.ndim == 1:
        return np.asarray(_places(found, classes)[:, np.newaxis] == np.arange(len(classes)), float)
    order = np.arange(len(classes)) if labels is None else _places(np.asarray(labels), classes)
    if found.shape[1] != len(order):
        raise ValueError(f"{found.shape[1]} probabilities for {len(order)} classes")
    aligned = np.zeros((rows, len(classes)))
    aligned[:, order] = found.astype(np.float64)
    return aligned


def sound(found: Floats, why: dict[int, str]) -> Answers:
    """Tell the rows whose numbers are no probabilities."""
    for row in np.flatnonzero(~_sums_to_one(found)).tolist():
        why.setdefault(row, _fault(found[row]))
    found[list(why)] = np.nan
    return Answers(found, why)


def refuse_failures(name: str, answers: Answers) -> None:
    """Raise `SourceError` if a row has no answer."""
    if not answers.why:
        return
    rows = sorted(answers.why)
    reasons = dict.fromkeys(answers.why[row] for row in rows)
    told = "; ".join(list(reasons)[:TOLD])
    raise SourceError(
        f"call {name!r}: no answer for {len(rows)} of {len(answers.probabilities)} rows, the first "
        f"of them row {rows[0]}: {told}"
    )


def _sums_to_one(found: Floats) -> NDArray[np.bool_]:
    with np.errstate(invalid="ignore"):
        close = np.abs(found.sum(axis=1) - 1.0) <= SLACK
    return np.asarray(close & (found >= 0).all(axis=1))


def _fault(row: Floats) -> str:
    if np.isnan(row).any():
        return "a probability is missing (NaN)"
    if (row < 0).any():
        return f"the probability {row.min():g} is negative"
    return f"the probabilities sum to {row.sum():g}, not 1"


def _unpacked(answer: Mapping[str, Any]) -> tuple[Any, Any]:
    if "labels" in answer:
        return np.asarray(answer["labels"]).ravel(), None
    if "probabilities" not in answer:
        raise ValueError(f"neither probabilities nor labels among {sorted(map(str, answer))[:5]}")
    return answer["probabilities"], answer.get("classes")


def _places(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Class number of each label."""
    known = {label: place for place, label in enumerate(classes.tolist())}
    listed = labels.tolist()
    strange = [label for label in dict.fromkeys(listed) if label not in known]
    if strange:
        raise ValueError(f"{strange[:TOLD]} are not classes of the target {classes.tolist()[:20]}")
    return np.array([known[label] for label in listed], dtype=np.intp)
