"""AFR: one classifier for every budget (Xu 2014, sec. 2.2, algorithm 4)."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.costs.money import as_float
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.anytime.representation import Representation, RowSplit
from thrifty.learn.anytime.stages import (
    affordable_stage,
    constant_stage,
    freeze_stage,
    thin_checkpoints,
)
from thrifty.learn.anytime.training import penalty_schedule, train_representations
from thrifty.learn.anytime.trees import DimensionTrees
from thrifty.learn.base import PRICE_LISTS, PricedClassifier
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.point import Point
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Stages

__all__ = ["AnytimeClassifier"]


class AnytimeClassifier(PricedClassifier):
    """A classifier that can be stopped at any cost: stage by stage it reads more features.

    The budget need not be known when the model is trained. An example goes from stage to stage;
    each stage reads more features and is more accurate, and whenever the example is stopped, the
    last complete stage makes the prediction. A stage is a linear SVM on a representation of boosted
    trees. With more than two classes, each class has a representation against the rest, and all
    share the features that are bought.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        Prices of the features; by default each costs one unit.
    penalty : float, optional
        Mean loss that one unit of price must save at the start of the training (lambda). It is
        halved again and again, and is 0 in the end. By default 0.75 times the largest penalty at
        which a first split is worth its price.
    dimensions : int
        Maximum number of dimensions that a representation gains at each penalty (S).
    n_estimators : int
        Maximum number of trees that are added to each dimension (T).
    learning_rate : float
        Factor for each tree (eta).
    max_depth : int
        Maximum depth of a tree, at most 12.
    min_samples_leaf : float
        Minimum number of rows, or sum of their weights, in a leaf.
    confidence : float, optional
        A row stops as soon as a stage gives a class this probability (Xu 2014, sec. 2.2.4,
        footnote 4). By default it goes on for as long as its budget allows.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Seed of the hashes that split the rows.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Stages
        The frozen model; its first rung reads nothing and predicts the class shares.

    Notes
    -----
    The rows are split 50/40/10: half of them fit the SVMs, 40 % measure the error that the
    representation is trained to reduce, and 10 % stop the training early and calibrate the
    probabilities of each stage (Platt scaling).

    A price per evaluation is charged for every tree of the last stage that an example reaches: the
    trees of earlier stages are among them, and their outputs are only weighed again.

    Examples
    --------
    One model, three budgets. The first feature alone classifies 61 % of the rows correctly, the
    first two all of them. No row costs more than its budget:

    >>> import numpy as np
    >>> from thrifty import AnytimeClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 0] + 2.0 * X[:, 1] > 0
    >>> model = AnytimeClassifier(Prices([1.0, 5.0, 5.0]), random_state=0).fit(X, y)
    >>> for budget in (0.0, 1.0, 6.0):
    ...     accuracy = np.mean(model.predict(X, budget=budget) == y)
    ...     print(budget, model.bill(X, budget=budget).max(), accuracy.round(2))
    0.0 0.0 0.51
    1.0 1.0 0.61
    6.0 6.0 1.0
    """

    _most_classes: ClassVar[tuple[int, str] | None] = (200, "each has a representation of its own")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left"), None],
        "dimensions": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "confidence": [Interval(Real, 0, 1, closed="right"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float | None = None,
        dimensions: int = 10,
        n_estimators: int = 10,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        confidence: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.dimensions = dimensions
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.confidence = confidence
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train all stages.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            Text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
        """
        train = self._read_training(X, y, sample_weight)
        stages = self._train_stages(train)
        threshold = -np.inf if self.confidence is None else 1.0 - self.confidence
        ladder = Stages.of(stages, thresholds=np.full(len(stages), threshold))
        self._predictor = self._predictor_of(ladder, train)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Return the stages as operating points, cheapest first; the first is the constant.

        Each point is the forest of one stage, for a budget that is known in advance. It reads what
        an example reads that is stopped there. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        """
        train = self._read_training(X, y, sample_weight)
        validation_set = self._read_validation(validation, train)
        points = []
        for number, forest in enumerate(self._train_stages(train)):
            knob = {"stage": number, "trees": len(forest.roots)}
            points.append(Point.measure(self._predictor_of(forest, train, knob), validation_set))
        return iter(sorted(points, key=lambda point: point.bill))

    def predict(self, X: Any, budget: float | None = None) -> NDArray[Any]:
        """Return the predicted label of each row, (n,).

        Parameters
        ----------
        X : table
            As in `fit`.
        budget : float, optional
            What each row may cost at most; by default a row goes through all stages, or until it
            reaches the `confidence`. With a budget that covers no stage, the prediction is the most
            frequent class, at a bill of 0.
        """
        best = self.predict_proba(X, budget).argmax(axis=1)
        return np.asarray(np.asarray(self.predictor_.classes)[best])

    def predict_proba(self, X: Any, budget: float | None = None) -> NDArray[np.float64]:
        """Return class probabilities (n, K) in the order of `classes_`, within a budget."""
        rows, stage = self._stage_of_rows(X, budget)
        scores = np.empty((len(rows), len(self.classes_)))
        for number, forest in enumerate(self._stages):
            here = np.flatnonzero(stage == number)
            if len(here):
                scores[here] = forest.score(rows[here])
        return scores

    def used(self, X: Any, budget: float | None = None) -> NDArray[np.bool_]:
        """Return which features each row reads within a budget, (n, d)."""
        return self.schema_.to_table_order(self._used(*self._stage_of_rows(X, budget)))

    def bill(self, X: Any, budget: float | None = None) -> NDArray[np.float64]:
        """Return what each row costs, (n,); none costs more than the budget."""
        rows, stage = self._stage_of_rows(X, budget)
        evaluations = np.array([forest.most_evaluations for forest in self._stages])
        return self.prices_.bill(self._used(rows, stage), evaluations[stage])

    @property
    def _stages(self) -> tuple[Forest, ...]:
        """The stages of the frozen model, the constant first."""
        return cast(tuple[Forest, ...], cast(Stages, self.model_).rungs)

    def _stage_of_rows(
        self, X: Any, budget: float | None
    ) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
        """Return the encoded rows (n, d), and the stage (n,) that each reaches."""
        rows = self.schema_.encode(self._checked(X))
        confident = cast(Stages, self.model_).rung(rows)
        if budget is None:
            return rows, confident
        limit = as_float(budget)
        if not isinstance(limit, float) or not limit >= 0:
            raise DataError(f"budget: {budget!r} is not a number from 0 up")
        affordable = affordable_stage(self._stages, self.prices_, rows, limit)
        return rows, np.minimum(confident, affordable)

    def _used(self, rows: NDArray[np.floating], stage: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which features encoded rows read that are stopped at given stages, (n, d)."""
        used = np.zeros((len(rows), self.model_.n_features), dtype=bool)
        for number, forest in enumerate(self._stages):
            here = np.flatnonzero(stage == number)
            if len(here):
                # A stage reads everything that the stages before it have read.
                used[here] = forest.used(rows[here])
        return used

    def _train_stages(self, train: TrainingSet) -> list[Forest]:
        """Run algorithm 4; return the stages, the constant first."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        split = RowSplit.of(train, seed)
        rows, n_growing = split.rows, split.growing.stop
        binned = Binned.of(rows.X, rows.categorical, check_random_state(self.random_state))
        grower = Grower(
            binned.take(np.arange(n_growing)),
            Purchases(rows.prices, n_growing, "model"),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=None if rows.weight is None else rows.weight[split.growing],
        )
        trees = DimensionTrees(
            grower,
            binned.bins[:, split.stopping].copy(),
            self.learning_rate,
            split.row_hash[split.growing],
        )
        # Two classes need one representation, that of the second.
        codes = range(1 if rows.n_classes == 2 else 0, rows.n_classes)
        penalties = penalty_schedule(grower, split, codes, self.penalty)
        # Output columns of one representation: the bias, and the dimensions of all penalties.
        width = 1 + self.dimensions * len(penalties)
        representations = [
            Representation(split, code, trees, width * k) for k, code in enumerate(codes)
        ]
        checkpoints = train_representations(
            trees, representations, penalties, self.dimensions, self.n_estimators
        )
        forest = trees.freeze(width * len(representations))
        y, weights = rows.y[split.stopping], rows.weights[split.stopping]
        return [constant_stage(rows)] + [
            freeze_stage(forest, checkpoint, y, weights, rows.n_classes)
            for checkpoint in thin_checkpoints(checkpoints, rows.prices)[1:]
        ]
