"""What the estimators of trees and cascades of linear models share.

A target is a column of numbers: the values of a regression, or -1 and 1 for a class against the
rest. Each has a tree of its own; all are learnt at the same penalties.

What trees and cascades share that learn labels: a target for each class, weights of classes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedClassifier, PricedEstimator
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.learn.cost_tree.fit import LinearTask
from thrifty.learn.cost_tree.inputs import Inputs, Scale, SlotInputs, TreeInputs
from thrifty.learn.cost_tree.objective import HalfSquare, Logistic, NodeLoss, SoftObjective
from thrifty.learn.cost_tree.soft_tree import Shape
from thrifty.learn.point import Point
from thrifty.learn.targets import Labels
from thrifty.model import Frozen, OneVsRest

__all__ = ["CostLinear", "CostLinearClassifier", "Table", "Target"]

Floats = NDArray[np.float64]

# Penalties of a path that is told none: so many, between these multiples of the largest at which a
# single input pays; several together may be worth more.
PENALTIES = 10
LARGEST, SMALLEST = 4.0, 2e-3


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to learn from, their weights, and rows held out."""

    schema: Schema
    prices: BoundPrices
    rows: NDArray[np.floating]
    weight: Floats | None
    held: NDArray[np.floating] | None


@dataclass(frozen=True, eq=False)
class Target:
    """Numbers to learn, how much each row's loss counts, and the same for rows held out."""

    y: Floats
    balance: Floats
    held: Floats | None
    held_balance: Floats | None
    loss: NodeLoss
    scale: Scale
    constant: Frozen


class CostLinear(PricedEstimator):
    """Base: reads, learns one tree for each target, freezes."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    at_exit: ClassVar[bool] = False

    penalty: float
    base: str
    n_estimators: int
    shrinkage: float
    max_sweeps: int
    random_state: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels or numbers.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Held-out rows: a branch is cut if they are not worse off without it. Left out, the
            rows that are learnt from decide.
        """
        table, targets = self._prepared(X, y, sample_weight, validation)
        (model,) = self._models(self._tasks(table, targets), [self.penalty])
        self._predictor = self._priced(table, model, self.penalty)
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over the penalty, cheapest first; the first is the constant, at bill 0.

        The penalty falls; each tree starts from that of the penalty before, or from the top down
        if that is ahead. Inputs are read, and trees that are inputs are grown, once.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured and branches are cut.
        penalties : sequence of float, optional
            Ten, from above the largest at which an input pays, when left out.
        """
        table, targets = self._prepared(X, y, sample_weight, validation)
        tasks = self._tasks(table, targets)
        constant = self._joined([target.constant for target in targets])
        points = [self._point(self._priced(table, constant, None), table, validation[1])]
        falling = self._falling(tasks, penalties)
        for penalty, model in zip(falling, self._models(tasks, falling), strict=True):
            found = self._priced(table, model, penalty)
            points.append(self._point(found, table, validation[1]))
        return iter(sorted(points, key=lambda point: point.bill))

    @abstractmethod
    def _shape(self) -> Shape:
        """The tree before it is cut."""

    @abstractmethod
    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, validation: Sequence[Any] | None
    ) -> tuple[Table, list[Target]]:
        """Read and check everything."""

    @abstractmethod
    def _joined(self, models: Sequence[Frozen]) -> Frozen:
        """One model of those of all targets."""

    @abstractmethod
    def _quality(self, scores: Floats, y: Any) -> float:
        """What `score` gives."""

    @property
    def _classes(self) -> NDArray[Any] | None:
        return None

    def _tasks(self, table: Table, targets: Sequence[Target]) -> list[LinearTask]:
        seed = int(check_random_state(self.random_state).randint(2**31))
        slots = None if self.base == "boosted" else self._slots(table)
        return [self._task(table, target, slots, seed) for target in targets]

    def _slots(self, table: Table) -> Inputs:
        return SlotInputs(table.schema, table.prices, table.rows, table.weight)

    def _task(self, table: Table, target: Target, slots: Inputs | None, seed: int) -> LinearTask:
        inputs = slots or TreeInputs.grown(
            table.schema, table.prices, table.rows, target.y, table.weight,
            n_estimators=self.n_estimators, random_state=seed,
        )  # fmt: skip
        held = None
        if table.held is not None and target.held is not None:
            held = self._objective(
                inputs, target, table.held, target.held, target.held_balance, None
            )
        learnt = self._objective(inputs, target, table.rows, target.y, target.balance, table.weight)
        return LinearTask(
            inputs, learnt, held, self._shape(), self.max_sweeps, target.scale, target.constant
        )

    def _objective(
        self,
        inputs: Inputs,
        target: Target,
        rows: NDArray[np.floating],
        y: Floats,
        balance: Floats | None,
        weight: Floats | None,
    ) -> SoftObjective:
        weight = np.ones(len(rows)) if weight is None else weight
        share = weight / weight.sum()
        counts = share if balance is None else share * balance
        return SoftObjective(
            inputs.read(rows), y, share, counts, target.loss, inputs.terms, 0.0, self.shrinkage,
            self.at_exit,
        )  # fmt: skip

    def _models(self, tasks: Sequence[LinearTask], penalties: Sequence[float]) -> Iterator[Frozen]:
        found = [task.models(penalties) for task in tasks]
        return (self._joined(models) for models in zip(*found, strict=True))

    def _falling(
        self, tasks: Sequence[LinearTask], penalties: Sequence[float] | None
    ) -> list[float]:
        if penalties is not None:
            wanted = sorted({float(penalty) for penalty in penalties}, reverse=True)
            if not wanted or not wanted[-1] >= 0:
                raise DataError(f"penalties: give numbers from 0 up, got {list(penalties)[:5]}")
            return wanted
        largest = max(task.dearest for task in tasks)
        if largest <= 0:
            return [0.0]
        return (largest * np.geomspace(LARGEST, SMALLEST, PENALTIES)).tolist()  # type: ignore[no-any-return]

    def _held_rows(self, schema: Schema, validation: Sequence[Any]) -> NDArray[np.floating]:
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        return schema.encode(self._as_table(validation[0], reset=False))

    def _priced(self, table: Table, model: Frozen, penalty: float | None) -> Predictor:
        knob = {} if penalty is None else {"penalty": float(penalty)}
        return self._freeze(model, table.schema, table.prices, self._classes, knob)

    def _point(self, model: Predictor, table: Table, y: Any) -> Point:
        frozen, held = model.model, table.held
        assert held is not None
        bills = model.prices.bill(frozen.used(held), frozen.evaluations(held))
        quality = self._quality(frozen.score(held), y)
        return Point(model.knob or {}, model, float(bills.mean()), quality)


Whole = NDArray[np.int64]


class CostLinearClassifier(PricedClassifier, CostLinear):
    """Base of the classifiers; more than two classes are learnt one against the rest."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        "loss": [StrOptions({"log_loss", "squared"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    loss: str

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, validation: Sequence[Any] | None
    ) -> tuple[Table, list[Target]]:
        self._validate_params()
        schema, prices, rows = self._read(X)
        labels = Labels.of(y, len(rows))
        self.classes_ = labels.classes
        balance = np.ones(len(rows))
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, labels.classes[labels.codes])
        if not np.any(balance > 0):
            raise DataError("class_weight: every class of the target has weight 0")
        weight = self._weights(sample_weight, rows)
        rows, codes, balance, weight = self._kept(weight, rows, labels.codes, balance)
        held = held_codes = None
        if validation is not None:
            held = self._held_rows(schema, validation)
            held_codes = self._codes(validation[1], len(held))
        table = Table(schema, prices, rows, weight, held)
        return table, self._targets(table, codes, balance, held_codes)

    def _targets(
        self, table: Table, codes: Whole, balance: Floats, held: Whole | None
    ) -> list[Target]:
        count = len(self.classes_)
        # What a class counts on rows held out is what it counts on those learnt from.
        factor = np.ones(count)
        factor[codes] = balance
        held_balance = None if held is None else factor[held]
        weight = np.ones(len(codes)) if table.weight is None else table.weight
        return [
            Target(
                _signs(codes, k), balance, None if held is None else _signs(held, k),
                held_balance, self._loss(), Scale(),
                _prior(codes == k, weight * balance, len(table.schema)),
            )
            for k in range(1 if count == 2 else 0, count)
        ]  # fmt: skip

    def _loss(self) -> NodeLoss:
        return Logistic() if self.loss == "log_loss" else HalfSquare("hinge")

    def _joined(self, models: Sequence[Frozen]) -> Frozen:
        return models[0] if len(models) == 1 else OneVsRest.of(models)

    def _quality(self, scores: Floats, y: Any) -> float:
        return float(np.mean(scores.argmax(axis=1) == self._codes(y, len(scores))))

    @property
    def _classes(self) -> NDArray[Any]:
        return self.classes_


def _signs(codes: Whole, k: int) -> Floats:
    return np.where(codes == k, 1.0, -1.0)


def _prior(member: NDArray[np.bool_], weight: Floats, n_features: int) -> Frozen:
    share = float(np.average(member, weights=weight))
    return constant_forest(np.array([1.0 - share, share]), n_features)
