"""Single linear classifiers.

- `SingleCostClassifier` pays for its inputs: a CSTC tree of only a root (Xu 2014, sec. 3.7.2).
- `LinearSVMClassifier` reads all features without regard to prices (Xu 2014, sec. 2.2.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

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
)
from thrifty.learn.baselines.boosted import BOOSTING_CONSTRAINTS, BoostingSettings
from thrifty.learn.baselines.priced_weights import (
    LinearProblem,
    LinearWeights,
    select_and_refit,
    weighted_sum,
)
from thrifty.learn.baselines.stage_inputs import Stage, StageInputs, column_inputs, tree_inputs
from thrifty.learn.calibration import fit_platt_scaling
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Frozen

__all__ = ["LinearSVMClassifier", "SingleCostClassifier"]

Floats = NDArray[np.float64]

# Iterations of LinearSVC; its default of 1000 is too few for some tables.
MAX_SVM_ITERATIONS = 10_000


class SingleCostClassifier(OneVsRestBaseline):
    """One linear classifier that pays for its inputs by the mixed norm of CSTC.

    Simplifications: only the log-loss; the l1 term of Xu (2014) is a small fixed ridge.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Mean log-loss that one unit of price must save (lambda).
    base : {"raw", "boosted"}
        Whether the inputs are the columns, or boosted trees.
    n_estimators, learning_rate, max_depth, min_samples_leaf, random_state
        Of the boosted trees, as in `GreedyMiserClassifier`.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import SingleCostClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, but more expensive
    >>> y = (X[:, 0] + X[:, 1] > 0).astype(int)
    >>> model = SingleCostClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> model.used(X)[0]
    array([ True,  True, False])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        **BOOSTING_CONSTRAINTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
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
        if self.base == "boosted":
            settings = BoostingSettings.of(self)
            inputs = tree_inputs(train, settings.boost(train, settings.bin(train)))
        else:
            inputs = column_inputs(train)
        weight = normalized_weights(train)
        problem = LinearProblem(inputs.Z, as_signs(train), weighted_sum(weight), inputs.costs)
        return _SingleCostPath(inputs, weight, problem, problem.minimize(problem.zeros))


@dataclass(frozen=True, eq=False)
class _SingleCostPath:
    """The weights at penalty 0, which are the start for every other penalty.

    Attributes
    ----------
    inputs : StageInputs
        What is weighed.
    weight : array of shape (n,)
        Weights of the rows, which add up to one.
    problem : LinearProblem
        The objective at penalty 0.
    unpenalized : LinearWeights
        The solution of `problem`.
    """

    inputs: StageInputs
    weight: Floats
    problem: LinearProblem
    unpenalized: LinearWeights

    def model(self, knob: Knob) -> Frozen:
        """Return the classifier for one penalty."""
        problem = replace(self.problem, penalty=knob["penalty"])
        return self.inputs.freeze([Stage(*select_and_refit(problem, self.unpenalized))])

    def knobs(self) -> list[Knob]:
        """Return penalties from the one at which nothing is bought down to 0."""
        largest = self.problem.largest_penalty(self.weight)
        return [{"penalty": penalty} for penalty in penalty_grid(largest)]


class LinearSVMClassifier(OneVsRestBaseline):
    """scikit-learn's `LinearSVC` on standardized columns, with a bill.

    Every row pays for all columns that vary. Probabilities come from Platt scaling on the training
    rows.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; only the bills depend on them.
    C : float
        Weight of the errors, as in `LinearSVC`.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Of `LinearSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.baselines import LinearSVMClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> LinearSVMClassifier(Prices([1, 5, 20])).fit(X, y).bill(X[:2])
    array([26., 26.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        C: float = 1.0,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.C = C
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"C": float(self.C)}

    def _fit_binary(self, train: TrainingSet) -> FittedPath:
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        inputs = column_inputs(train)
        svm = LinearSVC(C=float(self.C), dual=False, max_iter=MAX_SVM_ITERATIONS, random_state=seed)
        svm.fit(inputs.Z, train.y, sample_weight=train.weight)
        weights, bias = svm.coef_[0], float(svm.intercept_[0])
        outputs = (inputs.Z @ weights + bias)[:, np.newaxis]
        scale, offset = fit_platt_scaling(outputs, train.y, train.weights, 2)
        stage = Stage(scale * weights, scale * bias + float(offset[0]))
        return _SinglePoint(self._knob(), inputs.freeze([stage]))


@dataclass(frozen=True, eq=False)
class _SinglePoint:
    """A path of one point: no other value of C would make the SVM cheaper."""

    knob: Knob
    svm: Frozen

    def model(self, knob: Knob) -> Frozen:
        """Return the SVM."""
        return self.svm

    def knobs(self) -> list[Knob]:
        """Return the knob that the SVM was trained with."""
        return [self.knob]
