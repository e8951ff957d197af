"""Fit additive classifiers, whose scores are sums of one term per feature.

Linear classifiers and boosted stumps are of this form. Every term is centered: its mean over the
training rows is moved to the offset. So a feature that is not bought counts as its mean, and so
does a missing number of a linear classifier.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from thrifty.costs import Prices
from thrifty.learn.base import share_rounds
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.losses import LogLoss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, is_leaf
from thrifty.model.sequential import AdditiveTerms

__all__ = ["BASES", "ScaledTable", "fit_additive", "fit_linear", "fit_stumps"]

Floats = NDArray[np.float64]

BASES = ("logistic", "stumps", "svm")
"""Names of the additive classifiers."""

# Learning rate of the stumps.
LEARNING_RATE = 0.1
# Rows on each side of a stump; at most a quarter of a small table.
MIN_SAMPLES_LEAF = 5
# More classes, each of which has stumps of its own, share those of so many.
MANY_CLASSES = 150
# Iterations after which the linear solvers give up.
MAX_ITER_LOGISTIC, MAX_ITER_SVM = 2_000, 20_000


@dataclass(frozen=True, eq=False)
class ScaledTable:
    """The training rows in double precision, with the center and spread of each column.

    Parameters
    ----------
    X : float64 array of shape (n, d)
        Encoded rows.
    y : int64 array of shape (n,)
        Class codes.
    n_classes : int
    n_categories : int64 array of shape (d,)
        Number of categories of each column; 0 for a column of numbers.
    center : float64 array of shape (d,)
        Mean of each column of numbers; 0 for categories.
    spread : float64 array of shape (d,)
        Standard deviation of each column; 1 for a constant one.
    """

    X: Floats
    y: NDArray[np.int64]
    n_classes: int
    n_categories: NDArray[np.int64]
    center: Floats
    spread: Floats

    @classmethod
    def of(cls, train: TrainingSet) -> Self:
        """Measure the columns of a training set; sample weights play no part."""
        X = np.asarray(train.X, dtype=np.float64)
        n_categories = np.array([len(column.categories or ()) for column in train.schema.columns])
        center = np.where(n_categories > 0, 0.0, np.nanmean(X, axis=0))
        spread = np.nanstd(X, axis=0)
        spread = np.where(spread > 0, spread, 1.0)
        return cls(X, train.y, train.n_classes, n_categories, center, spread)

    def distance_units(self) -> Floats:
        """Return the distance per unit of each column, (d,): one over its standard deviation.

        For categories it is the squared distance of two unequal ones, chosen such that two random
        rows are as far apart, on average, as they are on a column of numbers.
        """
        units = 1.0 / self.spread
        for j in np.flatnonzero(self.n_categories):
            codes = self.X[:, j]
            counts = np.bincount(codes[~np.isnan(codes)].astype(np.int64))
            p_unequal = 1.0 - ((counts / counts.sum()) ** 2).sum()
            units[j] = 2.0 / p_unequal if p_unequal > 0 else 1.0
        return units


def fit_additive(
    base: str, table: ScaledTable, *, C: float, n_estimators: int, random_state: Any
) -> AdditiveTerms:
    """Fit one of `BASES`.

    Parameters
    ----------
    base : {"logistic", "stumps", "svm"}
    table : ScaledTable
    C : float
        Inverse regularization of the linear classifiers.
    n_estimators : int
        Number of stumps, for each class if there are more than two. More than 150 classes share
        the stumps of 150.
    random_state : int, RandomState or None
    """
    if base == "stumps":
        rounds = share_rounds(
            n_estimators, table.n_classes, MANY_CLASSES, "n_estimators", "rounds of stumps"
        )
        return fit_stumps(table, rounds, random_state)
    if base == "logistic":
        return fit_linear(LogisticRegression(C=C, max_iter=MAX_ITER_LOGISTIC), table)
    return fit_linear(LinearSVC(C=C, max_iter=MAX_ITER_SVM, random_state=random_state), table)


def fit_linear(classifier: Any, table: ScaledTable) -> AdditiveTerms:
    """Fit a linear classifier of scikit-learn to standard scores and one-hot encoded categories.

    A missing number becomes the mean, a missing category has no indicator.
    """
    columns = []
    for x, count, center, spread in zip(
        table.X.T, table.n_categories, table.center, table.spread, strict=True
    ):
        if count:
            columns.append((x[:, np.newaxis] == np.arange(count)).astype(np.float64))
        else:
            scores = (x[:, np.newaxis] - center) / spread
            columns.append(np.where(np.isnan(scores), 0.0, scores))
    classifier.fit(np.hstack(columns), table.y)
    # The weights of each column: one for numbers, one per category otherwise.
    widths = np.maximum(table.n_categories, 1)
    weights = np.split(classifier.coef_.T, np.cumsum(widths)[:-1])
    d, c = len(widths), classifier.coef_.shape[0]
    slope = np.zeros((d, c))
    steps = [*weights]
    for j in np.flatnonzero(table.n_categories == 0):
        slope[j] = weights[j][0] / table.spread[j]
        steps[j] = np.zeros((1, c))
    edges = _category_edges(table)
    offset, absent = classifier.intercept_, np.zeros((d, c))
    return _centered_terms(table.X, offset, table.center, slope, edges, steps, absent)


def fit_stumps(table: ScaledTable, n_estimators: int, random_state: Any) -> AdditiveTerms:
    """Boost stumps on the log loss; each reads one feature, so their sums are terms."""
    random = check_random_state(random_state)
    n, d = table.X.shape
    grower = Grower(
        Binned.of(table.X, table.n_categories > 0, random),
        Purchases(Prices().bind(d), n, "model"),
        max_depth=1,
        min_samples_leaf=min(MIN_SAMPLES_LEAF, max(1, n // 4)),
    )
    boosting = Boosting(LogLoss(table.y, None, table.n_classes), grower, LEARNING_RATE)
    boosting.boost(n_estimators)
    return _add_up_stumps(boosting.freeze(), table)


def _add_up_stumps(forest: Forest, table: ScaledTable) -> AdditiveTerms:
    """Add up the stumps of each feature, step by step."""
    d, c = forest.n_features, len(forest.base)
    has_no_split = is_leaf(forest.nodes)[forest.roots]
    stumps = np.flatnonzero(~has_no_split)
    splits = forest.nodes[forest.roots[stumps]]
    feature = splits["feature"] & INDEX
    edges = _category_edges(table)
    for j in np.flatnonzero(table.n_categories == 0):
        edges[j] = np.unique(splits["threshold"][feature == j])
    steps = [np.zeros((len(part) + 1, c)) for part in edges]
    absent = np.zeros((d, c))
    for split, j, tree in zip(splits, feature, stumps, strict=True):
        left, right = forest.values[split["child"] : split["child"] + 2, 0]
        step = np.arange(len(edges[j]) + 1)
        if split["feature"] & CATEGORICAL:
            words = forest.subsets[int(split["threshold"])]
            bit = np.uint64(1) << (step % 64).astype(np.uint64)
            goes_left = (words[step // 64] & bit) != 0
        else:
            goes_left = step <= np.searchsorted(edges[j], split["threshold"])
        output = forest.outputs[tree]
        steps[j][:, output] += np.where(goes_left, left, right)
        absent[j, output] += left if split["feature"] & MISSING_LEFT else right
    # Trees that found no split are constants.
    offset = forest.base.copy()
    constants = forest.values[forest.roots[has_no_split], 0]
    np.add.at(offset, forest.outputs[has_no_split], constants)
    return _centered_terms(table.X, offset, np.zeros(d), np.zeros((d, c)), edges, steps, absent)


def _category_edges(table: ScaledTable) -> list[Floats]:
    """Return the edges between the codes of each column; none for a column of numbers."""
    return [np.arange(width - 1) + 0.5 for width in np.maximum(table.n_categories, 1)]


def _centered_terms(
    X: Floats,
    offset: Floats,
    center: Floats,
    slope: Floats,
    edges: list[Floats],
    steps: list[Floats],
    absent: Floats,
) -> AdditiveTerms:
    """Build terms whose means over the rows X (n, d) are 0; the means go to the offset.

    `edges` and `steps` are lists by feature; the others are as in `AdditiveTerms`. A feature that
    was never missing in training has a term of 0, its mean, when it is missing.
    """
    starts = np.concatenate([[0], np.cumsum([len(part) for part in edges])])
    terms = AdditiveTerms(
        offset, center, slope, starts, np.concatenate(edges), np.concatenate(steps), absent
    )
    present = ~np.isnan(X)
    found = np.where(present[:, :, np.newaxis], terms.evaluate(X), 0.0)
    mean = found.sum(axis=0) / present.sum(axis=0)[:, np.newaxis]
    learned_absent = (terms.absent != 0.0).any(axis=1) & ~present.all(axis=0)
    return replace(
        terms,
        offset=terms.offset + mean.sum(axis=0),
        steps=terms.steps - np.repeat(mean, np.diff(terms.starts) + 1, axis=0),
        absent=np.where(learned_absent[:, np.newaxis], terms.absent - mean, 0.0),
    )
