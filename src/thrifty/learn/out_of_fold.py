"""Answers of a model for rows that it has not seen, from fits without them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from thrifty.learn.call import Call
from thrifty.learn.dealing import deal

__all__ = ["fitted_clone", "out_of_fold"]

Floats = NDArray[np.float64]


def out_of_fold(
    call: Call,
    estimator: Any,
    table: Any,
    codes: NDArray[np.int64],
    classes: NDArray[Any],
    weight: Floats | None,
    random: RandomState,
) -> Floats:
    """Probabilities (n, K) of each row from a clone that was fitted without its part.

    Rows are dealt to parts so that each has its share of every class; a class that a fit has not
    seen has probability 0 there. (`cross_val_predict` would refuse classes with few rows.)
    """
    parts = deal(codes, min(call.folds or 2, len(codes)), random)
    answers = np.empty((len(codes), len(classes)))
    for part in range(parts.max() + 1):
        out, into = np.flatnonzero(parts == part), np.flatnonzero(parts != part)
        held = _safe_indexing(table, out)
        if len(np.unique(codes[into])) < 2:
            answers[out] = np.bincount(codes[into], minlength=len(classes)) / len(into)
            continue
        some = None if weight is None else weight[into]
        model = fitted_clone(estimator, _safe_indexing(table, into), classes[codes[into]], some)
        answers[out] = call.answered_by(model).ask_all(held, classes)
    return answers


def fitted_clone(estimator: Any, table: Any, y: NDArray[Any], weight: Floats | None) -> Any:
    """A clone, fitted; weights go along where it takes them."""
    model = clone(estimator)
    if weight is None or not has_fit_parameter(model, "sample_weight"):
        return model.fit(table, y)
    return model.fit(table, y, sample_weight=weight)
