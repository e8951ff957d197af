"""Trained policies: one for each fold, their average, and the evidence that they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.policy.evidence import Trace
from thrifty.learn.policy.table import PolicyTable
from thrifty.learn.policy.vector_trees import average_forests
from thrifty.model import Policy
from thrifty.model.policy import Start

__all__ = ["FittedPolicy", "mean_losses"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FittedPolicy:
    """The policies of all folds, their average, and the evidence.

    Parameters
    ----------
    policies : tuple of Policy
        One for each fold; it has not seen the rows of the fold.
    table : PolicyTable
    unit : float
        Prices, caps and 1 / cost weights of the policies are in multiples of it.
    """

    policies: tuple[Policy, ...]
    table: PolicyTable
    unit: float

    @cached_property
    def average(self) -> Policy:
        """The policy of the averaged forests, at a cost weight of 0."""
        predictor = average_forests([policy.predictor for policy in self.policies])
        value = average_forests([policy.value for policy in self.policies])
        return replace(self.policies[0], predictor=predictor, value=value)

    def model(self, cost_weight: float) -> Policy:
        """Return the final policy at a cost weight, in units of the loss per price."""
        return self.average.at(cost_weight * self.unit)

    def with_cap(self, cap: float) -> Self:
        """Return the same policies under another cap; nothing is fitted again.

        The best first item may be another one then: see `choose_first`.
        """
        policies = tuple(policy.with_cap(cap / self.unit) for policy in self.policies)
        return type(self)(policies, self.table, self.unit)

    def with_first(self, item: int) -> Self:
        """Return the same policies, which buy `item` first; -1 for what each estimates best."""
        policies = tuple(policy.with_first(item) for policy in self.policies)
        return type(self)(policies, self.table, self.unit)

    @cached_property
    def trace(self) -> Trace:
        """The training rows, each under the policy that has not seen it."""
        return self.follow()

    def follow(self, max_steps: int | None = None, rows: NDArray[np.intp] | None = None) -> Trace:
        """Trace training rows out of fold, all or some of them, up to some number of purchases.

        Before anything is read all rows are alike. The averaged policy decides for them, so that
        not a whole fold stops there and another goes on.
        """
        table, start = self.table, None
        if not self.average.known.any():
            visit = next(self.average.run(table.X[:1]))
            start = Start(visit.scores[0], int(visit.item[0]), float(visit.urgency[0]))
        rows = np.arange(len(table.X)) if rows is None else rows
        places = [np.flatnonzero(table.fold[rows] == k) for k in range(table.n_folds)]
        traces = [
            Trace.of(policy, table.X[rows[place]], start, max_steps)
            for policy, place in zip(self.policies, places, strict=True)
        ]
        return Trace.join(self.average, traces, places)

    def choose_first(self, n_trials: int = 8, max_steps: int = 6, max_rows: int = 3000) -> Self:
        """Return the policies with the first item that is best out of fold, by trial.

        What is best by itself need not be the best start. The `n_trials` items of the largest
        estimates are tried; one replaces the policy's own choice only if the gain is above its
        standard error. With a cap, the loss where rows end counts; without one, its mean over the
        logarithm of what is spent. No more than `max_steps` purchases are followed, on no more than
        `max_rows` rows.
        """
        average, table = self.average.with_first(-1), self.table
        if len(average.own) < 2:
            return self
        # Every so many rows: a table may be sorted by class.
        rows = np.arange(0, len(table.X), -(-len(table.X) // max_rows))
        start = next(average.run(table.X[:1])).item[0]
        value = average.value.raw(np.where(average.known, table.X[rows], np.nan)).mean(axis=0)
        price = average.own + np.append(average.shared, 0.0)[average.group]
        rate = np.where(price <= average.cap, value / price, -np.inf)
        best = np.argsort(-rate, kind="stable")[:n_trials].tolist()
        tried = [-1, *(k for k in best if rate[k] > 0 and k != start)]
        plans = [self.with_first(k) for k in tried]
        traces = [plan.follow(max_steps, rows) for plan in plans]
        losses = mean_losses(traces, table.y[rows], at_end=math.isfinite(average.cap))
        weight = np.ones(len(rows)) if table.weight is None else table.weight[rows]
        gains = (losses[0] - losses) * (weight / weight.mean())
        error = gains.std(axis=1) / np.sqrt(gains.shape[1])
        return plans[int(np.argmax(gains.mean(axis=1) - error))]

    def cost_weights(self, count: int) -> list[float]:
        """Return cost weights over the whole range of spending, largest first, down to 0."""
        weights = self.trace.cost_weights(count, self.table.weight)
        return [cost_weight / self.unit for cost_weight in weights]


def mean_losses(traces: Sequence[Trace], y: Ints, *, at_end: bool) -> Floats:
    """Return the loss of each row under each trace, (traces, n), to compare them.

    It is the loss `at_end`, or its mean over the logarithm of the mean spending, over the range
    that all traces have in common; before the first purchase of a trace, that of its constant.
    """
    losses = [trace.losses(y) for trace in traces]
    if at_end:
        return np.array([loss[-1] for loss in losses])
    spent = [trace.spent.mean(axis=1) for trace in traces]
    lowest = min(float(steps[1]) if len(steps) > 1 else math.inf for steps in spent)
    highest = min(float(steps[-1]) for steps in spent)
    if not 0 < lowest < highest:
        return np.array([loss[-1] for loss in losses])
    means = []
    for loss, steps in zip(losses, spent, strict=True):
        ends = np.append(steps[1:], np.inf)
        width = np.diff(np.log(np.clip(np.append(lowest, ends), lowest, highest)))
        means.append(width @ loss / width.sum())
    return np.array(means)
