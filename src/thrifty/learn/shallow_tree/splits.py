"""The questions that a small tree may ask of a row: a threshold, a category, a missing value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.forest.nodes import CATEGORICAL, MISSING_LEFT

__all__ = ["Splits"]

# Thresholds of a feature, at quantiles of its distinct values and rows; categories of a feature.
MAX_THRESHOLDS = 8
MAX_CATEGORIES = 8


@dataclass(frozen=True, eq=False)
class Splits:
    """Questions with the answer yes or no.

    Parameters
    ----------
    feature : int array of shape (m,)
        The feature that each question reads.
    threshold : array of shape (m,)
        Rows with values up to it answer yes; for a category, rows with this code.
    is_category : bool array of shape (m,)
        Whether the threshold is the code of a category.
    missing_yes : bool array of shape (m,)
        Whether rows without a value answer yes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.shallow_tree import Splits
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 2.0]])
    >>> splits = Splits.of(X, np.array([False, True]))
    >>> splits.feature
    array([0, 0, 0, 1, 1, 1])
    >>> splits.answers(X).astype(int)
    array([[1, 1, 1, 1, 0, 0],
           [0, 0, 1, 0, 1, 0],
           [0, 1, 0, 0, 0, 1]])
    """

    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    is_category: NDArray[np.bool_]
    missing_yes: NDArray[np.bool_]

    @classmethod
    def of(cls, X: NDArray[np.floating], categorical: NDArray[np.bool_]) -> Self:
        """Choose questions for the columns of an encoded table."""
        found: list[tuple[int, float, bool, bool]] = []
        for j in range(X.shape[1]):
            column = X[:, j].astype(np.float64)
            known = column[~np.isnan(column)]
            has_missing = len(known) < len(column)
            values, counts = np.unique(known, return_counts=True)
            if categorical[j]:
                common = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
                found += [(j, float(values[c]), True, False) for c in np.sort(common)]
                cuts = []
            else:
                cuts = _cuts(values, counts)
                found += [(j, cut, False, False) for cut in cuts]
            if has_missing:
                found += [(j, cut, False, True) for cut in cuts]
                if len(known):  # known or missing
                    found.append((j, np.inf, False, False))
        feature, threshold, is_category, missing_yes = (
            np.array([entry[k] for entry in found], dtype=dtype)
            for k, dtype in enumerate((np.int64, np.float64, bool, bool))
        )
        return cls(feature, threshold, is_category, missing_yes)

    def __len__(self) -> int:
        return len(self.feature)

    def answers(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return whether rows answer yes, (n, m)."""
        values = X[:, self.feature].astype(np.float64)
        yes = np.where(self.is_category, values == self.threshold, values <= self.threshold)
        missing = np.isnan(values)
        yes[missing] = np.broadcast_to(self.missing_yes, yes.shape)[missing]
        return np.asarray(yes)

    def node(self, split: int, subset: int) -> tuple[float, int]:
        """Return threshold and feature of a forest's node; a category is the subset `subset`."""
        flags = MISSING_LEFT if self.missing_yes[split] else 0
        if self.is_category[split]:
            return float(subset), int(self.feature[split]) | CATEGORICAL | flags
        threshold = min(float(self.threshold[split]), float(np.finfo(np.float64).max))
        return threshold, int(self.feature[split]) | flags


def _cuts(values: NDArray[np.float64], counts: NDArray[np.int64]) -> list[float]:
    """Return thresholds between distinct values, with about as many rows between them."""
    if len(values) < 2:
        return []
    middles = (values[1:] + values[:-1]) / 2
    if len(middles) <= MAX_THRESHOLDS:
        return [float(middle) for middle in middles]
    share = np.cumsum(counts)[:-1] / counts.sum()
    places = np.searchsorted(share, np.arange(1, MAX_THRESHOLDS + 1) / (MAX_THRESHOLDS + 1))
    return [float(middles[p]) for p in np.unique(np.minimum(places, len(middles) - 1))]
