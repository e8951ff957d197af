"""BudgetRF: a random forest of cheap trees (Nan et al. 2015, algorithm 1; Nan 2018, ch. 3).

Each tree takes the split with the least price per impurity removed from the worse child. Trees
are added until the mean bill exceeds the budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedClassifier
from thrifty.learn.binned import Binned
from thrifty.learn.budget_forest.cluster import ClusterTreeGrower
from thrifty.learn.budget_forest.grower import SPLITS, Rules, TreeGrower, freeze_trees
from thrifty.learn.budget_forest.impurities import Impurity, ThresholdPairs
from thrifty.learn.budget_forest.prefixes import PrefixScorer
from thrifty.learn.cluster import ClusterTrainingSet, is_dask
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.learn.point import Point
from thrifty.long_table import Table
from thrifty.model import Forest

__all__ = ["BudgetForestClassifier"]

# The thresholds of Nan et al. 2015, sec. 3.
ALPHAS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 25.0, 35.0, 45.0)
# Trees grown before the budget is checked: enough for the threads, few enough to throw away.
BATCH = 8
AnyGrower = TreeGrower | ClusterTreeGrower
UNLIMITED = np.iinfo(np.int32).max


class BudgetForestClassifier(PricedClassifier):
    """A random forest of deep trees that reach pure leaves by cheap splits.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    budget : float, optional
        `fit` adds trees while the mean bill is within it; by default all `n_estimators`.
    impurity : Impurity, optional
        What a split reduces: `ThresholdPairs(alpha)`, `Powers(l)`, `Polynomial(terms)` or your
        own; `ThresholdPairs(0)` by default. A larger alpha gives smaller, cheaper trees.
    splits : {"minimax", "expected", "stumps"}
        Whether the impurity of the worse child counts, or the mean over the rows; "stumps" is
        "minimax" over 20 to 80 random thresholds per feature instead of all.
    n_estimators : int
        Largest number of trees.
    max_depth : int, optional
        Largest number of splits on the way to a leaf; unlimited by default.
    max_features : float or int
        Share or number of the features, drawn for each node, among which its split is searched;
        those that cannot split the node do not count. 1.0 is all of them, as in the paper.
    bootstrap : bool
        Whether each tree is grown on a bootstrap sample of the rows, or on all of them.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws the bootstrap samples, the features and the order in which ties are broken.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Forest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetForestClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # a copy of the first column, but more expensive
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = BudgetForestClassifier(Prices([1.0, 1.0, 9.0]), n_estimators=10, max_features=1.0)
    >>> model.fit(X, y).used(X).any(axis=0)
    array([ True,  True, False])
    >>> model.bill(X).max().item()
    2.0
    """

    _reads_files = _reads_weights = _reads_dask = True
    # The kernel counts two classes in a word, and numbers the words by bytes.
    _most_classes: ClassVar[tuple[int, str] | None] = (512, "trees count all of them at every cut")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
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
        prices: PriceList | None = None,
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
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit the forest.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, array of shape (n, d), or thrifty.Table
            The table; text and categorical columns are read as categories, NaN as missing. A
            `Table` is read from its files, which may be larger than memory. The rows of a Dask
            DataFrame are binned by its cluster, whose workers then share the trees; target and
            weights are Dask Series.
        y : sequence of shape (n,)
            Labels; those of a `Table` are in its files.
        sample_weight : array of shape (n,), optional
            Weights of the rows: their chances of being drawn for a tree or, without
            `bootstrap`, their weight in the impurity.
        validation : (Xv, yv), optional
            Rows on which the mean bill is compared with the budget; by default the training rows,
            if they are in memory.
        """
        in_memory = not isinstance(X, Table) and not is_dask(X)
        if not in_memory and self.budget is not None and validation is None:
            raise DataError("budget: give a validation set, as the rows are not kept in memory")
        train = self._read_training(X, y, sample_weight)
        grower, random = self._grower(train)
        seeds = self._draw_seeds(random)
        impurity = self.impurity or ThresholdPairs()
        if self.budget is None:
            forest = freeze_trees(grower.grow(impurity, seeds), train.categorical, train.n_classes)
        else:
            rows = train.X
            if validation is not None:
                rows = self._read_validation(validation, train).X
            forest = self._grow_within_budget(train, grower, impurity, seeds, rows, self.budget)
        self._predictor = self._predictor_of(forest, train, _knob(forest, impurity))
        return self

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        alphas: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Yield operating points over a range of thresholds alpha, cheapest first.

        Every prefix of the trees of each alpha is a candidate; it is left out if a shorter one
        has no larger squared error of the class shares. The first point is the constant, at
        bill 0. All share the binned table and the rows drawn for each tree. Quality is the
        accuracy. The budget plays no part.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            The validation set, on which bill and quality are measured.
        alphas : sequence of float, optional
            Thresholds of `ThresholdPairs`; by default those of the paper, or the impurity itself
            if it is another one.
        """
        train = self._read_training(X, y, sample_weight)
        held_out = self._read_validation(validation, train)
        grower, random = self._grower(train)
        seeds = self._draw_seeds(random)
        constant = self._predictor_of(train.constant, train, {"trees": 0})
        points = [Point.measure(constant, held_out)]
        impurities = [self.impurity or ThresholdPairs()]
        if alphas is not None or isinstance(impurities[0], ThresholdPairs):
            impurities = [ThresholdPairs(alpha) for alpha in sorted(alphas or ALPHAS, reverse=True)]
        for impurity in impurities:
            forest = freeze_trees(grower.grow(impurity, seeds), train.categorical, train.n_classes)
            scorer = PrefixScorer(held_out.X, train.prices, train.n_classes)
            for prefix in scorer.prefixes(forest, held_out):
                part = forest.prefix(prefix.trees)
                knob = _knob(part, impurity)
                model = self._predictor_of(part, train, knob)
                points.append(Point(knob, model, prefix.bill, prefix.quality))
        # Stable: of points with equal bills, the larger alpha comes first, the constant before it.
        return iter(sorted(points, key=lambda point: point.bill))

    def _grower(self, train: TrainingSet) -> tuple[AnyGrower, np.random.RandomState]:
        """Bin the table and settle how trees are grown; return what draws their seeds, too."""
        d, share = train.n_features, self.max_features
        number = share if isinstance(share, int | np.integer) else int(np.ceil(share * d))
        rules = Rules(
            splits=self.splits,
            max_features=min(int(number), d),
            max_depth=UNLIMITED if self.max_depth is None else self.max_depth,
            bootstrap=self.bootstrap,
        )
        if isinstance(train, ClusterTrainingSet):
            return ClusterTreeGrower(train, rules), train.random
        if isinstance(train, LongTrainingSet):
            binned: Binned = train.binned
            random = train.random
        else:
            random = check_random_state(self.random_state)
            binned = Binned.of(train.X, train.categorical, random)
        grower = TreeGrower(binned, train.prices, train.y, train.n_classes, train.weight, rules)
        return grower, random

    def _draw_seeds(self, random: Any) -> list[int]:
        """Draw one seed for each tree."""
        seeds: list[int] = random.randint(np.iinfo(np.int32).max, size=self.n_estimators).tolist()
        return seeds

    def _grow_within_budget(
        self,
        train: TrainingSet,
        grower: AnyGrower,
        impurity: Impurity,
        seeds: list[int],
        rows: NDArray[np.floating],
        budget: float,
    ) -> Forest:
        """Add trees while the mean bill of some rows is within the budget (algorithm 1)."""
        scorer = PrefixScorer(rows, train.prices, train.n_classes)
        trees: list[Any] = []
        for first in range(0, len(seeds), BATCH):
            batch = grower.grow(impurity, seeds[first : first + BATCH])
            frozen = freeze_trees(batch, train.categorical, train.n_classes)
            for tree, bill in zip(batch, scorer.add(frozen), strict=True):
                if bill <= budget:
                    trees.append(tree)
                    continue
                if trees:
                    return freeze_trees(trees, train.categorical, train.n_classes)
                warnings.warn(
                    f"budget {self.budget}: the first tree costs {bill:.4g} per row; the model is "
                    "the constant, which costs nothing. Raise the budget or the impurity's alpha",
                    UserWarning,
                    stacklevel=3,
                )
                return train.constant
        return freeze_trees(trees, train.categorical, train.n_classes)


def _knob(forest: Forest, impurity: Impurity) -> dict[str, Any]:
    """Return the knob of a forest: its number of trees, and alpha if the impurity has one."""
    knob: dict[str, Any] = {"trees": len(forest.roots)}
    if isinstance(impurity, ThresholdPairs):
        knob = {"alpha": float(impurity.alpha), **knob}
    return knob
