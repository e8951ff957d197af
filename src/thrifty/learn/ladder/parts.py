"""The models that a rung averages: boosted trees, extra-trees, and a linear model.

Each part is fitted on some of the features. It comes with the scores of the evidence by models that
have not seen it, and, where trees tell, with what each feature is worth to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower, GrownTree
from thrifty.learn.extra_trees import ExtraTrees
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.linear import fit_linear
from thrifty.learn.losses import LambdaLoss, LogLoss, Loss, SquaredLoss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Frozen
from thrifty.model.links import apply_link

__all__ = ["BoostedTrees", "Part", "fit_boosted", "fit_forest", "fit_linear_part", "loss_on"]

Floats = NDArray[np.float64]
Features = NDArray[np.int64]

# On wide tables, a tree reads this many features, drawn anew for each tree.
FEATURES_PER_TREE = 64
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
    def suited_to(cls, rows: LadderRows) -> BoostedTrees:
        """Return settings for a table of this size.

        A high learning rate with many classes ruins the order of the features: on covertype it cost
        5 points of area.
        """
        n = rows.n_train
        few = 5 if n < 1000 else 20
        if rows.task == "ranking" and n < 20_000:
            # NDCG is noisy: with 15 leaves and 80 rounds, LambdaMART lost 0.7 points of it.
            return cls(rounds=50, learning_rate=0.1, max_leaves=8, min_samples_leaf=few)
        fast = n < 20_000 and 0 < rows.n_classes <= 3
        return cls(
            rounds=60 if fast else 80,
            learning_rate=0.2 if fast else 0.1,
            max_leaves=15 if n < 5000 else 31 if n < 20_000 else 63,
            min_samples_leaf=few,
            max_depth=8 if n < 20_000 else 12,
        )

    def fit(
        self, binned: Binned, loss: Loss, rows: LadderRows, features: Features, seed: int
    ) -> tuple[Forest, Floats]:
        """Boost on some features; return the forest and what each feature has gained, (d,)."""
        weight = None if loss.weight is None else loss.weight / loss.weight.mean()
        grower = _SamplingGrower(
            binned,
            Purchases(rows.prices, binned.bins.shape[1], "model"),
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
        split = np.flatnonzero(tree.left >= 0)
        feature = tree.feature[split]
        self._gains.append((feature, tree.gain[split, feature]))
        return tree

    @property
    def gain(self) -> Floats:
        """What each feature has gained in all trees, (d,)."""
        feature, gain = (np.concatenate(part) for part in zip(*self._gains, strict=True))
        return np.bincount(feature, gain, len(self.binned.bins))


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
    """Boost without each fold; the part is the average of these models, no refit.

    The average of three models on two thirds of the rows was better than one model on all rows, by
    0.7 points of area on small tables.
    """
    forests: list[Forest] = []
    gain = np.zeros(rows.X.shape[1])
    bins = iter(rows.bins_to_fit)

    def score(fit: NDArray[np.intp], unseen: NDArray[np.intp]) -> Floats:
        seed = random.randint(2**31)
        forest, gained = settings.fit(next(bins), loss_on(rows, fit), rows, features, seed)
        forests.append(forest)
        np.add(gain, gained, out=gain)
        return np.asarray(forest.raw(rows.X[unseen]))

    raw = rows.crossfit.collect(score)
    model = Forest.average(forests)
    if rows.task == "ranking":
        model, raw = _scale_to_grades(model, raw, rows)
    scores = _on_validation(model, apply_link(model.link, raw), rows)
    return Part(model, scores, gain / max(gain.sum(), TINY))


def fit_forest(
    rows: LadderRows,
    trainer: ExtraTrees,
    features: Features,
    n_trees: int,
    random: np.random.RandomState,
    max_features: int | None = None,
) -> Part:
    """Fit extra-trees on all training rows; they score the evidence out of bag.

    Rows in every bag, which are rare, get the mean of the others; validation rows are in no bag.
    """
    grown = trainer.fit(features, n_trees, random.randint(2**31), max_features=max_features)
    is_training = rows.evidence < rows.n_train
    scores = grown.out_of_bag[rows.evidence[is_training]]
    absent = np.isnan(scores if scores.ndim == 1 else scores[:, 0])
    scores[absent] = np.nanmean(grown.out_of_bag, axis=0)
    if not is_training.all():
        on_validation = grown.forest.score(rows.X[rows.evidence[~is_training]])
        scores = np.concatenate([scores, on_validation])
    return Part(grown.forest, scores, grown.importance)


def fit_linear_part(rows: LadderRows, features: Features) -> Part:
    """Fit a linear model on all training rows; others, without each fold, score the evidence."""

    def fit(some: NDArray[np.intp]) -> Frozen:
        return fit_linear(
            rows.X[some], rows.y[some], rows.n_classes, rows.binned.categorical, features,
            rows.weight_of(some),
        )  # fmt: skip

    scores = rows.crossfit.collect(lambda some, unseen: fit(some).score(rows.X[unseen]))
    model = fit(np.arange(rows.n_train))
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
