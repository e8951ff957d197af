"""Cost-weighted L1: the price of a feature is the price of its weights (Xu 2014, sec. 2.1.4, 3.3).

Cost-weighted L1 for numbers: least squares with the prices as weights of the norm.

Least loss plus a price on the size of each weight, solved to the end (proximal Newton).

The loss is replaced by its parabola. The parabola plus the prices is solved in the space of the
weights, which touches no row: accelerated proximal gradients find which weights are not 0, and of
what sign; given these it is a linear system. The step is halved until the objective falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.learn.base import PricedEstimator
from thrifty.learn.baselines.base import Knob, Learner, Rival, Task, TwoClassRival, penalties
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs
from thrifty.learn.cost_tree.objective import HalfSquare, Logistic, NodeLoss
from thrifty.learn.point import Point
from thrifty.learn.targets import numbers
from thrifty.model import Forest, Frozen
from thrifty.model.forest.nodes import empty_nodes

__all__ = [
    "PricedL1Classifier",
    "PricedL1Regressor",
    "PricedWeights",
    "Solution",
    "lasso",
    "smallest_rate",
]

Floats = NDArray[np.float64]
# Keeps weights that cost nothing finite where classes can be separated.
RIDGE = 1e-7
STEPS, INNER, HALVINGS = 60, 5000, 30
# Steps after which it is tried whether the signs are those of the solution.
TRIAL = 25
TOLERANCE = 1e-10


class Solution(NamedTuple):
    """Weights (q,) and bias."""

    weights: Floats
    bias: float


class _Problem(NamedTuple):
    """Rows with a last column of ones for the bias, which costs nothing."""

    Z: Floats
    y: Floats
    weight: Floats
    loss: NodeLoss
    costs: Floats

    def value(self, b: Floats) -> float:
        """The objective at weights and bias `b` (q + 1,)."""
        loss = float(self.weight @ self.loss.value(self.Z @ b, self.y))
        return loss + float(self.costs @ np.abs(b)) + 0.5 * RIDGE * float(b @ b)

    def parabola(self, b: Floats) -> tuple[Floats, Floats]:
        """Slope and curvature of the loss and the ridge at `b`."""
        first, second = self.loss.slopes(self.Z @ b, self.y)
        hessian = self.Z.T @ (self.Z * (self.weight * second)[:, np.newaxis])
        hessian[np.diag_indices(len(b))] += RIDGE
        return self.Z.T @ (self.weight * first) + RIDGE * b, hessian


def lasso(
    Z: Floats, y: Floats, weight: Floats, loss: NodeLoss, costs: Floats, start: Solution
) -> Solution:
    """The weights of least weighted loss plus ``costs @ abs(weights)``."""
    ones = np.column_stack([Z, np.ones(len(Z))])
    problem = _Problem(ones, y, weight, loss, np.append(costs, 0.0))
    b = np.append(start.weights, start.bias)
    value = problem.value(b)
    for _ in range(STEPS):
        step = _least(*problem.parabola(b), problem.costs, b) - b
        for halvings in range(HALVINGS):
            new = problem.value(b + 0.5**halvings * step)
            if new < value:
                break
        else:
            break
        b = b + 0.5**halvings * step
        done = value - new <= TOLERANCE * abs(value)
        value = new
        if done:
            break
    return Solution(b[:-1], float(b[-1]))


def _least(slope: Floats, hessian: Floats, costs: Floats, start: Floats) -> Floats:
    """Where the parabola through `start` plus the costs is least (FISTA with restarts)."""
    pace = 1.0 / max(float(np.linalg.eigvalsh(hessian)[-1]), 1e-300)
    offset = slope - hessian @ start
    b, ahead, momentum = start, start, 1.0
    for number in range(1, INNER + 1):
        moved = ahead - pace * (hessian @ ahead + offset)
        new = np.sign(moved) * np.maximum(np.abs(moved) - pace * costs, 0.0)
        change = new - b
        if (ahead - new) @ change > 0:
            momentum = 1.0
        later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / later) * change
        b, momentum = new, later
        if number % TRIAL == 0 and (exact := _solved(offset, hessian, costs, b)) is not None:
            return exact
    return b


def _solved(offset: Floats, hessian: Floats, costs: Floats, b: Floats) -> Floats | None:
    """The least with the signs of `b`, if it is the least of all."""
    on = np.flatnonzero((b != 0) | (costs == 0))
    sign = np.sign(b[on])
    found = np.zeros_like(b)
    found[on] = np.linalg.solve(hessian[np.ix_(on, on)], -offset[on] - costs[on] * sign)
    if np.any((found[on] * sign < 0) & (costs[on] > 0)):
        return None
    slope = np.abs(hessian @ found + offset)
    slope[on] = 0.0
    return found if np.all(slope <= costs * (1.0 + 1e-9) + 1e-12) else None


def smallest_rate(
    Z: Floats, y: Floats, weight: Floats, loss: NodeLoss, bias: float, tolls: Floats
) -> float:
    """The smallest factor of the tolls at which no weight is worth its price."""
    slopes = np.abs(Z.T @ (weight * loss.slopes(np.full(len(y), bias), y)[0]))
    priced = tolls > 0
    return float(np.max(slopes[priced] / tolls[priced], initial=0.0))


class PricedL1Classifier(TwoClassRival):
    """Logistic regression with the prices as weights of the L1 norm.

    Columns of numbers are standardized. A weight costs what its column costs bought alone, the
    entry to its group included: the norm cannot know that a group is paid once. At equal prices it
    is plain L1-regularized logistic regression.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean log-loss that a weight of one must save for each unit of price.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import PricedL1Classifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, and dearer
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> PricedL1Classifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y).used(X)[0]
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.class_weight = class_weight

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _one_learner(self, task: Task) -> Learner:
        share = float(np.clip(task.shares[1], 1e-12, 1 - 1e-12))
        bias = float(np.log(share) - np.log1p(-share))
        inputs = column_inputs(task)
        return PricedWeights(inputs, task.tolls, task.signs, task.weights, Logistic(), bias)


class PricedWeights:
    """Standardized columns and a target; the weights for any penalty."""

    def __init__(
        self,
        inputs: StageInputs,
        tolls: Floats,
        y: Floats,
        weight: Floats,
        loss: NodeLoss,
        bias: float,
    ) -> None:
        assert inputs.encoding is not None
        self.inputs, self.y, self.weight, self.loss = inputs, y, weight, loss
        self.tolls = tolls[inputs.encoding.columns]
        self.start = Solution(np.zeros(len(self.tolls)), bias)

    def model(self, knob: Knob) -> Frozen:
        """The linear model for a penalty."""
        costs = knob["penalty"] * self.tolls
        found = lasso(self.inputs.Z, self.y, self.weight, self.loss, costs, self.start)
        return self.inputs.freeze([Stage(*found)], self.loss.link)

    def knobs(self) -> list[Knob]:
        """Penalties from the smallest at which nothing is bought down to none."""
        start = self.start.bias
        top = smallest_rate(self.inputs.Z, self.y, self.weight, self.loss, start, self.tolls)
        return [{"penalty": penalty} for penalty in penalties(top)]


class PricedL1Regressor(RegressorMixin, PricedEstimator):  # type: ignore[misc]
    """The lasso with the price of each feature as the price of its weights.

    See `PricedL1Classifier`. At equal prices it is scikit-learn's `Lasso` on standardized columns,
    with ``alpha`` the penalty times the price.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Half the mean squared error that a weight of one must save for each unit of price.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import PricedL1Regressor
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> PricedL1Regressor(Prices([1, 50]), penalty=0.01).fit(X, y).bill(X).max().item()
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, prices: Prices | None = None, penalty: float = 0.0) -> None:
        self.prices = prices
        self.penalty = penalty

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : array of shape (n,)
            The target.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        """
        task, learner = self._work(X, y, sample_weight)
        knob = {"penalty": float(self.penalty)}
        self._predictor = self._freeze(learner.model(knob), task.schema, task.prices, None, knob)
        return self

    def path(
        self, X: Any, y: Any, *, validation: tuple[Any, Any], sample_weight: Any = None
    ) -> Iterator[Point]:
        """Operating points, cheapest first, from the mean at bill 0; quality is R2."""
        task, learner = self._work(X, y, sample_weight)
        if len(validation) < 2:
            raise DataError("validation: give the table and its target, (X, y)")
        rows = task.schema.encode(self._as_table(validation[0], reset=False))
        target = numbers(validation[1], len(rows))
        found: list[tuple[dict[str, Any], Frozen]] = [({}, _constant(learner.start.bias, task))]
        found += [(knob, learner.model(knob)) for knob in learner.knobs()]
        points = []
        for knob, model in found:
            bills = task.prices.bill(model.used(rows), model.evaluations(rows))
            predictor = self._freeze(model, task.schema, task.prices, None, knob)
            quality = float(r2_score(target, model.score(rows)))
            points.append(Point(knob, predictor, float(bills.mean()), quality))
        # Stable: the mean stays the first.
        return iter(sorted(points, key=lambda point: point.bill))

    def _work(self, X: Any, y: Any, sample_weight: Any) -> tuple[Task, PricedWeights]:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        task = Task(schema, prices, rows, np.zeros(len(rows), np.int64), weight, 1)
        bias = float(task.weights @ target)
        loss = HalfSquare("sum")
        inputs = column_inputs(task)
        return task, PricedWeights(inputs, task.tolls, target, task.weights, loss, bias)


def _constant(value: float, task: Task) -> Forest:
    """The model that reads nothing."""
    none, d = np.zeros(0, dtype=np.int64), len(task.schema)
    return Forest(empty_nodes(0), np.zeros((0, 1)), none, none, np.array([value]), "sum", d)
