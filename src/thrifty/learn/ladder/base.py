"""Ladders: models on nested sets of features, climbed as long as the next rung pays off.

`Ladder._fit_ladders` has all the steps. The estimators differ in the loss of a row that stops, and
in where its uncertainty comes from.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.bundle import Predictor, States
from thrifty.costs import BoundPrices, PriceList
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedEstimator
from thrifty.learn.crossfit import CrossFit
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.ladder.branching import find_split
from thrifty.learn.ladder.effort import EFFORTS, RungSettings, settings_for
from thrifty.learn.ladder.feature_order import price_of, sold_in_groups
from thrifty.learn.ladder.pace import Pace, Report
from thrifty.learn.ladder.policies import PolicyPlanner, fit_policies
from thrifty.learn.ladder.refit import refit_rungs, replan
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import Rung, fit_rungs, prior_scores
from thrifty.learn.ladder.small_trees import fit_small_trees
from thrifty.learn.ladder.stopping import (
    FittedBranches,
    FittedLadder,
    Plan,
    Planner,
    StoppingEvidence,
    rung_bills,
)
from thrifty.learn.ladder.time_plan import plan_work
from thrifty.learn.long_training_set import LongTrainingSet
from thrifty.learn.point import Point, ValidationOutputs
from thrifty.model import Forest

__all__ = ["EFFORTS", "Ladder"]

Floats = NDArray[np.float64]

# On low budgets it may pay to send every row to the first or second rung, however certain it is.
STARTS = (0, 1, 2)


# Share of the time left that the rungs may take: for values, uncertainty models take some, too.
RUNGS_SHARE = (0.5, 0.75)
# Branches and policies are tried if the time left is so many times that of the plain ladder. A side
# of a split may take this share of it.
BRANCHES_TAKE, POLICIES_TAKE, SIDE_TAKES = 1.5, 4.0, 0.35
# About how much of the work is done after the plain ladder, its branches, and all models.
PLAIN_DONE, BRANCHES_DONE, POINTS_DONE = 0.5, 0.65, 0.95
# Fewer cost weights would make a poor curve.
FEWEST_COST_WEIGHTS = 10
TINY = 1e-9
# Policies are compared with the ladder at every so many of its cost weights.
COMPARED_EVERY = 4
# Standard errors that a split must gain: at the root, and below it.
BRANCH_ERRORS = (3.0, 2.0)


class FittedLadders(NamedTuple):
    """All that was fitted on some rows: the plain ladder, and its challengers if any."""

    rows: LadderRows
    plain: FittedLadder
    branches: FittedBranches | None
    policies: PolicyPlanner | None
    trees: list[Plan]
    pace: Pace


class Ladder(PricedEstimator):
    """Base of the ladders."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "cap": [Interval(Real, 0, None, closed="left"), None],
        "effort": [StrOptions(set(EFFORTS))],
        "folds": [Interval(Integral, 2, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    # Without a validation set, points are measured on the training rows, out of fold.
    cross_fits: ClassVar[bool] = True

    # Who is told how much of the work is done; the clock of the time limit.
    _report: Report | None = None
    _clock: Callable[[], float] = staticmethod(monotonic)

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        cap: float | None = None,
        effort: str = "balanced",
        folds: int = 3,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.cap = cap
        self.effort = effort
        self.folds = folds
        self.time_limit = time_limit
        self.random_state = random_state

    def evidence(self, train: TrainingSet) -> ValidationSet:
        """Return the training rows on which `path` measures points without a validation set.

        Each is scored by models that have not seen it. These are all rows of a small table, and a
        fifth of a large one.
        """
        # Without a fixed seed, another draw would be another division than that of `path`.
        length, crossfit = getattr(self, "_divided", (0, None))
        if crossfit is None or length != len(train):
            crossfit = self._divide(train)
        return train.hold_out(crossfit.rows, train.schema)

    def refit(
        self,
        predictor: Predictor,
        train: LongTrainingSet,
        evidence: ValidationSet,
        report: Report | None = None,
        deadline: float = np.inf,
    ) -> list[Point]:
        """Train the boosted trees of a model of this ladder on all rows of a long table.

        Returns points with these trees, one for each of some cost weights; none if the model has
        no rungs that can be replaced. See `thrifty.learn.ladder.refit`.

        Parameters
        ----------
        predictor : Predictor
            A point of `path`.
        train : LongTrainingSet
        evidence : ValidationSet
            Rows that are not in `train`; thresholds are chosen and points are measured on them.
        report : callable, optional
            Is told which share of the work is done.
        deadline : float
            Time after which no further rung is trained.
        """
        seed = check_random_state(self.random_state).randint(2**31)
        model = refit_rungs(predictor.model, train, seed, report, deadline, self._clock)
        if model is None:
            return []
        if train.classes is None:
            return [Point.measure(predictor.replace(model=model), evidence)]
        points = []
        for cost_weight, plan in replan(model, train.prices, evidence):
            knob = {"kind": "ladder", "rows": len(train), "penalty": cost_weight}
            fitted = predictor.replace(model=plan.model, knob=knob)
            points.append(Point.measure(fitted, evidence, look_up=plan.outputs))
        return points

    def _divide(self, train: TrainingSet) -> CrossFit:
        """Divide the training rows for cross-fitting; with a fixed seed, always the same way."""
        random = check_random_state(self.random_state)
        settings = settings_for(self.effort, train)
        return CrossFit.draw(
            train.y, train.groups, self.folds, settings.repeats, random, settings.one_fold
        )

    def _fit(self, train: TrainingSet, validation: ValidationSet | None) -> Self:
        """Fit the ladder, and freeze the model at the cost weight `penalty`.

        Of the plain ladder, its branches, the policies and the small trees, the one with the least
        cost on the evidence is taken.
        """
        fitted = self._fit_ladders(train, validation)
        ladders = (fitted.plain, fitted.branches)
        plans = [ladder.plan(self.penalty) for ladder in ladders if ladder is not None]
        if fitted.policies is not None:
            planner, cost_weights = fitted.policies
            plans += [planner.plan(cost_weight) for cost_weight in cost_weights]
        plans += fitted.trees
        costs = []
        for plan in plans:
            scores, bills = plan.outputs()
            loss = self._stopping_loss(scores, fitted.rows) + self.penalty * bills
            costs.append(np.average(loss, weights=fitted.rows.evidence_weight))
        model = plans[int(np.argmin(costs))].model
        self._predictor = self._predictor_of(model, train, {"penalty": float(self.penalty)})
        return self

    def _path(self, train: TrainingSet, validation: ValidationSet | None) -> Iterator[Point]:
        """Yield operating points, cheapest first; the constant, at bill 0, is one of them."""
        rows, plain, branches, policies, trees, pace = self._fit_ladders(train, validation)
        measured = self.evidence(train) if validation is None else validation
        points: dict[bytes, Point] = {}

        def add(knob: dict[str, Any], plan: Plan) -> None:
            # Several cost weights may lead to the same model, or to a rung by itself.
            if plan.key not in points:
                look_up = partial(_last_outputs, plan, len(measured))
                predictor = self._predictor_of(plan.model, train, knob)
                interim = partial(_last_interim, plan, len(rows.evidence) - len(measured))
                points[plan.key] = Point.measure(
                    predictor, measured, look_up=look_up, interim=interim
                )

        before = pace.clock()
        for rung in range(len(plain.rungs)):
            add({"rung": rung}, plain.plan_of_rung(rung))
        n_cost_weights = settings_for(self.effort, train).n_cost_weights
        if pace.is_limited:
            # The caller measures the points once more, which takes about twice as long.
            seconds = 3 * len(STARTS) * (pace.clock() - before) / len(plain.rungs)
            in_time = int(pace.seconds_left / max(seconds, TINY))
            n_cost_weights = min(n_cost_weights, max(in_time, FEWEST_COST_WEIGHTS))
        cost_weights = plain.evidence.cost_weights(n_cost_weights)
        if train.error_costs is not None:
            cost_weights.insert(0, 1.0)  # errors and features in one unit
        ladders: dict[str, Planner] = {"ladder": plain}
        if branches is not None:
            ladders["branches"] = branches
        for kind, ladder in ladders.items():
            for start, cost_weight in product(STARTS, cost_weights):
                knob = {"kind": kind, "start": start, "penalty": cost_weight}
                add(knob, ladder.plan(cost_weight, start))
        if policies is not None:
            for cost_weight in policies.cost_weights:
                knob = {"kind": "policy", "penalty": cost_weight}
                add(knob, policies.planner.plan(cost_weight))
        for number, tree in enumerate(trees):
            add({"kind": "tree", "number": number}, tree)
        pace.advance(1.0)
        # Stable: of points with equal bills, the constant comes first.
        return iter(sorted(points.values(), key=lambda point: point.bill))

    def _fit_ladders(self, train: TrainingSet, validation: ValidationSet | None) -> FittedLadders:
        """Fit the plain ladder and, where a feature says which others matter, its branches.

        With a time limit, branches and policies are tried if the plain ladder took little of it.
        """
        pace = Pace(self.time_limit, self._report, self._clock)
        crossfit = self._divide(train)
        self._divided = len(train), crossfit
        random = np.random.RandomState(check_random_state(self.random_state).randint(2**31))
        rows = LadderRows.of(train, validation, crossfit, random)
        settings = settings_for(self.effort, train)
        cap = np.inf if self.cap is None else float(self.cap)
        share = RUNGS_SHARE[train.task == "classification"]
        if pace.is_limited:
            rows, settings = plan_work(rows, settings, pace, share * pace.seconds_left, random)
        pace.begin(0.0, PLAIN_DONE if settings.challengers else POINTS_DONE)
        rungs = fit_rungs(rows, settings, random, cap, pace, share * pace.seconds_left)
        plain = self._join_rungs(rows, rungs, train.prices, frozenset(), random)
        spent = pace.elapsed
        branches, policies = None, None
        if settings.challengers and pace.seconds_left > BRANCHES_TAKE * spent:
            pace.begin(PLAIN_DONE, BRANCHES_DONE)
            branches = self._fit_branches(
                rows, settings, plain, train.prices, frozenset(), random, pace
            )
        pace.begin(BRANCHES_DONE, POINTS_DONE)
        if settings.challengers and pace.seconds_left > POLICIES_TAKE * spent:
            cost_weights = plain.evidence.cost_weights()[::COMPARED_EVERY]
            ladders: list[Planner] = [plain] if branches is None else [plain, branches]
            policies = fit_policies(
                rows, ladders, cost_weights, STARTS, train.prices, self.cap, random
            )
        pace.begin(POINTS_DONE, 1.0)
        trees: list[Plan] = []
        if pace.seconds_left > BRANCHES_TAKE * spent:
            trees = fit_small_trees(rows, train.prices, self.cap)
        return FittedLadders(rows, plain, branches, policies, trees, pace)

    def _fit_branches(
        self,
        rows: LadderRows,
        settings: RungSettings,
        common: FittedLadder,
        prices: BoundPrices,
        bought: frozenset[int],
        random: np.random.RandomState,
        pace: Pace,
        depth: int = 0,
    ) -> FittedBranches | None:
        """Split the rows and fit a ladder on each side; None if no split is worth it.

        The rungs of the common ladder stay available on both sides: where a side has too few rows
        for a better rung of its own, its rows climb on by them.
        """
        if rows.task == "ranking" or depth >= len(BRANCH_ERRORS):
            return None
        if sold_in_groups(rows.prices):  # policies choose the next group of each row
            return None
        split = find_split(rows, bought, BRANCH_ERRORS[depth], random)
        if split is None:
            return None
        bought |= set(prices.closure([split.feature]).tolist())
        if self.cap is not None and price_of(np.array(sorted(bought)), prices) > self.cap:
            return None
        goes_left = split.goes_left(rows.X)
        sides: list[Planner] = []
        parts = rows.split(goes_left, split.feature)
        for part, side in zip(parts, (goes_left, ~goes_left), strict=True):
            kept = side[rows.evidence]
            seconds = SIDE_TAKES * pace.seconds_left
            rungs = fit_rungs(part, settings, random, pace=pace, seconds=seconds)
            rungs += [replace(rung, scores=rung.scores[kept]) for rung in common.rungs[1:]]
            ladder = self._join_rungs(part, rungs, prices, bought, random)
            further = None
            if pace.seconds_left > BRANCHES_TAKE * pace.elapsed:
                further = self._fit_branches(
                    part, settings, ladder, prices, bought, random, pace, depth + 1
                )
            sides.append(further or ladder)
        left, right = sides
        return FittedBranches(split, left, right, goes_left[rows.evidence], prior_scores(rows))

    def _join_rungs(
        self,
        rows: LadderRows,
        rungs: Sequence[Rung],
        prices: BoundPrices,
        bought: frozenset[int],
        random: np.random.RandomState,
    ) -> FittedLadder:
        """Join rungs to a ladder, cheapest first, with the evidence for stopping.

        Rungs above the cap are left out, and so are those of other ladders that are no better than
        a cheaper one.
        """
        weight = rows.evidence_weight
        priced = [
            (price_of(np.union1d(rung.features, sorted(bought)).astype(np.int64), prices), rung)
            for rung in rungs
        ]
        cap = np.inf if self.cap is None else self.cap
        kept: list[Rung] = []
        least = np.inf
        for price, rung in sorted(priced, key=lambda each: each[0]):
            loss = np.average(self._stopping_loss(rung.scores, rows), weights=weight)
            if price <= cap and (not bought or loss < least):
                kept.append(rung)
                least = min(least, float(loss))
        models, uncertainty = self._uncertainty(rows, kept, random)
        bills = rung_bills(kept, models, prices, bought)
        # Evaluations, where they cost anything, may still lead above the cap.
        count = int(np.sum(bills <= cap))
        kept, models, bills = kept[:count], models[:count], bills[:count]
        uncertainty = uncertainty[:count]
        losses = np.array([self._stopping_loss(rung.scores, rows) for rung in kept])
        bill = np.repeat(bills[:, np.newaxis], len(rows.evidence), axis=1)
        evidence = StoppingEvidence(uncertainty, losses, bill, weight)
        costs = rows.error_costs
        decision = None if costs is None else costs.decision
        return FittedLadder(kept, models, prices, evidence, bought, decision)

    @abstractmethod
    def _stopping_loss(self, scores: Floats, rows: LadderRows) -> Floats:
        """Return the loss of the evidence if it stops with these scores, (m,)."""

    @abstractmethod
    def _uncertainty(
        self, rows: LadderRows, rungs: Sequence[Rung], random: np.random.RandomState
    ) -> tuple[list[Forest | None], Floats]:
        """Return an uncertainty model, or None, for each rung, and uncertainties (rungs, m)."""


def _last_outputs(plan: Plan, count: int) -> ValidationOutputs:
    """Return what a plan does with the last rows of the evidence: all, or a validation set."""
    return ValidationOutputs(*(each[-count:] for each in plan.outputs()))


def _last_interim(plan: Plan, first: int) -> list[States]:
    """Return where the rows of the evidence from `first` on were before they stopped."""
    last = []
    for rows, scores, bills in plan.interim():
        kept = rows >= first
        last.append(States(rows[kept] - first, scores[kept], bills[kept]))
    return last
