"""Law 5: the same seed gives the same model for any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.checks.batch_outputs import same_model
from thrifty.checks.cases import Case
from thrifty.checks.verdict import law, same
from thrifty.kernels.threads import threads
from thrifty.learn.boosting import grower

__all__ = ["law_threads"]

THREAD_COUNTS = (1, 2, 3)
# Batches are cut into blocks of at most 2048 rows; this many rows make several blocks.
BATCH_ROWS = 6_000


@law("the same seed gives the same model for any number of threads")
def law_threads(estimator: Any, case: Case) -> None:
    """Compare fits and batches with 1, 2 and 3 threads, and a second fit of the same object."""
    unfitted = case.make(estimator)
    with _threads_share_small_nodes():
        first = _fit(unfitted, case, 1)
        X = first.schema.encode(case.test_table)
        X = np.ascontiguousarray(np.resize(X, (BATCH_ROWS, X.shape[1])))
        due = _batch(first, X, 1)
        for count in THREAD_COUNTS:
            again = _fit(case.make(estimator), case, count)
            same_model(first, again, f"with {count} threads")
            found = _batch(again, X, count)
            for name, expected in due.items():
                same(f"{name} with {count} threads", expected, found[name])
        same_model(first, _fit(unfitted, case, 1), "in a second fit")


def _fit(estimator: Any, case: Case, count: int) -> Predictor:
    with threads(count):
        predictor: Predictor = case.refit(estimator).predictor_
        return predictor


def _batch(predictor: Predictor, X: NDArray[np.floating], count: int) -> dict[str, NDArray[Any]]:
    with threads(count):
        return {"scores": predictor.model.score(X), "used": predictor.model.used(X)}


@contextmanager
def _threads_share_small_nodes() -> Iterator[None]:
    """Let threads share even small nodes of a tree, so that a small table reveals a fault."""
    before = grower.INLINE_WORK
    try:
        grower.INLINE_WORK = 1
        yield
    finally:
        grower.INLINE_WORK = before
