"""What the three budget estimators share: divide the rows, race the learners, choose a point."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.frontier.choice import check_budget, choose
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.race import Lap, Track, race
from thrifty.frontier.scoring import quality
from thrifty.frontier.splits import Rows, hold_out, take
from thrifty.frontier.tasks import TASKS, learners_named
from thrifty.learn.base import PricedEstimator
from thrifty.learn.targets import queries

__all__ = ["BudgetEstimator", "units"]

# Share of the rows that are held out to choose on.
SHARE = 0.2


class BudgetEstimator(PricedEstimator):
    """The best predictor inside a budget, and the curve that it was chosen from."""

    _task: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "budget": [Real, None],
        "cap": [Real, None],
        "scoring": [str, None],
        "learners": [StrOptions({"auto"}), "array-like", Mapping],
        "confidence": [Interval(Real, 0, 1, closed="neither"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    frontier_: Curve
    """The curve on the validation rows, with the chosen point."""

    laps_: tuple[Lap, ...]
    """What became of each learner in the race."""

    def __init__(
        self,
        prices: Prices | None = None,
        budget: float | None = None,
        cap: float | None = None,
        scoring: str | None = None,
        learners: str | Sequence[Any] | Mapping[str, Any] = "auto",
        confidence: float | None = 0.95,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.budget = budget
        self.cap = cap
        self.scoring = scoring
        self.learners = learners
        self.confidence = confidence
        self.time_limit = time_limit
        self.random_state = random_state

    @property
    def point_(self) -> CurvePoint:
        """The chosen point."""
        chosen = self.frontier_.chosen
        assert chosen is not None
        return chosen

    def at_budget(self, budget: float | None) -> Self:
        """The same fit with another budget: a copy that has chosen anew, without learning.

        Raises
        ------
        BudgetError
            If no point meets the budget.
        """
        return self._with(self._choose(self.frontier_, budget), budget)

    def at_quality(self, quality: float) -> Self:
        """The same fit with the cheapest point that is at least so good on the validation rows.

        Raises
        ------
        BudgetError
            If no point is that good.
        """
        return self._with(self.frontier_.at_quality(quality), None)

    def _fit(
        self,
        X: Any,
        y: NDArray[Any],
        validation: Any,
        units: NDArray[np.int64] | None,
        qid: NDArray[np.int64] | None = None,
    ) -> Self:
        """Divide, race, choose; `units` are groups or queries of rows that stay together."""
        cap = self._checked_limits()
        table = self._as_table(X, reset=False)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        rows = Rows(np.arange(len(y)), table, y, qid)
        train, held_out = self._divide(rows, validation, units, rng)
        track = Track(train, held_out, self._scoring(), stratified=self._task == "classification")
        curve, self.laps_ = race(self._racers(), track, self.time_limit, rng)
        curve = curve if cap is None else curve.within(cap)
        chosen = self._choose(curve, self.budget)
        self.frontier_ = curve.choosing(chosen)
        self._predictor = chosen.model
        return self

    def _choose(self, curve: Curve, budget: float | None) -> CurvePoint:
        if budget is None:  # money is no object
            budget = max(point.ceiling for point in curve.points)
        return choose(curve, budget, self.confidence)

    def _with(self, point: CurvePoint, budget: float | None) -> Self:
        other = copy.copy(self)
        other.budget = budget
        other.frontier_ = self.frontier_.choosing(point)
        other._predictor = point.model
        return other

    def _divide(
        self,
        rows: Rows,
        validation: Any,
        units: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> tuple[Rows, Rows]:
        if validation is not None:
            return rows, self._given(validation)
        strata = rows.y if self._task == "classification" else np.zeros(len(rows))
        learn, choose_on = hold_out(strata, units, SHARE, rng)
        train = take(learn, rows.X, rows.y, rows.qid)
        if self._task == "classification":
            _refuse_absent(rows.y, train.y)
        # Rows of one unit are one observation where figures are said to be sure.
        return train, take(choose_on, rows.X, rows.y, rows.qid if units is None else units)

    def _given(self, validation: Any) -> Rows:
        """Validation rows of the user's own."""
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise DataError("validation: give the table and its target, (X, y), or (X, y, qid)")
        X, y, *qid = validation
        y = np.asarray(y)
        TASKS[self._task].check(y, len(self._as_table(X, reset=False)))
        return Rows(np.arange(len(y)), X, y, np.asarray(qid[0]) if qid else None)

    def _racers(self) -> dict[str, Any]:
        """The learners by name, with the prices and the seed of this estimator."""
        found = self.learners
        if isinstance(found, str):
            found = learners_named((), self._task)
        named = found if isinstance(found, Mapping) else _named(found)
        _refuse_strangers(named)
        return {str(name): self._ready(learner) for name, learner in named.items()}

    def _ready(self, learner: Any) -> Any:
        learner = clone(learner)
        taken = learner.get_params(deep=False)
        seed = check_random_state(self.random_state).randint(2**31)
        settings = {"prices": self.prices, "random_state": seed}
        if taken.get("random_state") is not None:
            del settings["random_state"]
        return learner.set_params(**{k: v for k, v in settings.items() if k in taken})

    def _scoring(self) -> str:
        return quality(self.scoring, self._task).name

    def _checked_limits(self) -> float | None:
        """Check budget and cap before anything is learnt; give the cap."""
        if self.budget is not None:
            check_budget(self.budget)
        return None if self.cap is None else check_budget(self.cap, "cap")


def units(groups: Any, rows: int) -> NDArray[np.int64] | None:
    """Number of the group of each row, where there are groups."""
    return None if groups is None else queries(groups, rows)


def _refuse_absent(y: NDArray[Any], train: NDArray[Any]) -> None:
    absent = np.setdiff1d(y, train).tolist()
    if absent:
        raise DataError(
            f"groups: no row of class {absent[:5]} is left to learn from, as its groups are held "
            "out; give more groups of it, or validation rows of your own"
        )


def _named(learners: Sequence[Any]) -> dict[str, Any]:
    """Learners by the name of their class, with a number where there are several."""
    names = [type(learner).__name__ for learner in learners]
    return {
        name if names.count(name) == 1 else f"{name}-{names[:k].count(name) + 1}": learner
        for k, (name, learner) in enumerate(zip(names, learners, strict=True))
    }


def _refuse_strangers(learners: Mapping[str, Any]) -> None:
    if not learners:
        raise DataError("learners: the list is empty; give at least one, or 'auto'")
    strange = [
        name
        for name, learner in learners.items()
        if isinstance(learner, type) or not hasattr(learner, "path")
    ]
    if strange:
        raise DataError(f"learners: {strange} have no path; give estimators, not classes")
