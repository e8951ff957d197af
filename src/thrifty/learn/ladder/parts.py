"""The models that a rung averages: boosted trees, extra-trees, and a linear model.

Each part is fitted on some of the features. It comes with the scores of the evidence by models that
have not seen it, and, where trees tell, with what each feature is worth to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.crossfit import LARGE
from thrifty.learn.extra_trees import ExtraTrees
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.linear import fit_linear
from thrifty.learn.losses import LambdaLoss, LogLoss, Loss, SquaredLoss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Frozen
from thrifty.model.forest.nodes import is_leaf
from thrifty.model.links import apply_link

__all__ = [
    "BoostedTrees",
    "ForestSettings",
    "LightlyDampedLogLoss",
    "Part",
    "extra_trees",
    "fit_boosted",
    "fit_forest",
    "fit_linear_part",
    "loss_on",
]

Floats = NDArray[np.float64]
Features = NDArray[np.int64]

# On wide tables, a tree reads this many features, drawn anew for each tree.
FEATURES_PER_TREE = 64
# Where evidence is held out, trees need no bags to score it. Draws of a bag per row: 98 % of the
# rows are in it, and a third of the trees is as good as all of them on bags of 63 %.
DRAWS_PER_ROW = 4
SHARE_OF_TREES = 1 / 3
# From so many rows on, trees are large, and a model is kept small where that costs nothing. Below
# the two top rungs, 60 % of the trees do. With few features, rows of different classes are too
# alike to tell apart: leaves of at least three rows are as good, and a third as many. So they are
# for values on large tables.
MANY_ROWS = 4000
SHARE_BELOW_TOP = 0.6
# On the sides of a split, where the rungs of the plain ladder may be climbed as well.
# There, boosted models are averages over the folds: fewer rounds keep walks short.
SHARE_ON_SIDES, ROUNDS_ON_SIDES = 0.5, 0.75
FEW_FEATURES = 4
NOISY_LEAF = 3
# A round grows a tree for each class. With more classes than these, rounds are fewer, or they would
# take most of the time; the forests of the same rung tell the classes apart as well.
MANY_CLASSES = 30
MAX_TREES = 1200
MIN_ROUNDS = 5
# Trees for values try all features at a node, but not of so many: then they try a part.
MANY_FEATURES, PART_TRIED = 1000, 200
# A forest of constants gains nothing: its shares are 0.
TINY = 1e-300


class Part(NamedTuple):
    """A fitted part of a rung.

    `model` predicts; `scores` are those of the evidence by models that have not seen it, (m, K) or
    (m,); `importance` (d,) is the share of each feature in what the trees gain, or None.
    """

    model: Frozen
    scores: Floats
    importance: Floats | None


@dataclass(frozen=True)
class BoostedTrees:
    """How to boost.

    Parameters
    ----------
    rounds : int
    learning_rate : float
    max_leaves : int
        Largest number of leaves of a tree.
    min_samples_leaf : float
        Smallest weight of a leaf.
    max_depth : int
    """

    rounds: int
    learning_rate: float
    max_leaves: int
    min_samples_leaf: float
    max_depth: int = 8

    @classmethod
    def suited_to(cls, rows: LadderRows, is_top: bool = True) -> BoostedTrees:
        """Return settings for a table of this size, and for one of the two top rungs or others.

        A high learning rate with many classes ruins the order of the features: on covertype it cost
        5 points of area. On large tables, 60 rounds at a rate of 0.15 are as good as 80 at 0.1.
        On many features, larger trees gain some tenths of a point; further down, they only take
        longer.
        """
        if rows.is_side:
            whole = cls.suited_to(replace(rows, is_side=False), is_top)
            rounds = math.ceil(ROUNDS_ON_SIDES * whole.rounds)
            rate = whole.learning_rate / ROUNDS_ON_SIDES
            return replace(whole, rounds=rounds, learning_rate=rate)
        return cls.for_size(rows.n_train, rows.n_classes, rows.task, rows.is_wide, is_top)

    @classmethod
    def for_size(
        cls, n: int, n_classes: int, task: str, is_wide: bool = True, is_top: bool = True
    ) -> BoostedTrees:
        """Return settings for n rows; see `suited_to`."""
        if n_classes > MANY_CLASSES:
            rounds = max(MAX_TREES // n_classes, MIN_ROUNDS)
            leaf = 5 if n < 1000 else 20
            return cls(rounds, learning_rate=0.2, max_leaves=15, min_samples_leaf=leaf)
        is_large, few_classes = n >= LARGE, 0 < n_classes <= 3
        wants_large_trees = n >= 5000 or (is_top and n >= 1000 and not is_wide)
        if is_wide and not is_large and not few_classes:
            return cls(rounds=40, learning_rate=0.18, max_leaves=15, min_samples_leaf=20)
        if task == "ranking" and not is_large:
            # NDCG is noisy: with 15 leaves and 80 rounds, LambdaMART lost 0.7 points of it.
            few = 5 if n < 1000 else 20
            return cls(rounds=50, learning_rate=0.1, max_leaves=8, min_samples_leaf=few)
        return cls(
            rounds=60 if is_large or few_classes else 80,
            learning_rate=0.15 if is_large else 0.2 if few_classes else 0.1,
            max_leaves=63 if is_large else 31 if wants_large_trees else 15,
            min_samples_leaf=5 if n < 1000 else 20,
            max_depth=12 if is_large else 8,
        )

    def fit(
        self, binned: Binned, loss: Loss, prices: BoundPrices, features: Features, seed: int
    ) -> tuple[Forest, Floats]:
        """Boost on some features; return the forest and what each feature has gained, (d,)."""
        weight = None if loss.weight is None else loss.weight / loss.weight.mean()
        grower = _SamplingGrower(
            binned,
            Purchases(prices, binned.n_rows, "model"),
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_samples_leaf=self.min_samples_leaf,
            weight=weight,
        )
        grower.sample_from(features, seed)
        boosting = Boosting(loss, grower, self.learning_rate)
        boosting.boost(self.rounds)
        return boosting.freeze(), grower.gain


class _SamplingGrower(Grower):
    """A grower that draws the features of each tree and sums up what each gains."""

    def sample_from(self, features: Features, seed: int) -> None:
        """Set the features that trees may read, and the seed that draws those of a tree."""
        self.allowed, self.random = features, np.random.RandomState(seed)
        self._gains: list[tuple[NDArray[np.int32], Floats]] = []

    def grow(self, target: Floats) -> GrownTree:
        """Grow a tree and keep the gains of its splits."""
        self.features = self.allowed
        if len(self.allowed) > FEATURES_PER_TREE:
            drawn = self.random.choice(len(self.allowed), FEATURES_PER_TREE, replace=False)
            self.features = self.allowed[np.sort(drawn)]
        tree = super().grow(target)
        (split,) = (tree.left >= 0).nonzero()
        feature = tree.feature[split]
        self._gains.append((feature, tree.gain[split, feature]))
        return tree

    @property
    def gain(self) -> Floats:
        """What each feature has gained in all trees, (d,)."""
        feature, gain = (np.concatenate(part) for part in zip(*self._gains, strict=True))
        return np.asarray(np.bincount(feature, gain, self.binned.n_features), dtype=np.float64)


class LightlyDampedLogLoss(LogLoss):
    """Damps the steps of small, pure leaves less: it takes fewer rounds to fit the rows."""

    damping = 0.1


def loss_on(rows: LadderRows, some: NDArray[np.intp]) -> Loss:
    """Bind the loss of the task to the target and the weights of some rows."""
    y, weight = rows.y[some], rows.weight_of(some)
    if rows.task == "classification":
        return LightlyDampedLogLoss(y, weight, rows.n_classes)
    if rows.task == "regression":
        return SquaredLoss(y, weight)
    assert rows.query is not None
    _, query = np.unique(rows.query[some], return_inverse=True)
    return LambdaLoss(y, weight, query)


def fit_boosted(
    rows: LadderRows, features: Features, settings: BoostedTrees, random: np.random.RandomState
) -> Part:
    """Boost without each fold, to score the evidence, and make one model of it.

    On few rows it is the average of these models, which was better than one model on all rows by
    0.7 points of area. From a thousand rows on, one model on all rows is better by 0.1 to 0.3
    points at the full price, and smaller.
    """
    forests: list[Forest] = []
    gain = np.zeros(rows.X.shape[1])

    def boost(binned: Binned, fit: NDArray[np.intp]) -> Forest:
        seed = random.randint(2**31)
        forest, gained = settings.fit(binned, loss_on(rows, fit), rows.prices, features, seed)
        np.add(gain, gained, out=gain)
        return forest

    bins = iter(rows.bins_to_fit)

    def score(fit: NDArray[np.intp], unseen: NDArray[np.intp]) -> Floats:
        forests.append(boost(next(bins), fit))
        return np.asarray(forests[-1].raw(rows.X[unseen]))

    raw = rows.crossfit.collect(score)
    if rows.refits:
        every = np.arange(0, rows.n_train, round(1 / rows.share))
        model = boost(rows.binned.take(every), every)
    else:
        model = Forest.average(forests)
    if rows.task == "ranking":
        model, raw = _scale_to_grades(model, raw, rows)
    scores = _on_validation(model, apply_link(model.link, raw), rows)
    return Part(model, scores, gain / max(gain.sum(), TINY))


@dataclass(frozen=True)
class ForestSettings:
    """How to grow extra-trees.

    Parameters
    ----------
    n_trees : int
    max_features : int or None
        How many features are tried at a node; None for the default of `ExtraTrees.fit`.
    bag : int or None
        How many rows are drawn for each tree, with replacement; None for as many as there are.
    min_samples_leaf : int
        Smallest number of rows of a leaf.
    """

    n_trees: int
    max_features: int | None = None
    bag: int | None = None
    min_samples_leaf: int = 1

    @classmethod
    def suited_to(
        cls, rows: LadderRows, n_features: int, n_trees: int, is_top: bool = True
    ) -> ForestSettings:
        """Return settings for a table of this size.

        Parameters
        ----------
        rows : LadderRows
        n_features : int
            Features that the trees may read.
        n_trees : int
            Trees on a small table, whose rows are scored by the third of the trees that have not
            seen them.
        is_top : bool
            Whether the rung is one of the two top ones.
        """
        if rows.is_side:
            n_trees = math.ceil(SHARE_ON_SIDES * n_trees)
        sample = None if rows.share == 1 else math.ceil(rows.share * rows.n_train)
        tried = PART_TRIED if not rows.n_classes and n_features > MANY_FEATURES else None
        if rows.n_train < MANY_ROWS and not len(rows.held_out):
            return cls(n_trees, tried, sample)
        leaf = NOISY_LEAF if n_features <= FEW_FEATURES else 1
        if not len(rows.held_out):
            share = 1.0 if is_top else SHARE_BELOW_TOP
            return cls(math.ceil(share * n_trees), tried, sample, leaf)
        return cls(
            n_trees=math.ceil(SHARE_OF_TREES * n_trees),
            max_features=tried or math.ceil(n_features / 2),
            bag=sample or DRAWS_PER_ROW * rows.n_train,
            min_samples_leaf=leaf if rows.n_classes else NOISY_LEAF,
        )


def extra_trees(rows: LadderRows) -> ExtraTrees:
    """Return what grows forests on the training rows, without those held out as evidence."""
    train = np.arange(rows.n_train)
    weight = rows.weight_of(train)
    if len(rows.held_out):
        weight = np.ones(rows.n_train) if weight is None else weight.copy()
        weight[rows.held_out] = 0.0
    return ExtraTrees(
        rows.binned,
        rows.y[train] if rows.n_classes else rows.y[train].astype(np.float64),
        rows.n_classes,
        weight,
        None if rows.groups is None else rows.groups[train],
    )


def fit_forest(
    rows: LadderRows,
    trainer: ExtraTrees,
    features: Features,
    settings: ForestSettings,
    random: np.random.RandomState,
) -> Part:
    """Fit extra-trees; they score the evidence out of bag.

    Rows in every bag, which are rare, get the mean of the others; validation rows are in no bag.
    """
    grown = trainer.fit(
        features,
        settings.n_trees,
        random.randint(2**31),
        max_features=settings.max_features,
        bag=settings.bag,
        min_samples_leaf=settings.min_samples_leaf,
    )
    is_training = rows.evidence < rows.n_train
    scores = grown.out_of_bag[rows.evidence[is_training]]
    absent = np.isnan(scores if scores.ndim == 1 else scores[:, 0])
    scores[absent] = np.nanmean(grown.out_of_bag, axis=0)
    if not is_training.all():
        on_validation = grown.forest.score(rows.X[rows.evidence[~is_training]])
        scores = np.concatenate([scores, on_validation])
    return Part(_without_inner_values(grown.forest), scores, grown.importance)


def _without_inner_values(forest: Forest) -> Forest:
    """Set the values of splits to 0: an average never stops there, and files get half the size."""
    values = forest.values.copy()
    values[~is_leaf(forest.nodes)] = 0.0
    return replace(forest, values=values)


def fit_linear_part(rows: LadderRows, features: Features) -> Part:
    """Fit a linear model on all training rows; others, without each fold, score the evidence."""

    def fit(some: NDArray[np.intp]) -> Frozen:
        return fit_linear(
            rows.X[some], rows.y[some], rows.n_classes, rows.binned.categorical, features,
            rows.weight_of(some),
        )  # fmt: skip

    scores = rows.crossfit.collect(lambda some, unseen: fit(some).score(rows.X[unseen]))
    model = fit(np.arange(0, rows.n_train, round(1 / rows.share)))
    return Part(model, _on_validation(model, scores, rows), None)


def _on_validation(model: Frozen, scores: Floats, rows: LadderRows) -> Floats:
    """Score the validation rows, which no model has seen, with the model as it is used."""
    validation = rows.evidence >= rows.n_train
    if validation.any():
        scores[validation] = model.score(rows.X[rows.evidence[validation]])
    return scores


def _scale_to_grades(model: Forest, raw: Floats, rows: LadderRows) -> tuple[Forest, Floats]:
    """Scale the outputs of LambdaMART, which have no unit, to predict grades by least squares.

    Scores of different rungs, and of other parts, can be compared then. The order stays: a negative
    slope, of a model that is worse than chance, becomes 0.
    """
    values, weight = raw[:, 0], rows.evidence_weight
    mean, grade = np.average(values, weights=weight), np.average(rows.evidence_y, weights=weight)
    spread = np.average((values - mean) ** 2, weights=weight)
    moment = np.average((values - mean) * (rows.evidence_y - grade), weights=weight)
    slope = max(0.0, float(moment / spread)) if spread > 0 else 0.0
    offset = float(grade - slope * mean)
    scaled = replace(model, values=slope * model.values, base=slope * model.base + offset)
    return scaled, slope * raw + offset
