"""Columns that look like a mistake: identifiers, and features that give the target away.

A model that is trained on such a column looks better than it is. Nothing is dropped; the user is
told, and decides.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.dataset import TrainingSet

__all__ = ["find_suspects"]

# Fewer rows, or rows of a class, may look suspicious by chance.
MIN_ROWS, MIN_CLASS_ROWS = 30, 5
# A category in every row, or nearly.
DISTINCT_SHARE = 0.9
# Rows per distinct value that a feature must have if each value has rows of one class only.
ROWS_PER_VALUE = 5
# R2 of a target that is a function of one feature, up to rounding.
PERFECT_R2 = 0.9999

ID_NAME = re.compile(r"(?i:(^|[^a-z])(id|key|uuid|guid)$)|[a-z]I[dD]$")


def find_suspects(train: TrainingSet) -> list[str]:
    """Describe the columns that look like identifiers or like the target in disguise.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.dataset import TrainingSet
    >>> from thrifty.learn.suspects import find_suspects
    >>> age = np.arange(60.0) * 7 % 60
    >>> y = np.where(age > 29, "ill", "well")
    >>> table = {"row": np.arange(60), "therapy": np.where(y == "ill", "drug", "none")}
    >>> for message in find_suspects(TrainingSet.read("classification", table, y)):
    ...     print(message)
    column 'row' looks like an identifier: another whole number in every row; drop it
    column 'therapy' alone predicts the target perfectly; drop it if it is known only afterwards
    """
    found: list[str] = []
    if len(train) < MIN_ROWS:
        return found
    for j, column in enumerate(train.schema.columns):
        x = train.X[:, j].astype(np.float64)
        why = _identifies(str(column.name), x, column.categories is not None)
        if why:
            found.append(f"column {column.name!r} looks like an identifier: {why}; drop it")
        elif _gives_away(x, train.y, train.task, column.categories is not None):
            found.append(
                f"column {column.name!r} alone predicts the target perfectly; drop it if it is "
                "known only afterwards"
            )
    return found


def _identifies(name: str, x: NDArray[np.float64], is_category: bool) -> str:
    """Say why a column looks like an identifier; empty if it does not."""
    distinct = np.unique(x[~np.isnan(x)])
    if is_category:
        almost_all = len(distinct) >= DISTINCT_SHARE * len(x)
        return f"{len(distinct)} categories in {len(x)} rows" if almost_all else ""
    if len(distinct) < len(x) or np.any(distinct != np.round(distinct)):
        return ""
    # Numbers without gaps count rows; others are measured, unless their name says otherwise.
    is_dense = distinct[-1] - distinct[0] < 2 * len(x)
    return "another whole number in every row" if is_dense or ID_NAME.search(name) else ""


def _gives_away(
    x: NDArray[np.float64], y: NDArray[np.generic], task: str, is_category: bool
) -> bool:
    """Return whether the target is a function of one feature."""
    x = np.where(np.isnan(x), np.nanmin(x) - 1.0, x)  # a missing value is a value of its own
    values, index = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return False
    if task == "regression":
        target = y.astype(np.float64)
        centered = target - target.mean()
        total = float(centered @ centered)
        if total == 0.0:
            return False
        if is_category or len(values) * ROWS_PER_VALUE <= len(x):
            means = np.bincount(index, centered) / np.bincount(index)
            return 1.0 - float(np.square(centered - means[index]).sum()) / total > PERFECT_R2
        ranks = np.unique(target, return_inverse=True)[1]
        correlations = (np.corrcoef(x, target)[0, 1], np.corrcoef(index, ranks)[0, 1])
        return bool(max(np.square(correlations)) > PERFECT_R2)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2 or np.bincount(codes).min() < MIN_CLASS_ROWS:
        return False
    lowest, highest = np.full(len(values), len(classes)), np.full(len(values), -1)
    np.minimum.at(lowest, index, codes)
    np.maximum.at(highest, index, codes)
    if np.any(lowest < highest):  # two classes share a value
        return False
    n_runs = 1 + int(np.sum(np.diff(lowest) != 0))
    is_ordered = not is_category and n_runs == len(classes)
    return is_ordered or len(values) * ROWS_PER_VALUE <= len(x)
