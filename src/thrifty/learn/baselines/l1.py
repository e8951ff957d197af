"""Cost-weighted L1: each weight of a linear model is penalized by the price of its feature.

`PricedL1Classifier` is logistic regression and `PricedL1Regressor` least squares (Xu 2014,
sec. 2.1.4, 3.3). `minimize_l1` solves both to the end by proximal Newton steps: the loss is
replaced by its quadratic model; `minimize_quadratic` minimizes that plus the penalty in the space
of the weights, which touches no row; the step is halved until the objective decreases.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.base import PRICE_LISTS
from thrifty.learn.baselines.base import (
    BaselineClassifier,
    BaselineEstimator,
    FittedPath,
    Knob,
    OneVsRestBaseline,
    as_signs,
    normalized_weights,
    penalty_grid,
    standalone_prices,
)
from thrifty.learn.baselines.priced_weights import LinearWeights
from thrifty.learn.baselines.ridged_gram import RidgedGram
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs
from thrifty.learn.cost_tree.objective import HalfSquaredError, LogisticLoss, NodeLoss
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Frozen

__all__ = [
    "L1Path",
    "L1Problem",
    "PricedL1Classifier",
    "PricedL1Regressor",
    "minimize_l1",
    "minimize_quadratic",
]

Floats = NDArray[np.float64]

# Keeps weights that cost nothing finite where the classes can be separated.
RIDGE = 1e-7
# Newton steps, relative decrease of the objective at which they end, halvings of each step.
MAX_STEPS = 60
OBJECTIVE_TOL = 1e-10
MAX_HALVINGS = 30
# Proximal gradient steps; after every so many, the signs found so far are tested.
MAX_GRADIENT_STEPS = 5000
STEPS_PER_TEST = 25
# Class shares are kept this far from 0 and 1, so that log odds are finite.
MIN_SHARE = 1e-12


class PricedL1Classifier(OneVsRestBaseline):
    """Logistic regression whose L1 norm is weighted by the prices.

    Numbers are standardized. The weight of a column costs its price if it is bought alone, with
    the shared price of its group: the norm cannot know that a group is paid once. If all prices
    are equal, this is plain L1-regularized logistic regression.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Mean log-loss that a weight of one must save per unit of price.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import PricedL1Classifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, but more expensive
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> PricedL1Classifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y).used(X)[0]
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.class_weight = class_weight

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        share = float(np.clip(train.class_shares[1], MIN_SHARE, 1 - MIN_SHARE))
        bias = float(np.log(share) - np.log1p(-share))
        return L1Path.start(train, as_signs(train), LogisticLoss(), bias)


class PricedL1Regressor(RegressorMixin, BaselineEstimator):  # type: ignore[misc]
    """The lasso, with each weight penalized by the price of its feature.

    See `PricedL1Classifier`. If all prices are equal, this is scikit-learn's `Lasso` on
    standardized columns, with the penalty times the price as ``alpha``.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Half the mean squared error that a weight of one must save per unit of price.

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
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, prices: PriceList | None = None, penalty: float = 0.0) -> None:
        self.prices = prices
        self.penalty = penalty

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _fit_path(self, train: TrainingSet) -> FittedPath:
        mean = float(normalized_weights(train) @ train.y)
        return L1Path.start(train, train.y, HalfSquaredError("sum"), mean)


@dataclass(frozen=True, eq=False)
class L1Path:
    """Standardized columns and a target; each penalty gives a linear model.

    Attributes
    ----------
    inputs : StageInputs
        The encoded columns.
    y : array of shape (n,)
        The target as the loss expects it.
    weight : array of shape (n,)
        Weights of the rows, which add up to one.
    loss : NodeLoss
    prices : array of shape (q,)
        What each input costs if its column is bought alone.
    constant : LinearWeights
        The model without inputs.
    """

    inputs: StageInputs
    y: Floats
    weight: Floats
    loss: NodeLoss
    prices: Floats
    constant: LinearWeights

    @classmethod
    def start(cls, train: TrainingSet, y: Floats, loss: NodeLoss, bias: float) -> L1Path:
        """Encode the training table; `bias` is the output of the constant model."""
        inputs = column_inputs(train)
        assert inputs.encoding is not None
        prices = standalone_prices(train.prices)[inputs.encoding.columns]
        constant = LinearWeights(np.zeros(len(prices)), bias)
        return cls(inputs, y, normalized_weights(train), loss, prices, constant)

    def model(self, knob: Knob) -> Frozen:
        """Return the linear model for one penalty."""
        # The last input is a one, whose weight is the bias; it costs nothing.
        Z = np.column_stack([self.inputs.Z, np.ones(len(self.y))])
        costs = np.append(knob["penalty"] * self.prices, 0.0)
        problem = L1Problem(Z, self.y, self.weight, self.loss, costs)
        solution = minimize_l1(problem, np.append(self.constant.weights, self.constant.bias))
        return self.inputs.freeze([Stage(solution[:-1], float(solution[-1]))], self.loss.link)

    def knobs(self) -> list[Knob]:
        """Return penalties from the smallest at which nothing is bought down to 0."""
        first = self.loss.derivatives(np.full(len(self.y), self.constant.bias), self.y)[0]
        gradient = np.abs(self.inputs.Z.T @ (self.weight * first))
        priced = self.prices > 0
        largest = float(np.max(gradient[priced] / self.prices[priced], initial=0.0))
        return [{"penalty": penalty} for penalty in penalty_grid(largest)]


class L1Problem(NamedTuple):
    """A weighted loss of ``Z @ b`` plus ``costs @ abs(b)``.

    Attributes
    ----------
    Z : array of shape (n, q)
    y : array of shape (n,)
    weight : array of shape (n,)
    loss : NodeLoss
    costs : array of shape (q,)
        Penalty on the size of each weight.
    """

    Z: Floats
    y: Floats
    weight: Floats
    loss: NodeLoss
    costs: Floats

    def objective(self, b: Floats) -> float:
        """Return loss, penalty and ridge at the weights `b` (q,)."""
        loss = float(self.weight @ self.loss.value(self.Z @ b, self.y))
        return loss + float(self.costs @ np.abs(b)) + 0.5 * RIDGE * float(b @ b)

    def derivatives(self, b: Floats) -> tuple[Floats, RidgedGram]:
        """Return gradient (q,) and Hessian (q, q) of loss and ridge at `b`."""
        first, second = self.loss.derivatives(self.Z @ b, self.y)
        scaled = self.Z * np.sqrt(self.weight * second)[:, np.newaxis]
        gradient = self.Z.T @ (self.weight * first) + RIDGE * b
        return gradient, RidgedGram(scaled, np.full(len(b), RIDGE))


def minimize_l1(problem: L1Problem, start: Floats) -> Floats:
    """Return the weights (q,) that minimize the objective, by proximal Newton steps."""
    b, value = start, problem.objective(start)
    for _ in range(MAX_STEPS):
        step = minimize_quadratic(*problem.derivatives(b), problem.costs, b) - b
        for halvings in range(MAX_HALVINGS):
            new_value = problem.objective(b + 0.5**halvings * step)
            if new_value < value:
                break
        else:
            break
        b = b + 0.5**halvings * step
        converged = value - new_value <= OBJECTIVE_TOL * abs(value)
        value = new_value
        if converged:
            break
    return b


def minimize_quadratic(
    gradient: Floats, hessian: RidgedGram, costs: Floats, start: Floats
) -> Floats:
    """Minimize the quadratic model at `start` (q,) plus ``costs @ abs(b)``.

    Accelerated proximal gradient steps with restarts (FISTA) find which weights are 0 and the
    signs of the others; given these, the minimum solves a linear system.
    """
    step_size = 1.0 / max(hessian.largest_eigenvalue(), 1e-300)
    offset = gradient - hessian @ start
    b, ahead, momentum = start, start, 1.0
    for number in range(1, MAX_GRADIENT_STEPS + 1):
        moved = ahead - step_size * (hessian @ ahead + offset)
        new = np.sign(moved) * np.maximum(np.abs(moved) - step_size * costs, 0.0)
        change = new - b
        if (ahead - new) @ change > 0:
            momentum = 1.0
        next_momentum = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + ((momentum - 1.0) / next_momentum) * change
        b, momentum = new, next_momentum
        if number % STEPS_PER_TEST == 0:
            exact = _solve_for_signs(offset, hessian, costs, b)
            if exact is not None:
                return exact
    return b


def _solve_for_signs(
    offset: Floats, hessian: RidgedGram, costs: Floats, b: Floats
) -> Floats | None:
    """Return the minimum among weights with the signs of `b`; None if it is not the global one."""
    active = np.flatnonzero((b != 0) | (costs == 0))
    sign = np.sign(b[active])
    found = np.zeros_like(b)
    found[active] = hessian.solve(-offset[active] - costs[active] * sign, active)
    if np.any((found[active] * sign < 0) & (costs[active] > 0)):
        return None
    gradient = np.abs(hessian @ found + offset)
    gradient[active] = 0.0
    return found if np.all(gradient <= costs * (1.0 + 1e-9) + 1e-12) else None
