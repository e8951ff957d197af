"""Law 5: same seed, same model, whatever the number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.checks.cases import Case
from thrifty.checks.faces import same_model
from thrifty.checks.verdict import law, same
from thrifty.kernels.threads import threads
from thrifty.learn.boosting import grower

__all__ = ["law_threads"]

Floats = NDArray[np.floating]

COUNTS = (1, 2, 3)
# Batches are cut into blocks of at most 2048 rows; this many make several.
ROWS = 6_000


@law("the same seed gives the same model for any number of threads")
def law_threads(estimator: Any, case: Case) -> None:
    """Fits with 1, 2 and 3 threads, a second fit of the same object, and batches of each."""
    unfitted = case.make(estimator)
    with _many_hands():
        first = _fit(unfitted, case, 1)
        X = _long(first.schema.encode(case.held_table))
        due = _batch(first, X, 1)
        for count in COUNTS:
            again = _fit(case.make(estimator), case, count)
            same_model(first, again, f"with {count} threads")
            found = _batch(again, X, count)
            for name, face in due.items():
                same(f"{name} with {count} threads", face, found[name])
        same_model(first, _fit(unfitted, case, 1), "in a second fit")


def _fit(estimator: Any, case: Case, count: int) -> Predictor:
    with threads(count):
        predictor: Predictor = case.refit(estimator).predictor_
        return predictor


def _batch(predictor: Predictor, X: Floats, count: int) -> dict[str, NDArray[Any]]:
    with threads(count):
        return {"scores": predictor.model.score(X), "used": predictor.model.used(X)}


def _long(X: Floats) -> Floats:
    return np.ascontiguousarray(np.resize(X, (ROWS, X.shape[1])))


@contextmanager
def _many_hands() -> Iterator[None]:
    """Let trees share even small nodes among threads, so that a small table shows a fault."""
    before = grower.INLINE_WORK
    try:
        grower.INLINE_WORK = 1
        yield
    finally:
        grower.INLINE_WORK = before
