"""The AND-OR cascade (Dundar and Bi 2007; Xu 2014, sec. 3.7.3).

All stages are trained together. A row of class 1 has to pass every stage (AND): its loss is the
largest of those at the stages. A row of class 0 has to be rejected by one of them (OR): its loss is
the product, which is small as soon as one factor is. The features that a stage may read are fixed
beforehand: those up to a price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.baselines.base import (
    BaselineClassifier,
    FittedPath,
    Knob,
    OneVsRestBaseline,
    as_signs,
    normalized_weights,
    penalty_grid,
    standalone_prices,
)
from thrifty.learn.baselines.boosted import BOOSTING_CONSTRAINTS, BoostingSettings
from thrifty.learn.baselines.priced_weights import (
    LOSS,
    LinearProblem,
    LinearWeights,
    RowObjective,
    refit,
    scatter,
    weighted_sum,
)
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs, subset_inputs
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Frozen

__all__ = ["AndOrClassifier", "AndOrPath", "joint_loss", "joint_row_objective"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Sweeps over all stages at the penalty; half as many follow without prices.
N_SWEEPS = 4
# Newton steps of a stage in each sweep.
STEPS_PER_SWEEP = 8
# The largest loss is approximated by the norm of this order, which has derivatives.
MAX_NORM_ORDER = 8.0


class AndOrClassifier(OneVsRestBaseline):
    """Linear stages of rising price, trained together; a row exits at the first that rejects it.

    Simplifications: the loss is logistic instead of a hinge, the maximum a norm of order 8; each
    stage pays for its own features even if an earlier stage has bought them. The sources differ on
    the loss of a row that has to be rejected: the paper takes the product, as is done here, while
    Xu (2014) describes a minimum.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    n_stages : int
        Largest number of stages. The distinct prices are cut into this many equal parts; stage k
        may read the features up to the k-th cut.
    base : {"raw", "boosted"}
        Whether a stage weighs the columns, or trees boosted on them.
    n_estimators, learning_rate, max_depth, min_samples_leaf, random_state
        Of the boosted trees, as in `GreedyMiserClassifier`; each stage has an equal share of them.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import AndOrClassifier
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    >>> model = AndOrClassifier(Prices([1, 20]), penalty=0.002).fit(X, y)
    >>> model.used(X[:1]).tolist(), np.unique(model.bill(X)).tolist()
    ([[True, False]], [1.0, 21.0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        n_stages: int = 5,
        base: str = "raw",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.n_stages = n_stages
        self.base = base
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        # Cut the distinct prices into equal parts: the highest price that each stage may read.
        prices = standalone_prices(train.prices)
        levels = np.unique(prices)
        cuts = np.ceil(np.arange(1, self.n_stages + 1) * len(levels) / self.n_stages).astype(int)
        highest = levels[np.unique(cuts - 1)]
        if self.base == "raw":
            inputs = column_inputs(train)
            assert inputs.encoding is not None
            input_price = prices[inputs.encoding.columns]
        else:
            subsets = [np.flatnonzero(prices <= price) for price in highest]
            inputs, subset_of_tree = subset_inputs(train, BoostingSettings.of(self), subsets)
            input_price = highest[subset_of_tree]
        readable = [mask for price in highest if (mask := input_price <= price).any()]
        # Without any tree there is one stage, which has only a bias.
        readable = readable or [np.zeros(len(input_price), dtype=bool)]
        weight = normalized_weights(train)
        problem = LinearProblem(inputs.Z, as_signs(train), weighted_sum(weight), inputs.costs)
        # Each stage starts as the best single classifier of the inputs that it may read.
        starts = [refit(problem, mask, problem.zeros) for mask in readable]
        return AndOrPath(inputs, weight, problem, readable, starts)


def joint_loss(losses: Floats, y: Floats) -> Floats:
    """Return the loss of each row (n,) from those at the stages (n, S).

    It is about the largest where `y` is 1, and the product where it is -1.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines.and_or import joint_loss
    >>> joint_loss(np.array([[0.5, 0.1], [0.5, 0.1]]), np.array([1.0, -1.0])).round(3)
    array([0.5 , 0.05])
    """
    largest = np.sum(losses**MAX_NORM_ORDER, axis=1) ** (1.0 / MAX_NORM_ORDER)
    return np.asarray(np.where(y > 0, largest, losses.prod(axis=1)))


def joint_row_objective(others: Floats, y: Floats, weight: Floats) -> RowObjective:
    """Return the weighted joint loss as a function of the losses at one stage.

    Parameters
    ----------
    others : array of shape (n, S - 1)
        Losses of the rows at all other stages, which are held fixed.
    y : array of shape (n,)
        Targets, -1 or 1.
    weight : array of shape (n,)
        Weights of the rows.
    """
    positive = y > 0
    powers, product = np.sum(others**MAX_NORM_ORDER, axis=1), others.prod(axis=1)

    def row_objective(losses: Floats) -> tuple[Floats, Floats]:
        total = np.maximum(powers + losses**MAX_NORM_ORDER, 1e-300)
        largest = total ** (1.0 / MAX_NORM_ORDER)
        value = np.where(positive, largest, product * losses)
        factor = np.where(positive, (losses / largest) ** (MAX_NORM_ORDER - 1.0), product)
        return weight * value, weight * factor

    return row_objective


@dataclass(frozen=True, eq=False)
class AndOrPath:
    """The stages before they are trained together; each penalty gives a cascade.

    Attributes
    ----------
    inputs : StageInputs
        What the stages weigh.
    weight : array of shape (n,)
        Weights of the rows, which add up to one.
    problem : LinearProblem
        That of a single stage which may read all inputs, at penalty 0.
    readable : sequence of bool arrays of shape (q,)
        The inputs that each stage may read.
    starts : sequence of LinearWeights
        Each stage as it is before the stages are trained together.
    """

    inputs: StageInputs
    weight: Floats
    problem: LinearProblem
    readable: Sequence[Mask]
    starts: Sequence[LinearWeights]

    def model(self, knob: Knob) -> Frozen:
        """Return the cascade for one penalty; a stage rejects rows that are more likely class 0."""
        stages = self.train_stages(knob["penalty"])
        return self.inputs.freeze([Stage(*stage, -stage.bias) for stage in stages])

    def knobs(self) -> list[Knob]:
        """Return penalties from the one at which a single stage would buy nothing down to 0."""
        largest = self.problem.largest_penalty(self.weight)
        return [{"penalty": penalty} for penalty in penalty_grid(largest)]

    def train_stages(self, penalty: float) -> list[LinearWeights]:
        """Select inputs in sweeps over the stages; then refit the selected without prices."""
        stages = list(self.starts)
        for _ in range(N_SWEEPS):
            self.sweep(stages, self.readable, penalty)
        if penalty:
            selected = [self.inputs.costs.selected(stage.weights) for stage in stages]
            stages = [
                LinearWeights(np.where(mask, stage.weights, 0.0), stage.bias)
                for stage, mask in zip(stages, selected, strict=True)
            ]
            for _ in range(N_SWEEPS // 2):
                self.sweep(stages, selected, 0.0)
        return stages

    def sweep(self, stages: list[LinearWeights], inputs: Sequence[Mask], penalty: float) -> None:
        """Minimize the joint objective over one stage after the other; modifies `stages`.

        `inputs` are masks (q,) of the inputs that each stage may read.
        """
        Z, y, costs = self.problem.Z, self.problem.y, self.problem.costs
        losses = np.column_stack([LOSS.value(stage.outputs(Z), y) for stage in stages])
        for k, mask in enumerate(inputs):
            row_objective = joint_row_objective(np.delete(losses, k, axis=1), y, self.weight)
            problem = LinearProblem(Z[:, mask], y, row_objective, costs.take(mask), penalty)
            start = LinearWeights(stages[k].weights[mask], stages[k].bias)
            found = problem.minimize(start, STEPS_PER_SWEEP)
            stages[k] = LinearWeights(scatter(found.weights, mask), found.bias)
            losses[:, k] = LOSS.value(stages[k].outputs(Z), y)
