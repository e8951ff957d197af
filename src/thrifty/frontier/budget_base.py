"""What the three budget estimators share: split the rows, race the learners, choose a point."""

from __future__ import annotations

import copy
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from thrifty.costs import PriceList, Prices
from thrifty.errors import BudgetError, DataError, ResumeError
from thrifty.frontier.choice import choose
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.curve_svg import curve_svg
from thrifty.frontier.evaluate import evaluate_points
from thrifty.frontier.fit_progress import current_report, reporting
from thrifty.frontier.jobs import plain_settings
from thrifty.frontier.operating_points import operating_points
from thrifty.frontier.race import LearnerResult, race
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.several_budgets import (
    Spending,
    choose_within,
    main_amount,
    one_price,
    read_amounts,
    within_caps,
)
from thrifty.frontier.splits import split_rows
from thrifty.frontier.tasks import learners_named
from thrifty.frontier.tracing import check_learners, describe_run
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedEstimator, task_of
from thrifty.learn.cluster import ClusterTrainingSet
from thrifty.learn.cluster.file_rows import share_files, workers_see
from thrifty.learn.cluster.parts import active_client
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.ladder import EFFORTS
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.learn.sampled_training_set import SampledTrainingSet
from thrifty.long_table import Table

__all__ = ["BudgetEstimator"]

# Share of the rows for the validation set.
SHARE = 0.2
# Share of the work on all rows of a table in files that is done when they are binned.
BINS_DONE = 0.3


class BudgetEstimator(PricedEstimator):
    """The best predictor within a budget, and the curve that it was chosen from."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "budget": [Real, Mapping, None],
        "cap": [Real, Mapping, None],
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

    # The rows on which points are measured in other currencies, if there are several budgets.
    _spending: Spending | None = None

    learner_results_: tuple[LearnerResult, ...]
    """What became of each learner in the race."""

    refit_rows_: int = 0
    """Of a table in files: the rows that the chosen model was trained on after the race."""

    # Of a table in files with more rows than were drawn: those that were drawn, and the numbers of
    # those that no model may be trained on.
    _drawn: tuple[SampledTrainingSet, NDArray[np.intp]] | None = None

    def __init__(
        self,
        prices: PriceList | None = None,
        budget: float | Mapping[str, float] | None = None,
        cap: float | Mapping[str, float] | None = None,
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

    @property
    def main_budget(self) -> float | None:
        """The budget in the main currency; None if there is none."""
        return main_amount(self.budget, Prices.of(self.prices).unit)

    @property
    def main_cap(self) -> float | None:
        """The cap in the main currency; None if there is none."""
        return main_amount(self.cap, Prices.of(self.prices).unit, "cap")

    @property
    def has_several_budgets(self) -> bool:
        """Whether there are budgets of more than the main currency: they need held-out rows."""
        if not isinstance(self.budget, Mapping):
            return False
        return len(self.budget) > (self.main_budget is not None)

    def at_budget(self, budget: float | Mapping[str, float] | None) -> Self:
        """Return a copy that uses another budget: it chooses again, without training.

        Budgets of other currencies, and of the latency, need an estimator that was fitted with
        several budgets.

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

    def refit(self) -> Self:
        """Train the chosen point on all rows of the table in files that `fit` has drawn from.

        `fit` does so itself, so this is for `at_budget` and `at_quality`, which choose a point that
        was trained on the rows that were drawn. Boosted trees are trained again, with the same
        features and as many rounds: all of `GreedyMiserClassifier`, and those in the rungs of a
        ladder without branches, whose thresholds are then chosen again. The new points are measured
        on the same rows, which they have not seen either. The best one within the budget, with the
        same confidence, is taken unless it is worse by a standard error; `refit_rows_` is the
        number of rows then, and else 0.
        """
        if self._drawn is None:
            raise DataError("refit: there are no other rows; it is for a Table of many rows")
        return self._refit(np.inf)

    def _refit(self, deadline: float) -> Self:
        """Train the chosen point on all rows, unless there is no time left; see `refit`."""
        self.refit_rows_ = 0
        assert self._drawn is not None
        (train, unseen), point, curve = self._drawn, self.point_, self.frontier_
        learner = self.candidates(train.task).get(point.learner)
        if learner is None or not hasattr(learner, "refit"):
            return self
        if monotonic() >= deadline or self.has_several_budgets:
            return self
        with reporting("all rows", 0, 0):
            report = current_report() or (lambda share: None)
            rows = _all_rows(
                train, unseen, learner, lambda share: report(BINS_DONE * share)
            ).with_class_weight(getattr(self, "class_weight", None))
            points = learner.refit(
                point.model, rows, self.validation_,
                lambda share: report(BINS_DONE + (1 - BINS_DONE) * share), deadline,
            )  # fmt: skip
        if not points:
            return self
        measured = tuple(
            evaluate_points(
                point.learner, points, self.validation_, self.metric_, curve.level, train.X
            )
        )
        try:
            caps = read_amounts(self.cap, train.prices, "cap")
            found = within_caps(replace(curve, points=measured, chosen=None), caps)
            chosen = self._choose(found, self.budget)
        except BudgetError:
            return self
        if _is_worse(chosen, point):
            return self
        self.frontier_ = replace(curve, points=(*curve.points, *found.points)).with_chosen(chosen)
        self._predictor = chosen.predictor()
        self.refit_rows_ = len(rows)
        return self

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen point, and all others of the upper convex hull, to a `.thrifty` file.

        `thrifty.load` reads the chosen one, `thrifty.load_points` all of them, so that a server can
        hold its spend at a budget. To save the chosen one alone, use `predictor_.save`.
        """
        operating_points(self.frontier_, self.predictor_).save(path)

    def _fit(
        self, whole: TrainingSet, validation: Any, resume: str | os.PathLike[str] | None = None
    ) -> Self:
        """Race the learners, and choose a point.

        If all learners cross-fit, all rows are trained on, and points are measured on the same rows
        by models that have not seen them. Otherwise a validation set is held out.
        """
        began = monotonic()
        budgets = read_amounts(self.budget, whole.prices)
        caps = read_amounts(self.cap, whole.prices, "cap")
        scoring = self.scoring
        if scoring is None and whole.error_costs is not None:
            scoring = "neg_error_cost"
        self.metric_ = metric = find_metric(scoring, whole.task)
        seed = None
        if resume is not None:
            if self.random_state is None:
                raise ResumeError("resume: without a random_state, no run is like another; give it")
            seed = plain_settings(self.random_state)  # before numbers are drawn from it
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        learners = self.candidates(whole.task)
        if (one := one_price(whole.prices, budgets, caps)) is not None:
            settings = dict(zip(("prices", "cap"), one, strict=True))
            for learner in learners.values():
                taken = learner.get_params(deep=False)
                learner.set_params(**{name: settings[name] for name in settings if name in taken})
        train, held_out = whole, None
        if validation is not None:
            held_out = self._read_validation(validation, whole)
        elif self.has_several_budgets or not all(
            getattr(learner, "cross_fits", False) for learner in learners.values()
        ):
            rows, held_rows = split_rows(whole.task, whole.y, whole.groups, SHARE, rng)
            train = whole.sample(rows)
            held_out = whole.hold_out(held_rows, train.schema)
        if isinstance(train, SampledTrainingSet) and train.has_others and active_client() is None:
            train.check_room()  # for all rows, before anything is trained
        about = None
        if resume is not None:
            scored = metric.name if isinstance(scoring, str | None) else plain_settings(scoring)
            about = describe_run(train, held_out, scored, seed)
        curve, self.learner_results_ = race(
            learners, train, held_out, metric, self.time_limit, rng, resume, about
        )
        first = next(iter(learners.values()))
        self.validation_ = first.evidence(train) if held_out is None else held_out
        self._spending = None
        if self.has_several_budgets:
            self._spending = Spending(Prices.of(self.prices), self.validation_, train)
            curve = self._spending.main(curve)
        curve = within_caps(curve, caps)
        chosen = self._choose(curve, self.budget)
        self.frontier_ = curve.with_chosen(chosen)
        self._predictor = chosen.predictor()
        self._drawn, self.refit_rows_ = None, 0
        if isinstance(train, SampledTrainingSet) and train.has_others:
            unseen = np.setdiff1d(train.drawn, train.numbers)
            if held_out is None:  # the learners' evidence
                unseen = np.union1d(unseen, train.numbers[self.validation_.positions])
            self._drawn = train, unseen
            self._refit(np.inf if self.time_limit is None else began + self.time_limit)
        return self

    def _read_table(self, table: Table, random: np.random.RandomState) -> TrainingSet:
        """Draw the rows of a table in files on which learners are compared."""
        with reporting("files", 0, 0):
            return SampledTrainingSet.draw(
                task_of(self), table, self.prices, random, current_report()
            )

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
                settings["cap"] = self.main_cap
            # Thrifty's own learners get rows that are weighted by class already.
            class_weight = getattr(self, "class_weight", None)
            if class_weight is not None and not isinstance(learner, PricedEstimator):
                settings["class_weight"] = class_weight
            if taken.get("random_state") is None:
                settings["random_state"] = seed
            fitting = {key: value for key, value in settings.items() if key in taken}
            candidates[str(name)] = clone(learner).set_params(**fitting)
        return candidates

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram and, once fitted, the curve with the chosen point."""
        diagram = str(super()._html_repr())
        return diagram + curve_svg(self.frontier_) if hasattr(self, "frontier_") else diagram

    def _choose(self, curve: Curve, budget: float | Mapping[str, float] | None) -> CurvePoint:
        """Choose the best point within one budget, or within several."""
        prices = curve.points[0].model.prices
        budgets = read_amounts(budget, prices)
        main, *_ = prices.currencies
        if budgets.keys() <= {main}:
            return choose(curve, budgets.get(main, math.inf), self.confidence)
        if self._spending is None:
            raise BudgetError(
                f"budget: points are measured in {main} only; fit with a budget of "
                f"{', '.join(budgets)} first"
            )
        curves = {name: self._spending.measure(curve, name) for name in budgets if name != main}
        return choose_within(curve, {main: curve, **curves}, budgets, self.confidence)

    def _with_point(self, point: CurvePoint, budget: float | Mapping[str, float] | None) -> Self:
        """Return a copy of this estimator that uses another point of its curve."""
        other = copy.copy(self)
        other.budget = budget
        other.frontier_ = self.frontier_.with_chosen(point)
        other._predictor = point.predictor()
        return other


def _all_rows(
    train: SampledTrainingSet,
    held_out: NDArray[np.intp],
    learner: Any,
    report: Callable[[float], None],
) -> LongTrainingSet | ClusterTrainingSet:
    """Bin all rows of a table in files: on a cluster, if there is one that the learner can use."""
    client = active_client() if getattr(learner, "_reads_dask", False) else None
    if client is None:
        return train.all_rows(held_out, report)
    if not workers_see(client, train.source):
        warnings.warn(
            f"cluster: not every worker can read {train.source.files[0]} and the other files; the "
            "chosen model is trained on all rows here",
            stacklevel=2,
        )
        return train.all_rows(held_out, report)
    return share_files(train, held_out, client)


def _is_worse(point: CurvePoint, other: CurvePoint) -> bool:
    """Return whether a point is worse than another on the same rows, by a standard error."""
    lost = other.smooth_gains - point.smooth_gains
    if point.totals is not None and other.totals is not None:
        lost = point.totals - other.totals
    return bool(lost.mean() > lost.std() / np.sqrt(len(lost)))
