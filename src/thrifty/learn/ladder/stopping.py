"""Choose where rows stop on a ladder, by dynamic programming on rows the rungs have not seen.

A row that stops on rung r costs its loss there, plus the cost weight times the bill of everything
that it has read so far. From the top rung down, each threshold is the uncertainty at which two
kinds of rows cost least together: those up to it, which stop, and those above it, which go on
under the thresholds that have been found already. Branches are planned side by side, with a common
cost weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Decision, States
from thrifty.costs import BoundPrices
from thrifty.learn.ladder.branching import Split
from thrifty.learn.ladder.feature_order import price_of
from thrifty.learn.ladder.rungs import Rung
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Average, Branch, Forest, Frozen, Stages

__all__ = ["FittedBranches", "FittedLadder", "Plan", "Planner", "StoppingEvidence", "rung_bills"]

Floats = NDArray[np.float64]

# The smallest cost weight of a path besides 0: the loss that the ladder saves per unit of its full
# bill, times this share.
SMALLEST_COST_WEIGHT = 1e-3


@dataclass(frozen=True, eq=False)
class StoppingEvidence:
    """What rows would lose and pay if they stopped on each rung.

    Parameters
    ----------
    uncertainty : array of shape (rungs, n)
        Uncertainty of each row on each rung, which is compared with the threshold.
    loss : array of shape (rungs, n)
        Loss of the prediction there.
    bill : array of shape (rungs, n)
        What the row has paid when it gets there.
    weight : array of shape (n,)
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.ladder.stopping import StoppingEvidence
    >>> uncertainty = np.array([[0.1, 0.4], [0.0, 0.0]])
    >>> loss = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> bill = np.array([[0.0, 0.0], [3.0, 3.0]])
    >>> evidence = StoppingEvidence(uncertainty, loss, bill, np.ones(2))
    >>> evidence.thresholds(0.1)  # the second row saves a loss of 1 for a bill of 3
    array([0.25,  inf])
    >>> evidence.thresholds(0.5)
    array([inf, inf])
    """

    uncertainty: Floats
    loss: Floats
    bill: Floats
    weight: Floats

    def thresholds(self, cost_weight: float) -> Floats:
        """Return the best threshold of each rung at a cost weight, (rungs,); the last is +inf.

        Rows of equal uncertainty stop together. Between two rows of different uncertainty, the
        threshold lies in the middle.
        """
        thresholds = np.full(len(self.loss), np.inf)
        go_on = self.loss[-1] + cost_weight * self.bill[-1]
        for r in range(len(self.loss) - 2, -1, -1):
            stop = self.loss[r] + cost_weight * self.bill[r]
            order, ranked, ends = self._ranking[r]
            # What it costs, compared with going on, if the first 0, 1, 2, ... runs of rows stop.
            costs = np.append(0.0, np.cumsum((self.weight * (stop - go_on))[order])[ends])
            # The last of equal costs: what saves nothing is not bought.
            n_runs = len(ends) - int(np.argmin(costs[::-1]))
            if n_runs == 0:
                thresholds[r] = -np.inf
            elif n_runs < len(ends):
                last = ends[n_runs - 1]
                thresholds[r] = float((ranked[last] + ranked[last + 1]) / 2)
            go_on = np.where(self.uncertainty[r] > thresholds[r], go_on, stop)
        return thresholds

    def cost_weights(self, count: int = 100) -> list[float]:
        """Return cost weights for a path: from one at which nothing is bought down to 0."""
        loss = np.average(self.loss, axis=1, weights=self.weight)
        bill = np.average(self.bill, axis=1, weights=self.weight)
        saved = loss[0] - loss.min()
        if saved <= 0 or bill[-1] <= 0:
            return [0.0]
        largest = saved / bill[bill > 0].min()
        smallest = SMALLEST_COST_WEIGHT * saved / bill.max()
        return [*np.geomspace(largest, smallest, count - 1).tolist(), 0.0]

    @cached_property
    def _ranking(self) -> list[tuple[NDArray[np.intp], Floats, NDArray[np.intp]]]:
        """Rows of each rung by uncertainty, these uncertainties, and where runs of equal ones end.

        They are sorted once for all cost weights.
        """
        ranking = []
        for uncertainty in self.uncertainty:
            order = np.argsort(uncertainty, kind="stable")
            ranked = uncertainty[order]
            ranking.append((order, ranked, np.flatnonzero(np.append(np.diff(ranked) > 0, True))))
        return ranking


class Plan(NamedTuple):
    """A frozen model, and what it does with the evidence.

    `key` is equal for equal models of one fit; `outputs` looks up scores and bills of the evidence,
    by models that have not seen it; `interim` looks up where its rows were before they stopped.
    """

    key: bytes
    model: Frozen
    outputs: Callable[[], ValidationOutputs]
    interim: Callable[[], list[States]] = list


class Planner(Protocol):
    """A ladder, branches or policies: anything that has a plan for every cost weight.

    `prices` are those of all features; `bought` are the features that every row has bought before.
    """

    @property
    def prices(self) -> BoundPrices: ...

    @property
    def bought(self) -> frozenset[int]: ...

    def plan(self, cost_weight: float, start: int = 0) -> Plan:
        """Return the plan at a cost weight, if no row stops below rung `start`."""


@dataclass(frozen=True, eq=False)
class FittedLadder:
    """Fitted rungs and the evidence for stopping: all that a model at any cost weight needs.

    Parameters
    ----------
    rungs : list of Rung
        The constant, then the others, cheapest first.
    uncertainty_models : list of (Forest or None)
        The uncertainty model of each rung, if it has one.
    prices : BoundPrices
    evidence : StoppingEvidence
        What the rows would lose and pay on each rung.
    bought : frozenset of int
        Features that every row has bought before it gets to the ladder.
    decision : Decision or None
        Costs of errors, by which the uncertainty of rows is measured.
    """

    rungs: list[Rung]
    uncertainty_models: list[Forest | None]
    prices: BoundPrices
    evidence: StoppingEvidence
    bought: frozenset[int] = frozenset()
    decision: Decision | None = None

    def thresholds(self, cost_weight: float, start: int = 0) -> Floats:
        """Return the best thresholds at a cost weight, (rungs,), if no row stops below `start`.

        They are +inf from the top rung that any row reaches: equal models have equal thresholds.
        """
        if cost_weight not in self._thresholds:
            self._thresholds[cost_weight] = self.evidence.thresholds(cost_weight)
        # A threshold depends on the rungs above it only, so it is the same for every start.
        thresholds = self._thresholds[cost_weight].copy()
        thresholds[: min(start, len(self.rungs) - 1)] = -np.inf
        thresholds[_top(thresholds) :] = np.inf
        return thresholds

    def plan(self, cost_weight: float, start: int = 0) -> Plan:
        """Return the best plan at a cost weight, if no row stops below rung `start`."""
        return self._plan(self.thresholds(cost_weight, start))

    def plan_of_rung(self, rung: int) -> Plan:
        """Return the plan by which every row stops on one rung."""
        thresholds = np.full(len(self.rungs), np.inf)
        thresholds[:rung] = -np.inf
        return self._plan(thresholds)

    def _plan(self, thresholds: Floats) -> Plan:
        """Freeze the model without the rungs where no row stops, and look up its outputs."""
        key = thresholds.tobytes()
        if key in self._plans:
            return self._plans[key]
        kept = np.flatnonzero(thresholds[: _top(thresholds) + 1] > -np.inf)
        rungs, models = [self.rungs[r] for r in kept], [self.uncertainty_models[r] for r in kept]
        frozen: Frozen = rungs[0].model
        if len(kept) > 1:
            uncertainties = [*models[:-1], None]
            frozen = Stages.of(
                [rung.model for rung in rungs], uncertainties, thresholds[kept], self.decision
            )
        climbs = self.evidence.uncertainty[kept] > thresholds[kept, np.newaxis]
        climbs[-1] = False
        # Rows take two bytes in each of some hundred plans; their scores are looked up when needed.
        stops = np.argmin(climbs, axis=0).astype(np.int16)
        bills = rung_bills(rungs, models, self.prices, self.bought)

        def outputs() -> ValidationOutputs:
            scores = rungs[0].scores.copy()
            for place, rung in enumerate(rungs[1:], start=1):
                scores[stops == place] = rung.scores[stops == place]
            return ValidationOutputs(scores, bills[stops])

        def interim() -> list[States]:
            states, first = [], rungs[0].model
            if isinstance(first, Average):  # before it is bought, rows have the prior
                bill = price_of(np.array(sorted(self.bought), dtype=np.int64), self.prices)
                states.append(States.alike(len(stops), first.prior, bill))
            for place, rung in enumerate(rungs[:-1]):
                rows = np.flatnonzero(stops > place)
                states.append(States(rows, rung.scores[rows], np.full(len(rows), bills[place])))
            return states

        self._plans[key] = Plan(key, frozen, outputs, interim)
        return self._plans[key]

    @cached_property
    def _thresholds(self) -> dict[float, Floats]:
        """Thresholds found so far, by cost weight."""
        return {}

    @cached_property
    def _plans(self) -> dict[bytes, Plan]:
        """Plans made so far, by key: many cost weights lead to the same one."""
        return {}


@dataclass(frozen=True, eq=False)
class FittedBranches:
    """A split with a ladder, further branches, or a policy on each side.

    Parameters
    ----------
    split : Split
    left, right : Planner
        A ladder, further branches, or a policy.
    goes_left : bool array of shape (m,)
        Which rows of the evidence go left.
    prior : array of shape (K,) or (1,)
        Scores before the split is known.
    """

    split: Split
    left: Planner
    right: Planner
    goes_left: NDArray[np.bool_]
    prior: Floats

    def plan(self, cost_weight: float, start: int = 0) -> Plan:
        """Join the plans of both sides at the same cost weight."""
        left, right = (side.plan(cost_weight, start) for side in (self.left, self.right))
        feature, threshold, code = self.split
        codes = () if threshold is not None else (code,)
        model = Branch.of(left.model, right.model, feature, self.prior, threshold, codes)

        def outputs() -> ValidationOutputs:
            joined = []
            for ours, theirs in zip(left.outputs(), right.outputs(), strict=True):
                both = np.empty((len(self.goes_left), *ours.shape[1:]))
                both[self.goes_left], both[~self.goes_left] = ours, theirs
                joined.append(both)
            return ValidationOutputs(*joined)

        def interim() -> list[States]:
            bill = price_of(np.array(sorted(self.bought), dtype=np.int64), self.prices)
            states = [States.alike(len(self.goes_left), self.prior, bill)]
            for side, plan in ((self.goes_left, left), (~self.goes_left, right)):
                rows = np.flatnonzero(side)
                states += [state._replace(rows=rows[state.rows]) for state in plan.interim()]
            return states

        key = b"|".join([repr(self.split).encode(), left.key, right.key])
        return Plan(key, model, outputs, interim)

    @property
    def prices(self) -> BoundPrices:
        """Prices of all features."""
        return self.left.prices

    @property
    def bought(self) -> frozenset[int]:
        """Features that every row has bought before it gets to the split."""
        return self.left.bought - {self.split.feature}


def rung_bills(
    rungs: Sequence[Rung],
    uncertainty_models: Sequence[Forest | None],
    prices: BoundPrices,
    bought: frozenset[int] = frozenset(),
) -> Floats:
    """Return what a row has paid when it stops on each of these rungs, (rungs,).

    It has bought the features of all rungs up to there, and been through their models and, but for
    the last rung, through their uncertainty models.
    """
    read = np.zeros((len(rungs), len(prices.own)), dtype=bool)
    read[:, sorted(bought)] = True
    evaluations = np.zeros(len(rungs), dtype=np.int64)
    for r, (rung, model) in enumerate(zip(rungs, uncertainty_models, strict=True)):
        read[r:, rung.features] = True
        evaluations[r:] += rung.model.most_evaluations
        if model is not None and r < len(rungs) - 1:
            evaluations[r:] += model.most_evaluations
    return prices.bill(read, evaluations)


def _top(thresholds: Floats) -> int:
    """Return the highest rung that a row can reach; the last threshold is +inf."""
    return int(np.argmax(thresholds == np.inf))
