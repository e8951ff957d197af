"""Policies as challengers of a ladder: the next feature of each row depends on what it has read.

A policy costs more to train than a ladder on small tables, and is seldom better. So a small one is
fitted first, and compared with the ladder on the evidence, at bills up to those where the ladder
has gained most of what there is to gain. Only if it is better at two of them is a full one fitted.

In branches there is a policy on each side, which knows the features that were split on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.learn.crossfit import LARGE
from thrifty.learn.ladder.rows import FEW_BINS, LadderRows
from thrifty.learn.ladder.stopping import FittedBranches, Plan, Planner
from thrifty.learn.point import ValidationOutputs
from thrifty.learn.policy import FittedPolicy, PolicySettings, fit_policy
from thrifty.learn.policy.evidence import Trace
from thrifty.learn.policy.table import PolicyTable

__all__ = ["PlannedPolicy", "PolicyPlanner", "fit_policies", "lag"]

Floats = NDArray[np.float64]

FULL = PolicySettings(
    states_per_row=4, max_states=24_000, max_cells=1_500_000, n_estimators=100, learning_rate=0.2,
    value_estimators=80, value_learning_rate=0.15, max_features=64,
)  # fmt: skip
# Under a cap on each bill there is no averaging over rows, and a policy gains more.
UNDER_CAP = PolicySettings()
TRIAL = PolicySettings(
    states_per_row=2, min_states=4000, max_states=8000, n_estimators=40, learning_rate=0.3,
    value_estimators=30, value_learning_rate=0.3, max_items=24, max_steps=8, n_first_trials=0,
    max_cells=1_500_000, max_features=64,
)  # fmt: skip
# On tables with few cells, a policy takes most of the time of a fit: fewer, larger steps must do.
FEW_CELLS = 60_000
QUICK = replace(
    FULL, n_estimators=60, learning_rate=0.3, value_estimators=50, value_learning_rate=0.25
)
# Fewer rows, features or cells of the table are not worth a policy: there is little to choose from.
FEWEST_ROWS, FEWEST_FEATURES, FEWEST_CELLS = 1000, 6, 40_000
# Cost weights of a path, and those at which a small policy is compared with the ladder.
N_COST_WEIGHTS, N_COMPARED = 40, 12
# Where a small policy is ahead of the ladder at two bills, a full one is fitted.
# Bills at which the ladder has gained more than this share of what it ever gains do not count.
NEARLY_ALL = 0.95


@dataclass(frozen=True, eq=False)
class PlannedPolicy:
    """A fitted policy, and the evidence under it.

    Parameters
    ----------
    fitted : FittedPolicy
    rows : LadderRows
    prices : BoundPrices
        Those of all features, also of what is bought before.
    bought : frozenset of int
        Features that every row has bought before.
    """

    fitted: FittedPolicy
    rows: LadderRows
    prices: BoundPrices
    bought: frozenset[int]

    def plan(self, cost_weight: float, start: int = 0) -> Plan:
        """Return the policy at a cost weight; `start`, a rung, means nothing here."""
        model = self.fitted.model(cost_weight)

        def outputs() -> ValidationOutputs:
            found = [trace.at(model.cost_weight) for trace in self._traces]
            scores, used, evaluations = (np.concatenate(each) for each in zip(*found, strict=True))
            used[:, sorted(self.bought)] = True
            return ValidationOutputs(scores, self.prices.bill(used, evaluations))

        return Plan(f"policy {cost_weight}".encode(), model, outputs)

    @cached_property
    def _traces(self) -> list[Trace]:
        """The steps of the evidence: training rows out of fold, then the validation rows."""
        traces = [self.fitted.trace]
        beyond = self.rows.X[self.rows.n_train :]
        if len(beyond):
            traces.append(Trace.of(self.fitted.average, beyond))
        return traces


class PolicyPlanner(NamedTuple):
    """Policies, behind the splits of branches if there are any, and their common cost weights."""

    planner: Planner
    cost_weights: list[float]


def fit_policies(
    rows: LadderRows,
    ladders: Sequence[Planner],
    cost_weights: Sequence[float],
    starts: Sequence[int],
    prices: BoundPrices,
    cap: float | None,
    random: np.random.RandomState,
) -> PolicyPlanner | None:
    """Fit policies on the rows of a ladder, or of each side of its branches; None if not worth it.

    Parameters
    ----------
    rows : LadderRows
    ladders : sequence of FittedLadder or FittedBranches
        What they must beat, at these cost weights and rungs to start on: the plain ladder and, if
        there are any, its branches. The last one says where there is a policy.
    cost_weights : sequence of float
    starts : sequence of int
    prices : BoundPrices
        Prices of all features.
    cap : float or None
        Largest bill of any row.
    random : RandomState
    """
    if rows.task != "classification" or not FEWEST_ROWS <= rows.n_train < LARGE:
        return None
    n_features = rows.X.shape[1]
    n_cells = rows.n_train * n_features
    if n_features < FEWEST_FEATURES or n_cells < FEWEST_CELLS:
        return None
    trial = _fit(rows, ladders[-1], prices, cap, random, is_trial=True)
    if lag(trial, ladders, cost_weights, starts, rows) >= 0:
        return None
    return _fit(rows, ladders[-1], prices, cap, random, is_trial=False)


def lag(
    trial: PolicyPlanner,
    ladders: Sequence[Planner],
    cost_weights: Sequence[float],
    starts: Sequence[int],
    rows: LadderRows,
) -> float:
    """Return by how much a policy is behind the best of some ladders where it compares well.

    That is at the bill where it compares best but one: to be ahead at a single bill may be luck. It
    is a share of all that the ladders gain; negative if the policy is ahead. Where they have
    gained nearly everything, nobody needs a policy: these bills do not count. The ladders have the
    plans of the given cost weights and rungs to start on.
    """
    plans = [ladder.plan(*knob) for ladder in ladders for knob in product(cost_weights, starts)]
    figures = sorted(_bill_and_loss(plan, rows) for plan in plans)
    bills, losses = np.array(figures).T
    losses = np.minimum.accumulate(losses)
    start, gained = losses[0], losses[0] - losses[-1]
    if gained <= 0:
        return math.inf
    behind = [math.inf, math.inf]
    for cost_weight in trial.cost_weights:
        bill, loss = _bill_and_loss(trial.planner.plan(cost_weight), rows)
        there = float(np.interp(bill, bills, losses))
        if bill > 0 and start - there < NEARLY_ALL * gained:
            behind.append((loss - there) / gained)
    return sorted(behind)[1]


def _bill_and_loss(plan: Plan, rows: LadderRows) -> tuple[float, float]:
    """Return the mean bill of the evidence, and its mean loss."""
    scores, bills = plan.outputs()
    loss = rows.class_loss(scores)
    weight = rows.evidence_weight
    return float(np.average(bills, weights=weight)), float(np.average(loss, weights=weight))


def _fit(
    rows: LadderRows,
    ladder: Planner,
    prices: BoundPrices,
    cap: float | None,
    random: np.random.RandomState,
    *,
    is_trial: bool,
    bought: frozenset[int] = frozenset(),
    share: float = 1.0,
) -> PolicyPlanner:
    """Fit a policy wherever there is a ladder; those of branches share the work of one."""
    if isinstance(ladder, FittedBranches):
        feature = ladder.split.feature
        before = bought | set(prices.closure([feature]).tolist())
        parts = rows.split(ladder.split.goes_left(rows.X), feature)
        left, right = (
            _fit(
                part, side, prices, cap, random, is_trial=is_trial, bought=before,
                share=share * len(part) / len(rows),
            )
            for part, side in zip(parts, (ladder.left, ladder.right), strict=True)
        )  # fmt: skip
        branches = replace(ladder, left=left.planner, right=right.planner)
        weights = sorted({*left.cost_weights[::2], *right.cost_weights[1::2], 0.0}, reverse=True)
        return PolicyPlanner(branches, weights)
    known = np.zeros(rows.X.shape[1], dtype=bool)
    known[sorted(bought)] = True
    spent = float(prices.bill(known[np.newaxis])[0])
    binned = rows.binned.coarsen(FEW_BINS) if rows.is_side else rows.binned
    table = PolicyTable(
        rows.X[: rows.n_train], rows.y[: rows.n_train], rows.n_classes, rows.fold, binned,
        rows.prices, rows.weight_of(np.arange(rows.n_train)),
    )  # fmt: skip
    seed = np.random.default_rng(random.randint(2**31))
    room = math.inf if cap is None else max(cap - spent, 0.0)
    while cap is not None and room > 0 and spent + room > cap:  # by rounding
        room = math.nextafter(room, 0.0)
    if is_trial:
        settings, n_cost_weights = TRIAL, N_COMPARED
    else:
        full = QUICK if table.X.size < FEW_CELLS else FULL
        settings, n_cost_weights = full if cap is None else UNDER_CAP, N_COST_WEIGHTS
    fitted = fit_policy(table, settings.share(share), seed, free=known, cap=room)
    return PolicyPlanner(
        PlannedPolicy(fitted, rows, prices, bought), fitted.cost_weights(n_cost_weights)
    )
