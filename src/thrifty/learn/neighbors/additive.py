"""Classifiers whose scores are sums of one term a feature: linear ones and boosted stumps.

Every term is centered: its mean over the training rows goes to the offset. So a feature that is
not bought counts as its mean, and so does a missing number of a linear classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from thrifty.costs import Prices
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.losses import LogLoss
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, MISSING_LEFT, is_leaf
from thrifty.model.sequential.additive_terms import Terms

__all__ = ["BASES", "Examples", "Settings"]

Floats = NDArray[np.float64]

LEARNING_RATE = 0.1
# Rows on each side of a stump, or a quarter of the rows where there are few.
MIN_LEAF = 5


@dataclass(frozen=True, eq=False)
class Examples:
    """Encoded rows, their class numbers, and how many categories each column has (0: numbers)."""

    X: Floats
    codes: NDArray[np.int64]
    n_classes: int
    categories: NDArray[np.int64]

    @cached_property
    def center(self) -> Floats:
        """Mean of each column of numbers; 0 for categories."""
        return np.where(self.categories > 0, 0.0, np.nanmean(self.X, axis=0))

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of each column; 1 where nothing varies."""
        spread = np.nanstd(self.X, axis=0)
        return np.where(spread > 0, spread, 1.0)


@dataclass(frozen=True)
class Settings:
    """What the classifiers leave open: `C` of the linear ones, `rounds` of the stumps."""

    C: float
    rounds: int
    random_state: Any


def fit_logistic(examples: Examples, settings: Settings) -> Terms:
    """Logistic regression, multinomial for more than two classes."""
    return _linear(LogisticRegression(C=settings.C, max_iter=2000), examples)


def fit_svm(examples: Examples, settings: Settings) -> Terms:
    """Linear support vector machine, one class against the rest for more than two classes."""
    machine = LinearSVC(C=settings.C, max_iter=20_000, random_state=settings.random_state)
    return _linear(machine, examples)


def fit_stumps(examples: Examples, settings: Settings) -> Terms:
    """Boosted stumps on the log-loss; each asks one feature, so their sums are terms."""
    random = check_random_state(settings.random_state)
    n, d = examples.X.shape
    binned = Binned.of(examples.X, examples.categories > 0, random)
    grower = Grower(
        binned,
        Bought(Prices().bind(d), n, "model"),
        max_depth=1,
        min_samples_leaf=min(MIN_LEAF, max(1, n // 4)),
    )
    loss = LogLoss(examples.codes, None, examples.n_classes)
    boosting = Boosting(loss, grower, LEARNING_RATE)
    boosting.boost(settings.rounds)
    return _centered(_terms_of_stumps(boosting.freeze(), examples.categories), examples.X)


BASES: dict[str, Callable[[Examples, Settings], Terms]] = {
    "logistic": fit_logistic,
    "stumps": fit_stumps,
    "svm": fit_svm,
}


def _linear(machine: Any, examples: Examples) -> Terms:
    machine.fit(np.hstack(_design(examples)), examples.codes)
    weights = machine.coef_.T
    d, c = len(examples.categories), weights.shape[1]
    widths = np.maximum(examples.categories, 1)
    parts = np.split(weights, np.cumsum(widths)[:-1])
    numbers = examples.categories == 0
    slope = np.zeros((d, c))
    for j in np.flatnonzero(numbers):
        slope[j] = parts[j][0] / examples.spread[j]
    steps = [
        np.zeros((1, c)) if plain else part for plain, part in zip(numbers, parts, strict=True)
    ]
    terms = _assemble(machine.intercept_, examples.center, slope, _code_edges(widths), steps)
    return _centered(terms, examples.X)


def _design(examples: Examples) -> list[Floats]:
    """Columns for a linear classifier: standard scores, or one indicator a category."""
    columns = []
    for j, count in enumerate(examples.categories):
        x = examples.X[:, j : j + 1]
        if count:
            columns.append((x == np.arange(count)).astype(np.float64))
        else:
            scores = (x - examples.center[j]) / examples.spread[j]
            columns.append(np.where(np.isnan(scores), 0.0, scores))
    return columns


def _code_edges(widths: NDArray[np.int64]) -> list[Floats]:
    return [np.arange(width - 1) + 0.5 for width in widths]


def _assemble(
    offset: Floats, center: Floats, slope: Floats, edges: list[Floats], steps: list[Floats]
) -> Terms:
    starts = np.concatenate([[0], np.cumsum([len(part) for part in edges])])
    absent = np.zeros_like(slope)
    return Terms(
        offset, center, slope, starts, np.concatenate(edges), np.concatenate(steps), absent
    )


def _terms_of_stumps(forest: Forest, categories: NDArray[np.int64]) -> Terms:
    """Add up the stumps of each feature, step by step."""
    d, c = forest.n_features, len(forest.base)
    leaf = is_leaf(forest.nodes)
    stumps = np.flatnonzero(~leaf[forest.roots])
    splits = forest.nodes[forest.roots[stumps]]
    feature = splits["feature"] & INDEX
    edges = _code_edges(np.maximum(categories, 1))
    for j in np.flatnonzero(categories == 0):
        edges[j] = np.unique(splits["threshold"][feature == j])
    steps = [np.zeros((len(part) + 1, c)) for part in edges]
    absent = np.zeros((d, c))
    for split, j, tree in zip(splits, feature, stumps, strict=True):
        left, right = forest.values[split["child"] : split["child"] + 2, 0]
        output = forest.outputs[tree]
        goes_left = _steps_left(forest, split, edges[j])
        steps[j][:, output] += np.where(goes_left, left, right)
        absent[j, output] += left if split["feature"] & MISSING_LEFT else right
    terms = _assemble(_constant(forest, leaf), np.zeros(d), np.zeros((d, c)), edges, steps)
    return replace(terms, absent=absent)


def _steps_left(forest: Forest, split: Any, edges: Floats) -> NDArray[np.bool_]:
    """Which steps of a feature a stump sends to the left."""
    step = np.arange(len(edges) + 1)
    if not split["feature"] & CATEGORICAL:
        return np.asarray(step <= np.searchsorted(edges, split["threshold"]))
    words = forest.subsets[int(split["threshold"])]
    bit = np.uint64(1) << (step % 64).astype(np.uint64)
    return np.asarray((words[step // 64] & bit) != 0)


def _constant(forest: Forest, leaf: NDArray[np.bool_]) -> Floats:
    """The base, and trees that found no split."""
    offset = forest.base.copy()
    alone = leaf[forest.roots]
    np.add.at(offset, forest.outputs[alone], forest.values[forest.roots[alone], 0])
    return offset


def _centered(terms: Terms, X: Floats) -> Terms:
    """Move the mean of every term to the offset; what was never missing is missed at its mean."""
    present = ~np.isnan(X)
    found = np.where(present[:, :, np.newaxis], terms.of(X), 0.0)
    mean = found.sum(axis=0) / present.sum(axis=0)[:, np.newaxis]
    seen = (terms.absent != 0.0).any(axis=1) & ~present.all(axis=0)
    return replace(
        terms,
        offset=terms.offset + mean.sum(axis=0),
        steps=terms.steps - np.repeat(mean, np.diff(terms.starts) + 1, axis=0),
        absent=np.where(seen[:, np.newaxis], terms.absent - mean, 0.0),
    )
