"""BudgetRF: a random forest whose trees are grown to be cheap (001, algorithm 1; Nan 2018, ch. 3).

Each tree takes the split with the least price per impurity removed from the worse child. Trees
are added until the mean bill passes the budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.learn.base import PricedClassifier
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.budget_forest.grower import (
    SPLITS,
    GreedyTrees,
    Rules,
    constant_forest,
    freeze_trees,
)
from thrifty.learn.budget_forest.impurities import Impurity, ThresholdPairs
from thrifty.learn.budget_forest.prefixes import Ballot, Tally
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["BudgetForestClassifier"]

# The thresholds of Nan et al. 2015, sec. 3.
ALPHAS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 25.0, 35.0, 45.0)
# Trees grown between two looks at the budget: enough for the threads, few enough to throw away.
BATCH = 8
UNLIMITED = np.iinfo(np.int32).max


@dataclass(frozen=True, eq=False)
class Task:
    """A table and its labels, read and checked: what every forest of a path shares."""

    schema: Schema
    prices: BoundPrices
    X: NDArray[np.floating]
    codes: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    classes: NDArray[Any]

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which columns hold categories."""
        return np.array([column.categories is not None for column in self.schema.columns])

    @property
    def constant(self) -> Forest:
        """The forest without trees."""
        counts = np.bincount(self.codes, self.weight, len(self.classes))
        return constant_forest(counts / counts.sum(), self.X.shape[1])


class BudgetForestClassifier(PricedClassifier):
    """A random forest of deep trees that reach pure leaves by cheap questions.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    budget : float, optional
        Mean bill up to which `fit` adds trees; without it there are `n_estimators`.
    impurity : Impurity, optional
        What is removed from the children: `ThresholdPairs(alpha)`, `Powers(l)`,
        `Polynomial(terms)` or one's own; `ThresholdPairs(0)` when left out. A larger alpha gives
        smaller, cheaper trees.
    splits : {"minimax", "expected", "stumps"}
        Whether the worse child counts, or the mean over the rows; "stumps" is "minimax" over
        20 to 80 random thresholds a feature instead of all.
    n_estimators : int
        Largest number of trees.
    max_depth : int, optional
        Largest number of questions on the way to a leaf; without limit when left out.
    max_features : float or int
        Share or number of the features, drawn for each node, among which its split is searched;
        those that cannot divide the node do not count. 1.0 is all of them, as in the paper.
    bootstrap : bool
        Whether each tree is grown on rows drawn with replacement, or on all of them.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws the rows, the features and the order in which ties are broken.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Forest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, and dearer
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = BudgetForestClassifier(Prices([1.0, 1.0, 9.0]), n_estimators=10, max_features=1.0)
    >>> model.fit(X, y).used(X).any(axis=0)
    array([ True,  True, False])
    >>> model.bill(X).max().item()
    2.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "budget": [Interval(Real, 0, None, closed="left"), None],
        "impurity": [Impurity, None],
        "splits": [StrOptions(set(SPLITS))],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "bootstrap": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        budget: float | None = None,
        impurity: Impurity | None = None,
        splits: str = "minimax",
        n_estimators: int = 40,
        max_depth: int | None = None,
        max_features: float = 0.4,
        bootstrap: bool = True,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.budget = budget
        self.impurity = impurity
        self.splits = splits
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows: their chances of being drawn for a tree or, without
            `bootstrap`, what they count.
        validation : (Xv, yv), optional
            Rows on which the mean bill is held to the budget; the training rows when left out.
        """
        task = self._task(X, y, sample_weight)
        random = check_random_state(self.random_state)
        trees = self._trees(task, random)
        seeds = self._seeds(random)
        if self.budget is None:
            forest = self._forest(task, trees.grow(self._impurity, seeds))
        else:
            rows = task.X if validation is None else self._ballot(task, validation).X
            forest = self._within_budget(task, trees, seeds, rows, self.budget)
        self._predictor = self._predictor_of(task, forest, self._impurity)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        alphas: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over a range of thresholds alpha, cheapest first.

        Every prefix of the trees of each alpha is a candidate; it is left out where a shorter
        one has no more squared error of the class shares. The first point is the constant, at
        bill 0. All share the binned table and the rows drawn for each tree. Quality is the
        accuracy. The budget plays no part.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        alphas : sequence of float, optional
            Thresholds of `ThresholdPairs`; when left out, those of the paper, or the impurity
            itself where it is another one.
        """
        task = self._task(X, y, sample_weight)
        ballot = self._ballot(task, validation)
        random = check_random_state(self.random_state)
        trees, seeds = self._trees(task, random), self._seeds(random)
        points = [self._constant_point(task, ballot)]
        for impurity in self._impurities(alphas):
            forest = self._forest(task, trees.grow(impurity, seeds))
            tally = Tally(ballot.X, task.prices, len(task.classes))
            for prefix in tally.prefixes(forest, ballot):
                model = self._predictor_of(task, forest.prefix(prefix.trees), impurity)
                points.append(Point(model.knob or {}, model, prefix.bill, prefix.quality))
        # Stable: of points that cost the same, the larger alpha comes first, the constant before.
        return iter(sorted(points, key=lambda point: point.bill))

    @property
    def _impurity(self) -> Impurity:
        return self.impurity or ThresholdPairs()

    def _impurities(self, alphas: Sequence[float] | None) -> list[Impurity]:
        if alphas is None and not isinstance(self._impurity, ThresholdPairs):
            return [self._impurity]
        return [ThresholdPairs(alpha) for alpha in sorted(alphas or ALPHAS, reverse=True)]

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows, codes, weight = self._read_labeled(X, y, sample_weight)
        return Task(schema, prices, rows, codes, weight, self.classes_)

    def _ballot(self, task: Task, validation: tuple[Any, Any]) -> Ballot:
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        return Ballot(rows, self._codes(validation[1], len(rows)))

    def _trees(self, task: Task, random: Any) -> GreedyTrees:
        d = task.X.shape[1]
        share = self.max_features
        number = share if isinstance(share, int | np.integer) else int(np.ceil(share * d))
        rules = Rules(
            splits=self.splits,
            max_features=min(int(number), d),
            max_depth=UNLIMITED if self.max_depth is None else self.max_depth,
            bootstrap=self.bootstrap,
        )
        binned = Binned.of(task.X, task.categorical, random)
        return GreedyTrees(binned, task.prices, task.codes, len(task.classes), task.weight, rules)

    def _seeds(self, random: Any) -> list[int]:
        seeds: list[int] = random.randint(np.iinfo(np.int32).max, size=self.n_estimators).tolist()
        return seeds

    def _forest(self, task: Task, trees: list[Any]) -> Forest:
        return freeze_trees(trees, task.categorical, len(task.classes))

    def _within_budget(
        self,
        task: Task,
        trees: GreedyTrees,
        seeds: list[int],
        rows: NDArray[np.floating],
        budget: float,
    ) -> Forest:
        """Algorithm 1: add trees while the mean bill is within the budget."""
        tally = Tally(rows, task.prices, len(task.classes))
        grown: list[Any] = []
        for first in range(0, len(seeds), BATCH):
            batch = trees.grow(self._impurity, seeds[first : first + BATCH])
            for tree, bill in zip(batch, tally.add(self._forest(task, batch)), strict=True):
                if bill > budget:
                    return self._forest(task, grown) if grown else self._nothing(task, bill)
                grown.append(tree)
        return self._forest(task, grown)

    def _nothing(self, task: Task, bill: float) -> Forest:
        warnings.warn(
            f"budget {self.budget}: the first tree costs {bill:.4g} a row; the model is the "
            "constant, which costs nothing. Raise the budget or the impurity's alpha",
            UserWarning,
            stacklevel=4,
        )
        return task.constant

    def _constant_point(self, task: Task, ballot: Ballot) -> Point:
        forest = task.constant
        quality = ballot.judge(forest.score(ballot.X))[1]
        model = self._predictor_of(task, forest, None)
        return Point(model.knob or {}, model, 0.0, quality)

    def _predictor_of(self, task: Task, forest: Forest, impurity: Impurity | None) -> Predictor:
        knob: dict[str, Any] = {"trees": len(forest.roots)}
        if isinstance(impurity, ThresholdPairs):
            knob = {"alpha": float(impurity.alpha), **knob}
        return self._freeze(forest, task.schema, task.prices, task.classes, knob)
