"""One example that buys what its policy chooses, one item at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Walk
from thrifty.model.motive import End, Motive
from thrifty.model.policy.wallets import Wallets

if TYPE_CHECKING:
    from thrifty.model.policy.policy import Policy

__all__ = ["PolicyWalk"]

Floats = NDArray[np.float64]


class PolicyWalk(Walk):
    """The walk of a `Policy`: the known features first, then one item at a time.

    A value that arrives before it is requested waits, so that what is bought depends on the example
    alone. To plan from values that are at hand, walk `Policy.with_known`.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._wallets = Wallets.open(policy, 1)
        self._table = np.full((1, policy.n_features), np.nan)
        self._waiting: dict[int, float] = {}
        self._touched: list[int] = []
        self._steps = 0
        # The item that is being bought, and what each item cost when it was chosen; -1: none yet.
        self._item = -1
        self._quote: tuple[Floats, NDArray[np.bool_]] | None = None
        self._scores: Floats = policy.predictor.score(self._table)[0]
        self._wanted: list[int] = np.flatnonzero(policy.known).tolist()
        if not self._wanted:
            self._plan()

    @property
    def asks(self) -> tuple[int, ...]:
        """The features of the next item; empty when the walk is done."""
        return tuple(self._wanted)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""
        self._waiting.update(values)
        while self._wanted:
            ready = [j for j in self._wanted if j in self._waiting]
            for j in ready:
                self._table[0, j] = self._waiting.pop(j)
            self._touched += ready
            self._wanted = [j for j in self._wanted if j not in ready]
            if self._wanted:
                return
            self._plan()

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of purchase."""
        return tuple(self._touched)

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) from the last complete purchase."""
        return self._scores

    @property
    def evaluations(self) -> int:
        """Trees of both forests, for each step so far."""
        return self._steps * self._policy.trees_per_step

    @property
    def motive(self) -> Motive:
        """What the value forest estimated for the item that is bought, and for the others."""
        if self._quote is None or not self._wanted:
            return Motive(self.asks, note="the model reads it first, at no price")
        policy, (_, affordable) = self._policy, self._quote
        if self._item == policy.first and self._wallets.steps == 1:
            return Motive(self.asks, note="every example buys it first; it says what to buy next")
        table = self._table.copy()
        table[0, policy.reads[self._item]] = np.nan  # values that came since do not count
        value = np.maximum(policy.value.raw(table)[0], 0.0)
        items = [item for item in np.flatnonzero(affordable[0]).tolist() if item != self._item]
        others = tuple(
            (tuple(np.flatnonzero(policy.members[item]).tolist()), float(value[item]))
            for item in items
        )
        return Motive(self.asks, "log_loss", float(value[self._item]), others)

    @property
    def end(self) -> End:
        """Whether nothing is left, nothing fits under the cap, or nothing is worth its price."""
        if self._wallets.bought.all():
            return "complete"
        _, affordable = self._wallets.quote(self._policy)
        return "not_worth_it" if affordable.any() else "cap"

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the trees of as many steps as these features, and those at hand, may allow."""
        known = {*features, *self._waiting}
        steps = len(known) + 1 if known.issuperset(self._wanted) and self._wanted else 0
        return (self._steps + steps) * self._policy.trees_per_step

    def _plan(self) -> None:
        """Score what is bought, and choose the next item or stop."""
        policy, wallets = self._policy, self._wallets
        scores, item, urgency = policy.plan(self._table, wallets)
        self._steps += 1
        self._scores = scores[0]
        if policy.goes_on(item, urgency)[0]:
            already = wallets.bought[0]
            self._item, self._quote = int(item[0]), wallets.quote(policy)
            reads = policy.members[policy.bundle(item)[0] & ~already].any(axis=0)
            wallets.buy(policy, item)
            self._wanted = np.flatnonzero(reads).tolist()
