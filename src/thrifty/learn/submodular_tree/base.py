"""What the greedy trees for classes and for numbers share: fits, price lists and paths."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.encoding import encode_rows, encoding_of
from thrifty.learn.point import Point
from thrifty.learn.submodular_tree.forward_selection import Layout
from thrifty.learn.submodular_tree.grower import GrownTree, Rows, TreeGrower
from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["SubmodularTree", "Task"]

Floats = NDArray[np.float64]
# Node budgets that a path tries when it is told none.
BUDGETS = 12


@dataclass(frozen=True, eq=False)
class Task:
    """A table and its target, read; `codes` are class numbers, or the target itself."""

    schema: Schema
    prices: BoundPrices
    encoding: Encoding
    rows: Rows
    codes: NDArray[Any]

    @property
    def n_features(self) -> int:
        """Columns of the table."""
        return len(self.schema)


class SubmodularTree(PricedEstimator):
    """What the trees for classes and for numbers share."""

    prices: Prices | None
    node_budget: float | None
    max_depth: int
    routing: str
    min_samples_leaf: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "node_budget": [Interval(Real, 0, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, 12, closed="both")],
        "routing": [StrOptions({"hard", "soft"})],
        "min_samples_leaf": [Interval(Real, 0, None, closed="neither")],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels or numbers.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task = self._task(X, y, sample_weight)
        self._predictor = self._fitted(task, self._grower(task.rows), task.prices)
        return self

    def fit_each(
        self, X: Any, y: Any, price_lists: Iterable[Prices | None], sample_weight: Any = None
    ) -> Iterator[Self]:
        """Fitted copies of this estimator, one for each price list.

        The table is encoded once and the sums over all its rows are taken once, which is most of
        the work of a fit.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        price_lists : iterable of Prices
            Instead of `prices`.
        """
        task = self._task(X, y, sample_weight)
        grower = self._grower(task.rows)
        for prices in price_lists:
            copy = clone(self).set_params(prices=prices)
            for name in ("classes_", "n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(copy, name, getattr(self, name))
            copy._predictor = self._fitted(task, grower, self._bind(task.schema, prices))
            yield copy

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        budgets: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over node budgets and depths, cheapest first.

        The first is the constant, at bill 0. All share the encoded rows and the sums over them;
        what the root buys within one budget is the start of what it buys within a larger one. A
        tree is also cut off at each of its levels. Quality is the accuracy or R2.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        budgets : sequence of float, optional
            Node budgets; up to a dozen between the price of what the root buys first and of all
            that it would buy when left out.
        """
        task = self._task(X, y, sample_weight)
        held, target = self._held(task, validation)
        grower = self._grower(task.rows)
        constant = self._predictor_of(task, task.prices, self._constant(task), 0.0, 0)
        points = [self._point(constant, held, target)]
        last: list[bytes] = []
        for budget in self._budgets(grower, task.prices, budgets):
            tree = grower.grow(task.prices, budget)
            if tree.purchases == last:  # what more there was to spend bought nothing
                continue
            last = tree.purchases
            for level in range(1 + max(node.level for node in tree.nodes)):
                model = self._frozen(task, tree, level)
                predictor = self._predictor_of(task, task.prices, model, budget, level + 1)
                points.append(self._point(predictor, held, target))
        return iter(sorted(points, key=lambda point: point.bill))

    def _fitted(self, task: Task, grower: TreeGrower, prices: BoundPrices) -> Predictor:
        budget = np.inf if self.node_budget is None else float(self.node_budget)
        tree = grower.grow(prices, budget)
        model = self._frozen(task, tree, self.max_depth - 1)
        return self._predictor_of(task, prices, model, self.node_budget, self.max_depth)

    def _grower(self, rows: Rows) -> TreeGrower:
        return TreeGrower(rows, self.max_depth, self.min_samples_leaf, self.routing == "soft")

    def _budgets(
        self, grower: TreeGrower, prices: BoundPrices, budgets: Sequence[float] | None
    ) -> list[float]:
        if budgets is None:
            spent = [price for price in grower.order(prices).spent if price > 0.0]
            return _spaced(spent[0], spent[-1]) if spent else [0.0]
        wanted = sorted({float(budget) for budget in budgets})
        if not wanted or not 0 <= wanted[0] <= wanted[-1] < np.inf:
            raise DataError(f"budgets: give prices from 0 up, got {list(budgets)[:5]}")
        return wanted

    def _predictor_of(
        self, task: Task, prices: BoundPrices, model: LinearTree, budget: float | None, depth: int
    ) -> Predictor:
        knob = {"node_budget": budget, "depth": depth}
        return self._freeze(model, task.schema, prices, getattr(self, "classes_", None), knob)

    def _point(self, predictor: Predictor, held: NDArray[Any], target: NDArray[Any]) -> Point:
        model = predictor.model
        bills = predictor.prices.bill(model.used(held), model.evaluations(held))
        quality = self._quality(model.score(held), target)
        return Point(predictor.knob or {}, predictor, float(bills.mean()), quality)

    def _held(self, task: Task, validation: tuple[Any, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        held = task.schema.encode(self._as_table(validation[0], reset=False))
        return held, self._held_target(validation[1], len(held))

    def _bind(self, schema: Schema, prices: Prices | None) -> BoundPrices:
        names = [str(column.name) for column in schema.columns]
        return (prices or Prices()).bind(names if schema.named else len(names))

    def _encoded(
        self, schema: Schema, X: NDArray[np.floating], targets: Floats, weight: Floats | None
    ) -> tuple[Encoding, Rows]:
        """Rows as inputs; weights below one on average count as if they were one."""
        if weight is not None:
            weight = weight * max(1.0, len(weight) / weight.sum())
        encoding = encoding_of(schema, X, weight)
        layout = Layout(encoding.columns, len(schema))
        return encoding, Rows(encode_rows(encoding, X), targets, weight, layout)

    @abstractmethod
    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        """Read the table and its target."""

    @abstractmethod
    def _frozen(self, task: Task, tree: GrownTree, level: int) -> LinearTree:
        """The tree down to a level, frozen."""

    @abstractmethod
    def _constant(self, task: Task) -> LinearTree:
        """The model that buys nothing."""

    @abstractmethod
    def _held_target(self, y: Any, rows: int) -> NDArray[Any]:
        """Read a held-out target."""

    @abstractmethod
    def _quality(self, scores: Floats, target: NDArray[Any]) -> float:
        """How good scores are on held-out rows."""


def _spaced(first: float, last: float) -> list[float]:
    """Budgets from the first to the last, each a multiple of the first."""
    steps = np.floor(np.geomspace(first, last, BUDGETS) / first + 1e-9)
    return sorted({*(first * np.unique(steps)).tolist(), last})
