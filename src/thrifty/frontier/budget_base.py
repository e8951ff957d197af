"""What the three budget estimators share: split the rows, race the learners, choose a point."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.frontier.choice import check_budget, choose
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.race import LearnerResult, race
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.splits import split_rows
from thrifty.frontier.tasks import learners_named
from thrifty.frontier.tracing import check_learners
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PricedEstimator, task_of
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.ladder import EFFORTS

__all__ = ["BudgetEstimator"]

# Share of the rows for the validation set.
SHARE = 0.2


class BudgetEstimator(PricedEstimator):
    """The best predictor within a budget, and the curve that it was chosen from."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "budget": [Real, None],
        "cap": [Real, None],
        "scoring": [str, callable, None],
        "learners": [StrOptions({"auto"}), "array-like", Mapping],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
        "effort": [StrOptions(set(EFFORTS))],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    frontier_: Curve
    """The curve on the validation set, with the chosen point."""

    validation_: ValidationSet
    """The rows that the curve was measured on."""

    metric_: Metric
    """The metric of `scoring`."""

    learner_results_: tuple[LearnerResult, ...]
    """What became of each learner in the race."""

    def __init__(
        self,
        prices: Prices | None = None,
        budget: float | None = None,
        cap: float | None = None,
        scoring: str | Callable[..., float] | None = None,
        learners: str | Sequence[Any] | Mapping[str, Any] = "auto",
        confidence: float | None = 0.95,
        effort: str = "balanced",
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.budget = budget
        self.cap = cap
        self.scoring = scoring
        self.learners = learners
        self.confidence = confidence
        self.effort = effort
        self.time_limit = time_limit
        self.random_state = random_state

    @property
    def point_(self) -> CurvePoint:
        """The chosen point."""
        chosen = self.frontier_.chosen
        assert chosen is not None
        return chosen

    def at_budget(self, budget: float | None) -> Self:
        """Return a copy that uses another budget: it chooses again, without training.

        Raises
        ------
        BudgetError
            If no point meets the budget.
        """
        return self._with_point(self._choose(self.frontier_, budget), budget)

    def at_quality(self, quality: float) -> Self:
        """Return a copy that uses the cheapest point with this quality, without training.

        With the confidence of this estimator, the quality is reached on new data; if the confidence
        is None, it is reached on the validation set.

        Raises
        ------
        BudgetError
            If no point is that good; it names the best one, and the quality that can be asked for.
        """
        return self._with_point(self.frontier_.cheapest(quality, self.confidence), None)

    def _fit(self, whole: TrainingSet, validation: Any) -> Self:
        """Race the learners, and choose a point.

        If all learners cross-fit, all rows are trained on, and points are measured on the same rows
        by models that have not seen them. Otherwise a validation set is held out.
        """
        if self.budget is not None:
            check_budget(self.budget)
        cap = None if self.cap is None else check_budget(self.cap, "cap")
        scoring = self.scoring
        if scoring is None and whole.error_costs is not None:
            scoring = "neg_error_cost"
        self.metric_ = metric = find_metric(scoring, whole.task)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        learners = self.candidates(whole.task)
        train, held_out = whole, None
        if validation is not None:
            held_out = self._read_validation(validation, whole)
        elif not all(getattr(learner, "cross_fits", False) for learner in learners.values()):
            rows, held_rows = split_rows(whole.task, whole.y, whole.groups, SHARE, rng)
            train = whole.sample(rows)
            held_out = whole.hold_out(held_rows, train.schema)
        curve, self.learner_results_ = race(learners, train, held_out, metric, self.time_limit, rng)
        first = next(iter(learners.values()))
        self.validation_ = first.evidence(train) if held_out is None else held_out
        curve = curve if cap is None else curve.within(cap)
        chosen = self._choose(curve, self.budget)
        self.frontier_ = curve.with_chosen(chosen)
        self._predictor = chosen.model
        return self

    def candidates(self, task: str) -> dict[str, Any]:
        """Return the learners by name, with the prices and the seed of this estimator."""
        learners = learners_named((), task) if isinstance(self.learners, str) else self.learners
        if not isinstance(learners, Mapping):
            # By the name of the class, with a number where there are several.
            names = [type(learner).__name__ for learner in learners]
            learners = {
                name if names.count(name) == 1 else f"{name}-{names[:k].count(name) + 1}": learner
                for k, (name, learner) in enumerate(zip(names, learners, strict=True))
            }
        if check_learners(learners, "learners") != task_of(self):
            raise DataError(f"learners: {list(learners)} are not for {task_of(self)}")
        candidates = {}
        # One seed for all: learners that cross-fit must divide the rows alike.
        seed = check_random_state(self.random_state).randint(2**31)
        for name, learner in learners.items():
            taken = learner.get_params(deep=False)
            settings: dict[str, Any] = {"prices": self.prices}
            if isinstance(self.learners, str):
                settings |= {"effort": self.effort, "time_limit": self.time_limit}
            if self.cap is not None:
                settings["cap"] = self.cap
            # Thrifty's own learners get rows that are weighted by class already.
            class_weight = getattr(self, "class_weight", None)
            if class_weight is not None and not isinstance(learner, PricedEstimator):
                settings["class_weight"] = class_weight
            if taken.get("random_state") is None:
                settings["random_state"] = seed
            fitting = {key: value for key, value in settings.items() if key in taken}
            candidates[str(name)] = clone(learner).set_params(**fitting)
        return candidates

    def _choose(self, curve: Curve, budget: float | None) -> CurvePoint:
        if budget is None:  # money is no object
            budget = max(point.ceiling for point in curve.points)
        return choose(curve, budget, self.confidence)

    def _with_point(self, point: CurvePoint, budget: float | None) -> Self:
        """Return a copy of this estimator that uses another point of its curve."""
        other = copy.copy(self)
        other.budget = budget
        other.frontier_ = self.frontier_.with_chosen(point)
        other._predictor = point.model
        return other
