"""From rows and a classifier of terms to a frozen model: distances, tolls and the first order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.additive import Examples
from thrifty.model.neighbor_trail import leads
from thrifty.model.neighbors import Neighbors
from thrifty.model.terms import Terms

__all__ = ["column_units", "make_neighbors", "one_order", "tolls"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A term that never moves a score by more than this is none.
NOTHING = 1e-12


def make_neighbors(
    examples: Examples, terms: Terms, prices: BoundPrices, *, k: int, threshold: float, alpha: float
) -> Neighbors:
    """Freeze rows, terms and prices; the first question is chosen on all training rows."""
    toll, entry = tolls(prices, alpha)
    model = Neighbors(
        terms, examples.X, examples.codes, column_units(examples), examples.categories > 0, toll,
        prices.group, entry, np.empty(0, dtype=np.int64), k, threshold,
    )  # fmt: skip
    return model.changed(order=_first_order(model))


def tolls(prices: BoundPrices, alpha: float) -> tuple[Floats, Floats]:
    """What features, and entries to groups, lose in the choice: alpha for the mean price.

    Prices in another unit are the same choice.
    """
    rate = alpha * len(prices.own) / prices.full if prices.full > 0 else 0.0
    return rate * prices.own, rate * prices.shared


def column_units(examples: Examples) -> Floats:
    """One over the standard deviation; for categories, what sets two rows as far apart."""
    units = 1.0 / examples.spread
    for j in np.flatnonzero(examples.categories):
        codes = examples.X[:, j]
        counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64))
        mixed = 1.0 - ((counts / counts.sum()) ** 2).sum()
        units[j] = 2.0 / mixed if mixed > 0 else 1.0
    return units


def one_order(model: Neighbors) -> Whole:
    """The order in which a row buys to which all training rows are near."""
    trail = model.until(1.0).trail()
    # What comes back empty moves no distance, so that all rows stay equally near.
    trail.follow(np.full(model.n_features, np.nan))
    return np.array(trail.bought, dtype=np.int64)


def _first_order(model: Neighbors) -> Whole:
    """Features that do anything, the best single one (eq. 2.1, less its toll) first."""
    alone = model.terms.offset + model.row_terms
    right = leads(alone, model.labels[:, np.newaxis]).mean(axis=0)
    value = right - model.toll - np.append(model.entry, 0.0)[model.group]
    moving = np.flatnonzero((np.abs(model.row_terms) > NOTHING).any(axis=(0, 2)))
    return np.asarray(moving[np.argsort(-value[moving], kind="stable")], dtype=np.int64)
