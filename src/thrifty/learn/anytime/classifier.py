"""AFR: one model for every budget (Xu 2014, sec. 2.2, algorithm 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.anytime.representation import Machine
from thrifty.learn.anytime.training import affordable_rung, moderate, prior, stage, train
from thrifty.learn.anytime.trees import DimensionTrees
from thrifty.learn.base import PricedEstimator
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.folds import Lots, divide, lots_of
from thrifty.learn.point import Point
from thrifty.learn.targets import Labels
from thrifty.model import Forest, Stages

__all__ = ["AnytimeClassifier"]

# The penalty is halved this often, and is 0 at last. It takes two steps for each half: of two
# features that both pay at the next step the one with more gain is bought, not the one with more
# gain per price.
HALVINGS = 13
STEPS = 2


@dataclass(frozen=True, eq=False)
class _Task:
    """A table and its labels, read and put in the order training, validation, held out."""

    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    codes: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    classes: NDArray[Any]
    starts: tuple[int, int]
    lots: Lots

    @property
    def mass(self) -> NDArray[np.float64]:
        """Weight of each row."""
        return np.ones(len(self.X)) if self.weight is None else self.weight

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each class in the weight of all rows."""
        mass = np.bincount(self.codes, self.mass, len(self.classes))
        return np.asarray(mass / mass.sum())

    @property
    def outputs(self) -> NDArray[np.int64]:
        """Classes that have a machine: all, or the second of two."""
        return np.arange(len(self.classes))[1 if len(self.classes) == 2 else 0 :]


class AnytimeClassifier(ClassifierMixin, PricedEstimator):  # type: ignore[misc]
    """A representation that grows with what is bought, with a support vector machine at each stage.

    The budget is not known when the model is learnt: an example goes from stage to stage, each
    stage buys more and answers better, and whenever it is stopped the last complete stage
    answers. With more than two classes each has a representation of its own, against the rest,
    and all share what is bought.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float, optional
        Mean loss that one unit of price must save at the start (lambda); it is halved time
        after time, and 0 at last. Left out: the largest at which anything is bought.
    dimensions : int
        Dimensions that the representation gains at each penalty (S), at most.
    n_estimators : int
        Trees that are added to each dimension (T), at most.
    learning_rate : float
        Share of each tree that is added (eta).
    max_depth : int
        Largest number of questions on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Seed of the lots that divide the rows.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Stages
        The frozen model; its first rung answers with the shares of the classes.

    Notes
    -----
    Half of the rows fit the machines, four tenths tell how the representation should change, and
    one tenth says when to stop and calibrates the probabilities (Platt scaling at each stage).

    A price per evaluation is charged for every tree of every stage that an example comes to.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import AnytimeClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> y = X[:, 0] + 2.0 * X[:, 1] > 0
    >>> model = AnytimeClassifier(Prices([1.0, 5.0, 5.0]), random_state=0).fit(X, y)
    >>> for budget in (0.0, 1.0, 6.0):
    ...     assert model.bill(X, budget=budget).max() <= budget
    >>> cheap, good = np.mean(model.predict(X, budget=1.0) == y), model.score(X, y)
    >>> bool(cheap < 0.8 < 0.95 < good)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left"), None],
        "dimensions": [Interval(Integral, 1, None, closed="left")],
        "n_estimators": [Interval(Integral, 0, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float | None = None,
        dimensions: int = 10,
        n_estimators: int = 10,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
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
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task = self._task(X, y, sample_weight)
        model = Stages.of(self._learn(task))
        self._predictor = self._freeze(model, task.schema, task.prices, task.classes)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """The stages as operating points, cheapest first; the first is the constant, at bill 0.

        Each point is the forest of one stage, for those who know their budget beforehand: it
        reads what an example reads that is stopped there. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        """
        task = self._task(X, y, sample_weight)
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        table = self._as_table(validation[0], reset=False)
        codes = Labels(task.classes, task.codes).recode(validation[1], len(table))
        points = []
        for number, forest in enumerate(self._learn(task)):
            knob = {"stage": number, "trees": len(forest.roots)}
            model = self._freeze(forest, task.schema, task.prices, task.classes, knob)
            right = model.predict(table) == task.classes[codes]
            points.append(Point(knob, model, float(model.bill(table).mean()), float(right.mean())))
        return iter(sorted(points, key=lambda point: point.bill))

    def predict(self, X: Any, budget: float | None = None) -> NDArray[Any]:
        """Predicted label of each row, for which no row spends more than `budget`.

        Parameters
        ----------
        X : table
            As in `fit`.
        budget : float, optional
            What a row may spend at most; without it, all stages. A budget that no stage can be
            paid from is answered with the most frequent class, at a bill of 0.
        """
        best = self.predict_proba(X, budget).argmax(axis=1)
        return np.asarray(np.asarray(self.predictor_.classes)[best])

    def predict_proba(self, X: Any, budget: float | None = None) -> NDArray[np.float64]:
        """Class probabilities (n, K) in the order of `classes_`, within a budget."""
        rows, rung = self._rungs(X, budget)
        scores = np.empty((len(rows), len(self.classes_)))
        for number, forest in enumerate(self._forests):
            here = np.flatnonzero(rung == number)
            if len(here):
                scores[here] = forest.score(rows[here])
        return scores

    def used(self, X: Any, budget: float | None = None) -> NDArray[np.bool_]:
        """Which features each row touches within a budget, (n, d)."""
        return self._used(*self._rungs(X, budget))

    def bill(self, X: Any, budget: float | None = None) -> NDArray[np.float64]:
        """What each row pays, (n,); with a budget, none pays more than it."""
        rows, rung = self._rungs(X, budget)
        trees = np.cumsum([forest.most_evaluations for forest in self._forests])
        return self.prices_.bill(self._used(rows, rung), trees[rung])

    @property
    def _forests(self) -> tuple[Forest, ...]:
        return cast(tuple[Forest, ...], cast(Stages, self.model_).rungs)

    def _rungs(
        self, X: Any, budget: float | None
    ) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
        """Rows as numbers, and the stage that each comes to."""
        rows = self.schema_.encode(self._checked(X))
        if budget is None:
            return rows, np.full(len(rows), len(self._forests) - 1)
        if not budget >= 0:
            raise DataError(f"budget: {budget!r} is not a number from 0 up")
        return rows, affordable_rung(self._forests, self.prices_, rows, float(budget))

    def _used(self, rows: NDArray[np.floating], rung: NDArray[np.int64]) -> NDArray[np.bool_]:
        # A stage reads all that the stages before have read: it alone tells.
        used = np.zeros((len(rows), self.model_.n_features), dtype=bool)
        for number, forest in enumerate(self._forests):
            here = np.flatnonzero(rung == number)
            if len(here):
                used[here] = forest.used(rows[here])
        return used

    def _task(self, X: Any, y: Any, sample_weight: Any) -> _Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        weight = self._weights(sample_weight, rows)
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
            weight = balance if weight is None else weight * balance
        rows, codes, weight = self._kept(weight, rows, labels.codes)
        seed = int(check_random_state(self.random_state).randint(2**31))
        order, starts = divide(rows, codes, weight, seed)
        weight = None if weight is None else weight[order]
        rows, codes, lots = rows[order], codes[order], lots_of(rows[order], seed)
        return _Task(schema, prices, rows, codes, weight, labels.classes, starts, lots)

    def _learn(self, task: _Task) -> list[Forest]:
        """All stages, the constant first."""
        binned = self._bin(task)
        held = slice(task.starts[1], None)
        trees = DimensionTrees(
            self._grower(task, binned),
            binned.bins[:, held].copy(),
            self.learning_rate,
            task.lots[: held.start],
        )
        penalties = self._penalties(task, trees.grower)
        room = 1 + self.dimensions * len(penalties)
        machines = [
            Machine(np.where(task.codes == k, 1.0, -1.0), task.mass, task.starts, trees, room * i)
            for i, k in enumerate(task.outputs)
        ]
        snapshots = train(trees, machines, penalties, self.dimensions, self.n_estimators)
        forest = trees.freeze(room * len(machines))
        return [prior(task.shares, len(task.schema))] + [
            stage(forest, snapshot, task.codes[held], task.mass[held], len(task.classes))
            for snapshot in moderate(snapshots, task.prices)[1:]
        ]

    def _bin(self, task: _Task) -> Binned:
        categorical = np.array([column.categories is not None for column in task.schema.columns])
        return Binned.of(task.X, categorical, check_random_state(self.random_state))

    def _grower(self, task: _Task, binned: Binned) -> Grower:
        """Trees are grown on the rows that are learnt from, training and validation."""
        learnt = task.starts[1]
        return Grower(
            binned.part(np.arange(learnt)),
            Bought(task.prices, learnt, "model"),
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            weight=None if task.weight is None else task.weight[:learnt],
        )

    def _penalties(self, task: _Task, grower: Grower) -> list[float]:
        """From the first, halved and halved again (line 15), and 0."""
        start = self._largest(task, grower) if self.penalty is None else float(self.penalty)
        steps = [start / 2.0 ** (k / STEPS) for k in range(STEPS * HALVINGS + 1)]
        return [*steps, 0.0] if start > 0 else [0.0]

    def _largest(self, task: _Task, grower: Grower) -> float:
        """Three quarters of the penalty above which not even a first split pays."""
        prices, learnt = grower.bought.owed(grower.weight), slice(0, task.starts[1])
        priced = prices > 0
        largest = 0.0
        for k in task.outputs:
            sign = np.where(task.codes[learnt] == k, 1.0, -1.0)
            gains = grower.gains(sign - np.average(sign, weights=task.mass[learnt]))
            worth = gains[priced] / (2.0 * prices[priced])
            largest = max(largest, float(worth.max(initial=0.0)))
        return 0.75 * largest
