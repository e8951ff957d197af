"""A policy: one row at a time, it chooses the next purchase from the values seen so far.

Two forests read rows in which everything that is not bought is missing. The *predictor* gives the
class probabilities. The *value forest* estimates, for every item that can be bought, by how much
its values would lower the loss. A row buys the item of the largest estimate per price as long as
that is worth the cost weight, and stops with what the predictor says then.

An *item* is a feature, or several that are bought together. A value that was paid for and came back
missing reads like one that was not bought, but it is not bought again.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Bill, Frozen, Price, pack, sealed, unpack
from thrifty.model.file_checks import entry_problems, layout_problems, shape_problems
from thrifty.model.forest.forest import Forest
from thrifty.model.policy.walk import PolicyWalk
from thrifty.model.policy.wallets import Wallets
from thrifty.model.rounds import Round
from thrifty.untrusted import LARGEST, claim, is_count, is_number, shown

__all__ = ["Policy", "Start", "Visit"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

LAYOUT = {
    "item": ("<i8", 1),
    "own": ("<f8", 1),
    "group": ("<i8", 1),
    "shared": ("<f8", 1),
    "known": ("|b1", 1),
}


class Start(NamedTuple):
    """What the rows do first, if it is given and not computed: the same for all of them.

    Attributes
    ----------
    scores : array (K,)
        Class probabilities before the first purchase.
    item : int
        The first item; -1 for none.
    urgency : float
    """

    scores: Floats
    item: int
    urgency: float


class Visit(NamedTuple):
    """The rows that reach one step, and what they would buy next.

    Attributes
    ----------
    rows : int array (m,)
        Positions of the rows in the table.
    scores : array (m, K)
        Class probabilities from what they have bought so far.
    item : int array (m,)
        The best purchase within the cap; -1 if there is none.
    urgency : array (m,)
        Its estimated reduction of the loss per price, times the uncertainty of the row. It is
        compared with the cost weight; 0 where nothing would help.
    """

    rows: NDArray[np.intp]
    scores: Floats
    item: Ints
    urgency: Floats


@dataclass(frozen=True, eq=False)
class Policy(Frozen):
    """Buy what is estimated to lower the loss most per price, while it is worth the cost weight.

    The first item of a group costs the shared price of the group besides its own. Items of a group
    that have no price of their own come along with the first one that is bought.

    Parameters
    ----------
    predictor : Forest
        Class probabilities of rows in which some values are missing.
    value : Forest
        One output, before the link, for each item: how much it would lower the loss.
    item : array (d,) of int64
        The item that each feature belongs to; -1 for features that are never bought.
    own : array (m,) of float64
        Own price of each item, in any unit: only ratios of prices, cap and 1 / cost weight count.
    group : array (m,) of int64
        Group of each item; -1 for none.
    shared : array (g,) of float64
        Price of each group.
    known : array (d,) of bool
        Features that every row reads first, at no price.
    cost_weight : float
        A row stops when its urgency is not above: the estimated reduction of the loss per price,
        times the uncertainty of the row, one minus its largest class probability.
    cap : float
        Largest sum of prices that a row may spend.
    first : int
        The item that every row buys first, if it buys at all and the cap allows it; -1 for the one
        of the largest estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest, Policy
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(6)
    >>> nodes[0], nodes[3] = (0.0, 1, 0), (0.0, 4, 1)
    >>> values = np.array([[0.0], [-3.0], [0.5], [0.0], [-3.0], [0.6]])
    >>> trees = np.array([0, 3]), np.zeros(2, dtype=np.int64)
    >>> predictor = Forest(nodes, values, *trees, np.zeros(1), "sigmoid", 2)
    >>> value = Forest.constant([0.5, 0.4], "softmax", 2)  # the first feature helps more
    >>> policy = Policy.of(predictor, value, prices=[1.0, 1.0], cost_weight=0.05)
    >>> X = np.array([[-1.0, 1.0], [1.0, 1.0]])
    >>> policy.used(X)  # the first row is certain enough after one feature
    array([[ True, False],
           [ True,  True]])
    """

    kind: ClassVar[str] = "policy"

    predictor: Forest
    value: Forest
    item: Ints
    own: Floats
    group: Ints
    shared: Floats
    known: Bools
    cost_weight: float = 0.0
    cap: float = math.inf
    first: int = -1

    def __post_init__(self) -> None:
        for name in LAYOUT:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @classmethod
    def of(
        cls,
        predictor: Forest,
        value: Forest,
        *,
        prices: Collection[float],
        cost_weight: float = 0.0,
        cap: float = math.inf,
    ) -> Self:
        """Build a policy whose items are all features, one by one, without groups.

        Raises
        ------
        DataError
            If the parts do not fit together.
        """
        own = np.array(prices, dtype=np.float64)
        policy = cls(
            predictor, value, np.arange(len(own)), own, np.full(len(own), -1), np.zeros(0),
            np.zeros(len(own), dtype=bool), float(cost_weight), float(cap),
        )  # fmt: skip
        raise_all(DataError, "policy", list(_problems(policy)))
        return policy

    def at(self, cost_weight: float) -> Self:
        """Return the same policy with another cost weight."""
        return replace(self, cost_weight=float(cost_weight))

    def with_cap(self, cap: float) -> Self:
        """Return the same policy with another cap."""
        return replace(self, cap=float(cap))

    def with_first(self, item: int) -> Self:
        """Return the same policy with another item that every row buys first; -1 for none."""
        return replace(self, first=item)

    def with_known(self, features: Collection[int]) -> Self:
        """Return the policy of rows whose values of some more features are known.

        They cost nothing, and every later choice takes them into account.
        """
        known = self.known.copy()
        known[list(features)] = True
        return replace(self, known=known)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.predictor.n_features

    @property
    def n_scores(self) -> int:
        """Number of classes."""
        return self.predictor.n_scores

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K) from what each row buys."""
        visits = self.run(X)
        scores = next(visits).scores
        for visit in visits:
            scores[visit.rows] = visit.scores
        return scores

    def used(self, X: NDArray[np.floating]) -> Bools:
        """Return which features each row buys, and those that are known, (n, n_features)."""
        used = np.tile(self.known, (len(X), 1))
        for visit in self.run(X):
            rows, item = self.buyers(visit)
            used[rows] |= self.reads[item]
        return used

    def evaluations(self, X: NDArray[np.floating]) -> Ints:
        """Return the trees that each row takes, (n,): those of both forests at every step."""
        steps = np.zeros(len(X), dtype=np.int64)
        for visit in self.run(X):
            steps[visit.rows] += 1
        return steps * self.trees_per_step

    @property
    def most_evaluations(self) -> int:
        """Trees of a row that buys the cheapest items until the cap is reached."""
        cheapest = np.cumsum(np.sort(self.own[self.members.any(axis=1)]))
        # One more item than fits by this sum, which may be rounded.
        steps = min(len(cheapest), int(np.searchsorted(cheapest, self.cap, side="right")) + 1)
        return (1 + steps) * self.trees_per_step

    @property
    def support(self) -> Bools:
        """The known features, and those of the items that do not cost more than the cap."""
        shared = np.append(self.shared, 0.0)[self.group]
        affordable = self.own + shared <= self.cap
        return np.asarray(self.known | self.reads[affordable].any(axis=0))

    def largest_bill(self, bill: Bill, bought: Bools) -> float:
        """Return a bound on the bill of any row.

        If the bills have the prices that the policy plans with, in whatever unit, then the cap
        bounds what a row spends besides what it has bought before; if not, the support does.
        """
        everything = super().largest_bill(bill, bought)
        known, items = bought | self.known, np.flatnonzero(self.members.any(axis=1))
        if not len(items) or not math.isfinite(self.cap):
            return everything
        evaluations = self.most_evaluations
        spent, least = bill(np.stack([known, bought]), np.array([0, 0])).tolist()
        planned = self.own[items] + np.append(self.shared, 0.0)[self.group[items]]
        billed = bill(known | self.members[items], np.zeros(len(items), dtype=np.int64)) - spent
        with np.errstate(over="ignore"):
            factor = float(np.minimum(billed[0] / planned[0], LARGEST))
        if spent != least or not np.array_equal(billed, factor * planned):
            return everything
        nothing = np.zeros((1, self.n_features), dtype=bool)
        of_evaluations = float(bill(nothing, np.array([evaluations]))[0])
        return min(everything, float(spent + factor * self.cap + of_evaluations))

    def rounds(self, X: NDArray[np.floating]) -> Iterator[Round]:
        """Yield the known features, then the purchases of each step."""
        yield Round(np.arange(len(X)), self.known)
        for visit in self.run(X):
            rows, item = self.buyers(visit)
            yield Round(rows, self.reads[item])

    def walk(self, price: Price | None = None) -> PolicyWalk:
        """Start one example; it chooses by the prices of the policy and ignores `price`."""
        return PolicyWalk(self)

    def run(self, X: NDArray[np.floating], start: Start | None = None) -> Iterator[Visit]:
        """Send all rows of X (n, n_features) through the policy, one step at a time.

        `start` replaces what the policy computes before the first purchase.
        """
        self.check_columns(X)
        X = np.asarray(X, dtype=np.float64)
        rows = np.arange(len(X))
        wallets = Wallets.open(self, len(X))
        table = np.where(self.known, X, np.nan)
        while True:
            if start is None:
                scores, item, urgency = self.plan(table, wallets)
            else:
                scores = np.tile(start.scores, (len(X), 1))
                item = np.full(len(X), start.item, dtype=np.int64)
                urgency = np.full(len(X), start.urgency)
                start = None
            visit = Visit(rows, scores, item, urgency)
            yield visit
            goes_on = self.goes_on(item, urgency)
            rows, item = rows[goes_on], item[goes_on]
            if not len(rows):
                return
            wallets = wallets.take(goes_on)
            wallets.buy(self, item)
            table = np.where(self.reads[item], X[rows], table[goes_on])

    def plan(self, table: Floats, wallets: Wallets) -> tuple[Floats, Ints, Floats]:
        """Return scores (n, K), best purchase (n,) and its urgency (n,) of rows.

        In `table` (n, d), what is not bought is missing; all rows must be at the same step.
        """
        scores = self.predictor.score(table)
        nothing = np.full(len(table), -1, dtype=np.int64)
        if not len(self.own):
            return scores, nothing, np.zeros(len(table))
        price, affordable = wallets.quote(self)
        value = self.value.raw(table)
        with np.errstate(over="ignore"):
            rate = np.divide(value, price, out=np.full_like(value, -np.inf), where=affordable)
        item = rate.argmax(axis=1)
        best = np.minimum(rate[np.arange(len(rate)), item], LARGEST)
        uncertainty = 1.0 - scores.max(axis=1)
        urgency = np.maximum(best, 0.0) * np.maximum(uncertainty, 0.0)
        if self.first >= 0 and wallets.steps == 0:
            item = np.where(affordable[:, self.first], self.first, item)
        return scores, np.where(np.isneginf(best), nothing, item), urgency

    def goes_on(self, item: Ints, urgency: Floats) -> Bools:
        """Return which rows buy, (n,)."""
        return np.asarray((item >= 0) & (urgency > self.cost_weight))

    def buyers(self, visit: Visit) -> tuple[NDArray[np.intp], Ints]:
        """Return the rows of a visit that buy, and their items."""
        goes_on = self.goes_on(visit.item, visit.urgency)
        return visit.rows[goes_on], visit.item[goes_on]

    @property
    def trees_per_step(self) -> int:
        """Trees of both forests."""
        return len(self.predictor.roots) + len(self.value.roots)

    @cached_property
    def members(self) -> Bools:
        """Features of each item that are not known, (items, d)."""
        is_member = self.item == np.arange(len(self.own))[:, np.newaxis]
        return np.asarray(is_member & ~self.known)

    def bundle(self, item: Ints) -> Bools:
        """Return the items that some items (n,) bring along, themselves included, (n, items)."""
        group = self.group[item][:, np.newaxis]
        same_group = (self.group == group) & (group >= 0)
        itself = np.arange(len(self.own)) == item[:, np.newaxis]
        return np.asarray((same_group & (self.own == 0)) | itself)

    @cached_property
    def reads(self) -> Bools:
        """Features that are read when an item is bought, (items, d)."""
        reads = self.members.copy()
        for g in np.unique(self.group[(self.own == 0) & (self.group >= 0)]).tolist():
            in_group = self.group == g
            reads[in_group] |= self.members[in_group & (self.own == 0)].any(axis=0)
        return reads

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps; an infinite cap is None there."""
        parts, arrays = pack([self.predictor, self.value])
        cap = self.cap if math.isfinite(self.cap) else None
        plain = {
            "parts": parts, "cost_weight": self.cost_weight, "cap": cap, "first": self.first,
        }  # fmt: skip
        return plain, {**arrays, **{name: getattr(self, name) for name in LAYOUT}}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        raise_all(BundleError, "policy", list(_state_problems(plain, arrays)))
        nested = {name: array for name, array in arrays.items() if name not in LAYOUT}
        predictor, value = unpack(plain["parts"], nested, raw=[1])
        if not (isinstance(predictor, Forest) and isinstance(value, Forest)):
            raise BundleError("policy: predictor and value must be forests")
        cap = math.inf if plain["cap"] is None else plain["cap"]
        own: dict[str, Any] = {name: arrays[name] for name in LAYOUT}
        knobs = {"cost_weight": plain["cost_weight"], "cap": cap, "first": plain["first"]}
        policy = cls(predictor, value, **own, **knobs)
        raise_all(BundleError, "policy", list(_problems(policy)))
        claim(2 * len(policy.own) * policy.n_features, "the items of a policy")
        return policy


def _problems(policy: Policy) -> Iterator[str]:
    """Yield what keeps these from being a policy."""
    d, items, predictor, value = policy.n_features, len(policy.own), policy.predictor, policy.value
    if predictor.n_scores < 2:
        yield "the predictor must give class probabilities"
    if value.n_features != d or len(value.base) != max(items, 1):
        yield f"the value forest must have an output for each of {items} items, and {d} columns"
    if items > d or len(policy.shared) > d:
        yield f"there are {items} items and {len(policy.shared)} groups of {d} features"
        return
    shapes = {"item": (d,), "known": (d,), "group": (items,)}
    shape_faults = list(shape_problems({name: getattr(policy, name) for name in shapes}, shapes))
    yield from shape_faults
    if shape_faults:
        return
    if np.any((policy.item < -1) | (policy.item >= items)):
        yield f"a feature belongs to an item that does not exist; there are {items}"
    if np.any((policy.group < -1) | (policy.group >= len(policy.shared))):
        yield "an item is in a group that does not exist"
        return
    for name in ("own", "shared"):
        price = getattr(policy, name)
        if not ((price >= 0) & (price <= LARGEST)).all():
            yield f"{name} must be finite and not negative"
    if np.any(policy.own + np.append(policy.shared, 0.0)[policy.group] <= 0):
        yield "an item without a price must be among the known features"
    for name in ("cost_weight", "cap"):
        number = getattr(policy, name)
        if type(number) is not float or not is_number(number, 0, math.inf):
            yield f"{name} is {shown(number)}, expected a number from 0 up"
    if policy.cost_weight == math.inf:
        yield "cost_weight must be finite"
    if not is_count(policy.first, -1, items - 1):
        yield f"first is {shown(policy.first)}, expected one of {items} items or -1"


def _state_problems(plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield what is not where `Policy.state` puts it."""
    faults = list(entry_problems(plain, ("parts", "cost_weight", "cap", "first")))
    own = {name: array for name, array in arrays.items() if name in LAYOUT}
    yield from [*faults, *layout_problems(own, LAYOUT)]
    if not faults and (not isinstance(plain["parts"], list) or len(plain["parts"]) != 2):
        yield "the parts must be a predictor and a value forest"
