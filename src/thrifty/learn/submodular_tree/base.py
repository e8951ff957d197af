"""`fit`, `fit_each` and `path` of the submodular trees of linear models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thrifty.bundle import Predictor
from thrifty.costs import PriceList, Prices
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedEstimator, task_of
from thrifty.learn.calibration import fit_platt_scaling
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.point import Point
from thrifty.learn.submodular_tree.grower import (
    DesignMatrix,
    TreeGrower,
    constant_tree,
    freeze_tree,
    mean_and_deviation,
)
from thrifty.learn.submodular_tree.stored_training_set import StoredTrainingSet
from thrifty.long_table import Table

__all__ = ["SubmodularTree", "output_scale"]

Floats = NDArray[np.float64]
# Number of node budgets, at most, that a path tries by default.
PATH_BUDGETS = 12


class SubmodularTree(PricedEstimator):
    """Base of the two estimators: the parameters that they share, and how trees are grown."""

    prices: PriceList | None
    node_budget: float | Sequence[float] | None
    max_depth: int
    routing: str
    selection: str
    min_samples_leaf: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "node_budget": [Interval(Real, 0, None, closed="left"), "array-like", None],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "routing": [StrOptions({"hard", "soft"})],
        "selection": [StrOptions({"significant", "greedy"})],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
    }

    _reads_files = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, array of shape (n, d), or thrifty.Table
            The table; text and categorical columns are read as categories, NaN as missing. A
            `Table` is read from its files, which may be larger than memory.
        y : sequence of shape (n,)
            Labels or numbers; those of a `Table` are in its files.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        train = self._read_training(X, y, sample_weight)
        self._predictor = self._grow(train, self._grower(train))
        return self

    def fit_each(
        self, X: Any, y: Any, price_lists: Iterable[Prices | None], sample_weight: Any = None
    ) -> Iterator[Self]:
        """Yield a fitted copy of this estimator for each of some price lists.

        The table is encoded, and the products of its columns are summed, only once; that is most
        of the work of a fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        price_lists : iterable of Prices or None
            Each takes the place of `prices`.
        """
        train = self._read_training(X, y, sample_weight)
        grower = self._grower(train)
        for prices in price_lists:
            copy = clone(self).set_params(prices=prices)
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(copy, name, getattr(self, name))
            copy._predictor = self._grow(train.with_prices(prices), grower)
            yield copy

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        budgets: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return operating points over node budgets and depths, cheapest first.

        The first is the constant model, which costs nothing. All points share the encoded rows and
        the sums over them. For each budget there is a point for each depth of its tree. Quality is
        the accuracy or R2.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        budgets : sequence of float, optional
            Node budgets; by default up to a dozen between the price of the first feature that the
            root buys and the price of all that it would buy.
        """
        train = self._read_training(X, y, sample_weight)
        validation_set = self._read_validation(validation, train)
        grower = self._grower(train)
        if budgets is None:
            spent = [price for price in grower.buy_at_root(train.prices).spent if price > 0.0]
            wanted = [0.0]
            if spent:  # multiples of the first, and the last
                factors = np.geomspace(spent[0], spent[-1], PATH_BUDGETS) / spent[0]
                multiples = spent[0] * np.unique(np.floor(factors + 1e-9))
                wanted = sorted({*multiples.tolist(), spent[-1]})
        else:
            wanted = sorted({float(budget) for budget in budgets})
            if not wanted or not 0 <= wanted[0] <= wanted[-1] < np.inf:
                raise DataError(f"budgets: give prices from 0 up, got {list(budgets)[:5]}")
        nothing = np.zeros_like(grower.design.Y[:: grower.design.calibration_step])
        link, _, offset = output_scale(train, grower.design, nothing)
        constant = constant_tree(offset, link, train.n_features)
        knob: dict[str, Any] = {"node_budget": 0.0, "depth": 0}
        points = [Point.measure(self._predictor_of(constant, train, knob), validation_set)]
        last: list[bytes] = []
        for budget in wanted:
            tree = grower.grow(train.prices, budget)
            if tree.purchases == last:  # a larger budget bought nothing more
                continue
            last = tree.purchases
            for level in range(1 + max(node.level for node in tree.nodes)):
                scale = output_scale(train, grower.design, tree.outputs[level])
                model = freeze_tree(tree, level, grower.design, train.n_features, *scale)
                knob = {"node_budget": budget, "depth": level + 1}
                points.append(Point.measure(self._predictor_of(model, train, knob), validation_set))
        return iter(sorted(points, key=lambda point: point.bill))

    def _read_table(self, table: Table, random: np.random.RandomState) -> TrainingSet:
        return StoredTrainingSet.read_files(task_of(self), table, self.prices, random)

    def _grower(self, train: TrainingSet) -> TreeGrower:
        """Encode the rows, and sum the products of inputs and targets over them."""
        return TreeGrower(
            DesignMatrix.of(train),
            self.max_depth,
            self.min_samples_leaf,
            self.routing == "soft",
            self.selection == "greedy",
        )

    def _grow(self, train: TrainingSet, grower: TreeGrower) -> Predictor:
        """Grow a tree for the prices of a training set, and freeze it."""
        budget = self._node_budget()
        tree = grower.grow(train.prices, np.inf if budget is None else budget)
        level = self.max_depth - 1
        scale = output_scale(train, grower.design, tree.outputs[level])
        model = freeze_tree(tree, level, grower.design, train.n_features, *scale)
        knob = {"node_budget": budget, "depth": self.max_depth}
        return self._predictor_of(model, train, knob)

    def _node_budget(self) -> float | list[float] | None:
        """Check the budgets of the nodes if each has its own."""
        if self.node_budget is None or isinstance(self.node_budget, Real):
            return None if self.node_budget is None else float(self.node_budget)
        budgets = np.asarray(self.node_budget, dtype=float)
        count = 2**self.max_depth - 1
        if budgets.shape != (count,) or not np.all(budgets >= 0):
            raise DataError(
                f"node_budget: give one number from 0 up for each of the {count} nodes of a tree "
                f"of depth {self.max_depth}, level by level, got {np.size(budgets)} numbers"
            )
        return list(budgets.tolist())


def output_scale(
    train: TrainingSet, design: DesignMatrix, outputs: Floats
) -> tuple[str, float, Floats]:
    """Return the link of a frozen tree, and the factor and the offsets (t,) of its outputs.

    For numbers they undo the standardization of the target. For classes they are those of Platt
    scaling, fitted to the outputs (m, t) for the calibration rows.
    """
    if train.task == "regression":
        center, scale = mean_and_deviation(train.y, design.weight)
        return "sum", scale, np.array([center])
    some = slice(None, None, design.calibration_step)
    scaling = fit_platt_scaling(outputs, train.y[some], design.weights[some], train.n_classes)
    return ("sigmoid" if train.n_classes == 2 else "softmax", *scaling)
