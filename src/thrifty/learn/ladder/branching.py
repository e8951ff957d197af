"""Find a feature to branch on: one whose value decides which other features are worth buying.

One order of the features for all rows is not enough where a feature, the context, says which others
matter. It may tell nothing by itself, so neither purity nor gain finds it. A split is therefore
judged by what follows it: small models on the best few features of each side are compared, on
unseen rows, with one small model on the best features of all rows.

A screen picks the splits that are tried. It compares the mutual information of the target with the
best few features of each side: cheap, as tables of counts are all it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.binned import Binned
from thrifty.learn.ladder.parts import BoostedTrees, loss_on
from thrifty.learn.ladder.rows import LadderRows
from thrifty.model.links import MIN_PROBABILITY, apply_link

__all__ = ["Split", "find_split"]

Floats = NDArray[np.float64]

# Features that a small model reads on each side of a split; without the split it may read one more.
FEATURES = 3
# Splits that pass the screen and are tried, rows that a trial fits on and is judged by, and bins.
TRIALS, TRIAL_ROWS, TRIAL_BINS = 4, 4000, 64
# The screen counts values in this many bins, on at most this many rows and features.
SCREEN_BINS, SCREEN_ROWS, SCREEN_FEATURES = 8, 4000, 80
# Where numbers are split, as shares of the rows; categories are split off one by one.
CUTS = (1 / 3, 1 / 2, 2 / 3)
MAX_CATEGORIES = 8
# Fewer rows on a side cannot support a ladder.
FEWEST_ROWS = 150
# What a split must gain: this share of the variance, or nats of log-loss, and standard errors.
LEAST_GAIN = 0.03
SMALL = BoostedTrees(rounds=40, learning_rate=0.2, max_leaves=8, min_samples_leaf=10, max_depth=4)


class Split(NamedTuple):
    """A split on a feature: by a threshold, or by the category of one code.

    Attributes
    ----------
    feature : int
    threshold : float or None
        Values up to it go left; None for a category.
    code : int
        The category that goes left; -1 for a number.
    """

    feature: int
    threshold: float | None
    code: int

    def goes_left(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which rows of X (n, d) go left; missing values go right."""
        column = X[:, self.feature]
        return np.asarray(
            column == self.code if self.threshold is None else column <= self.threshold
        )


def find_split(
    rows: LadderRows, bought: frozenset[int], errors: float, random: np.random.RandomState
) -> Split | None:
    """Return the split that gains most by trial, or None if none is clearly worth it.

    Parameters
    ----------
    rows : LadderRows
    bought : frozenset of int
        Features that are split on already: they are free, for small models too, and may be split
        on again.
    errors : float
        Standard errors that the gain must exceed.
    random : RandomState
    """
    fit, unseen = rows.crossfit.divisions[0]
    if min(len(fit), len(unseen)) < FEWEST_ROWS or rows.X.shape[1] - len(bought) <= FEATURES + 1:
        return None
    fit, unseen = (
        some[np.sort(random.permutation(len(some))[:TRIAL_ROWS])] for some in (fit, unseen)
    )
    screen = _Screen(rows, fit, random)
    ranked = sorted(screen.splits(), key=lambda found: -found[0])
    tried: dict[int, Split] = {}
    for gain, split in ranked:
        if gain > 0 and len(tried) < TRIALS:
            tried.setdefault(split.feature, split)
    if not tried:
        return None
    seed = random.randint(2**31)
    plain = _trial_losses(rows, fit, unseen, bought, FEATURES + 1, seed)
    best, best_gain = None, 0.0
    for split in tried.values():
        after = np.empty(len(unseen))
        left, unseen_left = split.goes_left(rows.X[fit]), split.goes_left(rows.X[unseen])
        for side, of_unseen in ((left, unseen_left), (~left, ~unseen_left)):
            after[of_unseen] = _trial_losses(
                rows, fit[side], unseen[of_unseen], bought | {split.feature}, FEATURES, seed
            )
        saved = plain - after
        error = saved.std(ddof=1) / np.sqrt(len(saved))
        gain = float(saved.mean())
        if gain > max(LEAST_GAIN, errors * error, best_gain):
            best, best_gain = split, gain
    return best


def _trial_losses(
    rows: LadderRows,
    fit: NDArray[np.intp],
    unseen: NDArray[np.intp],
    bought: frozenset[int],
    count: int,
    seed: int,
) -> Floats:
    """Return the loss of each unseen row under a small model on the best few features.

    The model reads what is bought, and the `count` other features that gain most in a model on all
    features. Log-loss for classes; the squared error, as a share of the variance, for numbers.
    """
    binned, loss = rows.binned.take(fit).coarsen(TRIAL_BINS), loss_on(rows, fit)
    known = np.array(sorted(bought), dtype=np.int64)
    _, gain = SMALL.fit(binned, loss, rows.prices, np.arange(rows.X.shape[1]), seed)
    gain[known] = -1.0
    features = np.union1d(np.argsort(-gain, kind="stable")[:count], known)
    forest, _ = SMALL.fit(binned, loss, rows.prices, features, seed)
    scores = apply_link(forest.link, forest.raw(rows.X[unseen]))
    y = rows.y[unseen]
    if rows.n_classes:
        own = scores[np.arange(len(y)), y]
        return np.asarray(-np.log(np.maximum(own, MIN_PROBABILITY)))
    return np.asarray((y - scores) ** 2 / max(float(np.var(rows.y)), MIN_PROBABILITY))


class _Screen:
    """Mutual information of features with the target, for all rows or those on a side of a split.

    Parameters
    ----------
    rows : LadderRows
    fit : int array
        The rows to count.
    random : RandomState
        Draws rows and features where there are many.
    """

    def __init__(
        self,
        rows: LadderRows,
        fit: NDArray[np.intp],
        random: np.random.RandomState,
    ) -> None:
        self.rows, self.fit = rows, fit
        self.sampled = np.sort(random.permutation(len(fit))[:SCREEN_ROWS])
        self.features = np.sort(random.permutation(rows.X.shape[1])[:SCREEN_FEATURES])
        some = fit[self.sampled]
        binned: Binned = rows.binned.take(some).coarsen(SCREEN_BINS)
        self.bins = _few_values(binned.bins[self.features])
        y = rows.y[some]
        if not rows.n_classes:
            y = np.searchsorted(np.quantile(y, np.linspace(0, 1, SCREEN_BINS + 1)[1:-1]), y)
        self.y = y.astype(np.int64)
        self.information = self._information(np.ones(len(self.y), dtype=bool))

    def splits(self) -> Iterator[tuple[float, Split]]:
        """Yield candidate splits with what they gain: information of the best features per side."""
        whole = np.sort(self.information)[-FEATURES - 1 :].sum()
        for feature in self.features.tolist():
            for split in self._candidates(feature):
                left = split.goes_left(self.rows.X[self.fit[self.sampled]])
                if min(left.sum(), (~left).sum()) < FEWEST_ROWS / 2:
                    continue
                after = 0.0
                for side in (left, ~left):
                    own = np.sort(self._information(side))[-FEATURES:].sum()
                    after += float(own) * side.mean()
                yield after - float(whole), split

    def _candidates(self, feature: int) -> Iterator[Split]:
        """Yield the splits of a feature."""
        column = self.rows.X[self.fit[self.sampled], feature]
        values = column[~np.isnan(column)]
        if not len(values):
            return
        if self.rows.binned.categorical[feature]:
            codes, counts = np.unique(values, return_counts=True)
            for code in codes[np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]]:
                yield Split(feature, None, int(code))
            return
        distinct = np.unique(values)
        thresholds = {float(np.quantile(values, cut, method="lower")) for cut in CUTS}
        for threshold in sorted(thresholds):
            above = distinct[distinct > threshold]
            if len(above):
                yield Split(feature, float(threshold / 2 + above[0] / 2), -1)

    def _information(self, side: NDArray[np.bool_]) -> Floats:
        """Return the mutual information of each feature with the target on one side, (f,).

        Corrected for chance: a feature that is independent of the target has 0 on average.
        """
        y, n = self.y[side], int(side.sum())
        n_values, n_classes = SCREEN_BINS + 2, int(self.y.max()) + 1
        found = np.zeros(len(self.bins))
        for k, bins in enumerate(self.bins[:, side]):
            counts = np.bincount(bins * n_classes + y, minlength=n_values * n_classes)
            table = counts.reshape(-1, n_classes).astype(np.float64)
            by_value, by_class = table.sum(axis=1), table.sum(axis=0)
            expected = np.outer(by_value, by_class) / max(n, 1)
            seen = table > 0
            nats = float((table[seen] * np.log(table[seen] / expected[seen])).sum()) / max(n, 1)
            freedom = (np.sum(by_value > 0) - 1) * (np.sum(by_class > 0) - 1)
            found[k] = nats - freedom / (2 * max(n, 1))
        return found


def _few_values(bins: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Number the bins of each feature 0, 1, ...; rare categories and missing values come last."""
    numbered = np.empty(bins.shape, dtype=np.int64)
    for k, column in enumerate(bins):
        counts = np.bincount(column, minlength=256)
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(256, dtype=np.int64)
        rank[order] = np.arange(256)
        numbered[k] = np.minimum(rank[column], SCREEN_BINS + 1)
    return numbered
