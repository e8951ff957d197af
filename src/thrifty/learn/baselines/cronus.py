"""Cronus: boosted trees reweighted and reordered into a cascade (Chen et al. 2012).

Trees are boosted without regard to prices. Each stage of the cascade then fits new weights of
the trees to the rows that reach it, and pays for what no earlier stage has bought; it sends on the
rows of high score. The fewer rows reach a stage, the less its purchases count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.baselines.base import (
    BaselineClassifier,
    FittedPath,
    Knob,
    OneVsRestBaseline,
    as_signs,
    normalized_weights,
    penalty_grid,
    weighted_quantile,
)
from thrifty.learn.baselines.boosted import BOOSTING_CONSTRAINTS, BoostingSettings
from thrifty.learn.baselines.priced_weights import (
    InputCosts,
    LinearProblem,
    LinearWeights,
    select_and_refit,
    weighted_sum,
)
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, tree_inputs
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Frozen

__all__ = ["CronusClassifier"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

# A stage is trained only if at least this many rows of each class reach it.
MIN_ROWS_PER_CLASS = 10
# Values that differ by less than this, relative to their size, differ by rounding only.
ROUNDING_TOL = 1e-9


class CronusClassifier(OneVsRestBaseline):
    """A cascade that rejects rows of the first class stage by stage (Chen et al. 2012).

    Simplifications: the paper optimizes all stages together, repeatedly; here each is trained
    once, from the first to the last, on the log-loss. A stage that would buy nothing new is left
    out, while the paper keeps it as one that lets every row pass.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features and evaluations of trees cost; by default one unit per feature.
    penalty : float
        Mean log-loss that one unit of price must save at the first stage (lambda). At 0 there is
        one stage, which weighs all trees.
    n_stages : int
        Largest number of stages.
    keep : float
        Share of the rows of the first class that a stage sends on. From each stage to the next the
        penalty is multiplied by it.
    n_estimators, learning_rate, max_depth, min_samples_leaf, class_weight, random_state
        As in `GreedyMiserClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import CronusClassifier
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = ((X[:, 0] > 0.5) & (X[:, 1] > 0)).astype(int)
    >>> model = CronusClassifier(Prices([1, 20]), penalty=0.1, max_depth=1).fit(X, y)
    >>> np.unique(model.bill(X))  # rows that are low in the first column never buy the second
    array([ 1., 21.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "n_stages": [Interval(Integral, 1, None, closed="left")],
        "keep": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        n_stages: int = 10,
        keep: float = 0.5,
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
        self.keep = keep
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"penalty": float(self.penalty)}

    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        settings = BoostingSettings.of(self)
        inputs = tree_inputs(train, settings.boost(train, settings.bin(train)))
        y, weight = as_signs(train), normalized_weights(train)
        every_row = np.ones(len(train), dtype=bool)
        problem = _stage_problem(inputs, y, weight, every_row, inputs.costs, penalty=0.0)
        unpenalized = problem.minimize(problem.zeros)
        return _CronusPath(inputs, y, weight, problem, unpenalized, self.n_stages, self.keep)


def _stage_problem(
    inputs: StageInputs, y: Floats, weight: Floats, reached: Mask, costs: InputCosts, penalty: float
) -> LinearProblem:
    """Set up a stage for the rows that reach it, whose weights then add up to one."""
    row_objective = weighted_sum(weight[reached] / weight[reached].sum())
    return LinearProblem(inputs.Z[reached], y[reached], row_objective, costs, penalty)


@dataclass(frozen=True, eq=False)
class _CronusPath:
    """The boosted trees as inputs of linear stages; each penalty gives a cascade.

    Attributes
    ----------
    inputs : StageInputs
        Values of the boosted trees.
    y : array of shape (n,)
        Targets, -1 or 1.
    weight : array of shape (n,)
        Weights of the rows, which add up to one.
    problem : LinearProblem
        That of a single stage for all rows at penalty 0.
    unpenalized : LinearWeights
        The solution of `problem`.
    n_stages, keep
        As in `CronusClassifier`.
    """

    inputs: StageInputs
    y: Floats
    weight: Floats
    problem: LinearProblem
    unpenalized: LinearWeights
    n_stages: int
    keep: float

    def model(self, knob: Knob) -> Frozen:
        """Train the cascade for one penalty."""
        if knob["penalty"] == 0:
            return self.inputs.freeze([Stage(*self.unpenalized)])
        return self.inputs.freeze(self._train_stages(knob["penalty"]))

    def knobs(self) -> list[Knob]:
        """Return penalties from the one at which the first stage buys nothing down to 0."""
        largest = self.problem.largest_penalty(self.weight)
        return [{"penalty": penalty} for penalty in penalty_grid(largest)]

    def _train_stages(self, penalty: float) -> list[Stage]:
        """Train stage after stage, each on the rows that reach it."""
        y, costs = self.y, self.inputs.costs
        stages, reached = list[Stage](), np.ones(len(y), dtype=bool)
        bought = np.zeros(len(costs.prices), dtype=bool)
        for k in range(self.n_stages):
            unpaid = replace(costs, prices=np.where(bought, 0.0, costs.prices))
            problem = _stage_problem(
                self.inputs, y, self.weight, reached, unpaid, penalty * self.keep**k
            )
            found = select_and_refit(problem, self.unpenalized)
            paid = costs.paid(found.weights)
            if not np.any(paid & ~bought):
                continue
            bought |= paid
            stages.append(self._add_threshold(found, reached))
            reached = reached & (self.inputs.Z @ found.weights > stages[-1].threshold)
            n_smaller_class = min(np.sum(reached & (y > 0)), np.sum(reached & (y < 0)))
            if n_smaller_class < MIN_ROWS_PER_CLASS:
                break
        return stages or [self._add_threshold(found, reached)]

    def _add_threshold(self, found: LinearWeights, reached: Mask) -> Stage:
        """Make a stage that sends on a share `keep` of the rows of class 0 that reach it."""
        values = self.inputs.Z @ found.weights
        negative = reached & (self.y < 0)
        last = weighted_quantile(values[negative], self.weight[negative], 1.0 - self.keep)
        # Halfway to the next value: trees have few values, and rounding must not decide.
        above = values[reached & (values > last + ROUNDING_TOL * max(abs(last), 1.0))]
        threshold = (last + float(above.min())) / 2 if len(above) else last + 1.0
        return Stage(found.weights, found.bias, threshold)
