"""The steps of rows under a policy, from which every cost weight can be read off.

What a row buys does not depend on the cost weight, only when it stops does. So one run at a cost
weight of 0 says where each row would stop at any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.error_costs import class_loss
from thrifty.model import Policy
from thrifty.model.policy import Start, Visit
from thrifty.model.policy.wallets import Wallets

__all__ = ["Outputs", "Trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Outputs(NamedTuple):
    """What rows get at one cost weight.

    `scores` (n, K) are class probabilities, `used` (n, d) the features read, known ones included,
    and `evaluations` (n,) the trees.
    """

    scores: Floats
    used: Bools
    evaluations: Ints


@dataclass(frozen=True, eq=False)
class Trace:
    """Every step of some rows at a cost weight of 0; the first step is before any purchase.

    Parameters
    ----------
    policy : Policy
        The one whose items they buy.
    scores : array of shape (steps, n, K)
        Class probabilities at each step; after the last purchase of a row, those do not change.
    item : int64 array of shape (steps, n)
        What is bought after each step; -1 for nothing.
    price : array of shape (steps, n)
        What that costs, in the unit of the policy; 0 for nothing.
    urgency : array of shape (steps, n)
        See `thrifty.model.policy.Visit`; here it never increases from step to step: a row has
        stopped when any of its steps so far was not above the cost weight. 0 after the last step.
    """

    policy: Policy
    scores: Floats
    item: Ints
    price: Floats
    urgency: Floats

    @classmethod
    def of(
        cls,
        policy: Policy,
        X: NDArray[np.floating],
        start: Start | None = None,
        max_steps: int | None = None,
    ) -> Self:
        """Run the rows X (n, d) through a policy; see `Policy.run`.

        With `max_steps`, the trace ends after so many purchases.
        """
        free = policy.at(0.0)
        scores: list[Floats] = []
        item, price, urgency = [], [], []
        wallets = Wallets.open(policy, len(X))
        before = np.full(len(X), np.inf)
        for visit in free.run(X, start):
            wallets, steps = _record(free, visit, wallets, len(X))
            now = scores[-1].copy() if scores else np.empty((len(X), visit.scores.shape[1]))
            now[visit.rows] = visit.scores
            before = np.minimum(before, steps[2])
            scores.append(now)
            item.append(steps[0])
            price.append(steps[1])
            urgency.append(before)
            if len(item) - 1 == max_steps:
                break
        return cls(policy, np.array(scores), np.array(item), np.array(price), np.array(urgency))

    @classmethod
    def join(
        cls, policy: Policy, traces: Sequence[Trace], rows: Sequence[NDArray[np.intp]]
    ) -> Self:
        """Put the traces of disjoint sets of rows, given by position, into one."""
        steps, n = max(len(trace.item) for trace in traces), sum(map(len, rows))
        joined = cls(
            policy, np.empty((steps, n, traces[0].scores.shape[2])),
            np.full((steps, n), -1, dtype=np.int64), np.zeros((steps, n)), np.zeros((steps, n)),
        )  # fmt: skip
        for trace, some in zip(traces, rows, strict=True):
            end = len(trace.item)
            joined.scores[:end, some] = trace.scores
            joined.scores[end:, some] = trace.scores[-1]
            joined.item[:end, some] = trace.item
            joined.price[:end, some] = trace.price
            joined.urgency[:end, some] = trace.urgency
        return joined

    def at(self, cost_weight: float) -> Outputs:
        """Return what the rows get at a cost weight."""
        buys = self.urgency > cost_weight
        stop = buys.sum(axis=0)
        used = np.tile(self.policy.known, (len(stop), 1))
        for step, item in zip(buys, self.item, strict=True):
            used[step] |= self.policy.reads[item[step]]
        scores = self.scores[stop, np.arange(len(stop))]
        return Outputs(scores, used, (stop + 1) * self.policy.trees_per_step)

    @property
    def spent(self) -> Floats:
        """What the rows have spent at each step, (steps, n), in the unit of the policy."""
        return np.vstack([np.zeros(self.item.shape[1]), np.cumsum(self.price[:-1], axis=0)])

    def losses(self, y: Ints) -> Floats:
        """Return (error + uncertainty) / 2 of the rows at each step, (steps, n)."""
        return class_loss(self.scores, y)

    def cost_weights(self, count: int, weight: Floats | None = None) -> list[float]:
        """Return up to `count` cost weights, largest first, down to 0.

        Mean spending is in geometric progression, from that of the first purchase to all that the
        rows would ever buy. `weight` (n,) are sample weights.
        """
        each = np.ones(self.item.shape[1]) if weight is None else weight / weight.mean()
        bought = self.item >= 0
        urgency, spent = self.urgency[bought], (self.price * each)[bought]
        order = np.argsort(-urgency, kind="stable")
        urgency, total = urgency[order], np.cumsum(spent[order]) / len(each)
        if not len(urgency):
            return [0.0]
        # With a cost weight of the next smaller urgency, all purchases up to a run of equals count.
        ends = np.flatnonzero(np.append(np.diff(urgency) < 0, True))
        smaller = np.append(urgency[ends[1:]], 0.0)
        targets = np.geomspace(total[ends[0]], total[-1], count)
        places = np.searchsorted(total[ends], targets * (1 + 1e-9), side="right") - 1
        return sorted(set(smaller[np.maximum(places, 0)].tolist()), reverse=True)


def _record(
    policy: Policy, visit: Visit, wallets: Wallets, n: int
) -> tuple[Wallets, tuple[Ints, Floats, Floats]]:
    """Return the wallets after a visit, and item, price and urgency (n,) of the purchases."""
    item, price, urgency = np.full(n, -1, dtype=np.int64), np.zeros(n), np.zeros(n)
    goes_on = policy.goes_on(visit.item, visit.urgency)
    rows, chosen = policy.buyers(visit)
    wallets = wallets.take(goes_on)
    spent = wallets.spent
    wallets.buy(policy, chosen)
    item[rows], price[rows] = chosen, wallets.spent - spent
    urgency[rows] = visit.urgency[goes_on]
    return wallets, (item, price, urgency)
