"""A linear support vector machine on all features (002 sec. 2.2.4): no regard to prices at all."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.platt import platt
from thrifty.learn.rivals.rival import Knob, Learner, Rival, Task, TwoClassRival
from thrifty.learn.rivals.stage_inputs import Stage, column_inputs
from thrifty.model import Frozen

__all__ = ["LinearSVMClassifier"]

STEPS = 10_000


class LinearSVMClassifier(TwoClassRival):
    """scikit-learn's `LinearSVC` on standardized columns, with a bill.

    Every row pays for all columns that vary. Probabilities are those of Platt scaling, fitted to
    the training rows.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; they only tell the bill.
    C : float
        Weight of the errors.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Of `LinearSVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.rivals import LinearSVMClassifier
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> LinearSVMClassifier(Prices([1, 5, 20])).fit(X, y).bill(X[:2])
    array([26., 26.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
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

    def _one_learner(self, task: Task) -> Learner:
        return _Machine(task, self._knob(), self.random_state)


class _Machine:
    """The table as the machine reads it."""

    def __init__(self, task: Task, knob: Knob, random_state: Any) -> None:
        self.task, self.knob, self.inputs = task, knob, column_inputs(task)
        self.seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)

    def model(self, knob: Knob) -> Frozen:
        """The machine for a weight of errors."""
        task, Z = self.task, self.inputs.Z
        machine = LinearSVC(C=knob["C"], dual=False, max_iter=STEPS, random_state=self.seed)
        machine.fit(Z, task.codes, sample_weight=task.weight)
        weights, bias = machine.coef_[0], float(machine.intercept_[0])
        outputs = (Z @ weights + bias)[:, np.newaxis]
        weight = np.ones(len(Z)) if task.weight is None else task.weight
        scale, offset = platt(outputs, task.codes, weight, 2)
        return self.inputs.freeze([Stage(scale * weights, scale * bias + float(offset[0]))])

    def knobs(self) -> list[Knob]:
        """There is one machine; no weight of errors makes it cheaper."""
        return [self.knob]
