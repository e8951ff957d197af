"""Blending: a mixture of two points that spends what a budget leaves between them.

The hull of the curve is a chain of points. Between two neighbors lie their blends, in which a
growing share of the rows goes to the dearer one. Followed from its cheap end, this is one row of
models, and it is laid without a look at the bills of the held-out rows: the points go by the bills
that were foreseen on training rows, and a blend deals rows out by a hash. So it can be tested
step by step, each step at the full confidence, up to the first that is not sure to keep the
budget (see `thrifty.frontier.choice`); the last step before keeps it, whichever it is.

Where no two rows have equal keys, the lots of rows to come are as good as drawn anew. The mean bill
of a blend is then the mixture of the two mean bills, and it is bounded through the mixture of the
two bills of each row, which spreads far less than the bills as they are dealt. Where some rows have
equal keys, the bills as they are dealt are bounded.

Keys of a blend: features by which rows are dealt out, bought by every row.

What both models read of every row anyway costs nothing more, nor does what has no price. Rows with
equal keys go the same way, so the keys must tell rows apart; if they do not, the cheapest further
features are added, and paid for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.frontier.checkpoints import digest_of_rows
from thrifty.frontier.choice import check_budget
from thrifty.frontier.confidence import check_confidence, keeps, observations
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.evaluate import Bench
from thrifty.frontier.scoring import quality
from thrifty.frontier.splits import Rows
from thrifty.learn import Point
from thrifty.model import Blend
from thrifty.model.blend import draw_lots

__all__ = ["blend", "find_keys"]

# Rows must fall into so many parts of about equal size; then one part more or less moves the
# mean bill by a twentieth of the way from one model to the other.
FEWEST_PARTS = 20


def find_keys(
    X: NDArray[np.floating], always: NDArray[np.bool_], prices: BoundPrices
) -> NDArray[np.int64] | None:
    """Features to deal rows out by, increasing; None if even all of them do not tell rows apart.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows.
    always : bool array of shape (d,)
        Features that every row reads in both models.
    prices : BoundPrices

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs import Prices
    >>> from thrifty.frontier.blending import find_keys
    >>> X = np.column_stack([np.arange(90) % 2, np.arange(90), np.arange(90.0) ** 2])
    >>> find_keys(X, np.array([True, False, False]), Prices([1, 5, 3]).bind(3))
    array([0, 2])
    """
    keys = set(np.flatnonzero(always).tolist())
    left = [j for j in range(X.shape[1]) if j not in keys]
    while True:
        keys |= {j for j in left if prices.marginal(j, keys) == 0}
        if _parts(X[:, sorted(keys)]) >= FEWEST_PARTS:
            return np.array(sorted(keys), dtype=np.int64)
        left = [j for j in left if j not in keys]
        if not left:
            return None
        keys.add(min(left, key=lambda j: (prices.marginal(j, keys), -_parts(X[:, [j]]), j)))


def _parts(values: NDArray[np.floating]) -> float:
    """Into how many equal parts rows fall by their values, or unequal ones that count as much."""
    # Rows that draw the same lot go the same way.
    _, counts = np.unique(draw_lots(values, 0), return_counts=True)
    return float(len(values) ** 2 / np.sum(counts.astype(np.float64) ** 2))


# Shares that are tried between two points.
STEPS = 100
# Deals of the held-out rows that are compared: the one nearest to the mixture is kept, so that the
# figures that are told are like those to come.
DEALS = 16
# The walk along the hull starts at the last point that is foreseen so many standard errors below
# the budget.
COMFORT = 4.0


def blend(
    curve: Curve,
    budget: float,
    rows: Rows,
    confidence: float | None = 0.95,
    seed: int = 0,
) -> CurvePoint | None:
    """Mix two neighboring points of the hull so that the mean bill comes up to the budget.

    Parameters
    ----------
    curve : Curve
        What `trace` gave.
    budget : float
        Largest mean bill.
    rows : Rows
        The held-out rows of the curve.
    confidence : float or None
        The chance that the blend keeps the budget in the long run, as in `choose`. None takes the
        mean bill of the held-out rows as it is.
    seed : int
        Deals rows out; the blend has this or one of the next few.

    Returns
    -------
    CurvePoint or None
        A blend, or a point of the hull if the walk ends on one. None where there is nothing
        to mix, and for rankings: take the point that `choose` gives. Either keeps its promise;
        to take the better of both after a look at them is to make two promises.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor, Prices
    >>> from thrifty.frontier import choose, trace
    >>> from thrifty.frontier.blending import blend
    >>> from thrifty.frontier.splits import Rows
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> held_out = (X[600:], y[600:])
    >>> learner = GreedyMiserRegressor(prices=Prices([1.0, 50.0]))
    >>> curve = trace(learner, X[:600], y[:600], validation=held_out)
    >>> plain = choose(curve, budget=30)
    >>> mixed = blend(curve, 30, Rows(np.arange(400), *held_out))
    >>> plain.bill, round(mixed.bill)
    (1.0, 29)
    >>> mixed.quality > plain.quality
    True
    """
    budget = check_budget(budget)
    if confidence is not None:
        check_confidence(confidence)
    if curve.task == "ranking":
        return None  # scores of two models put no order on the rows of one query
    return _Hall(curve, rows, budget, confidence, seed).furthest()


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two neighbors of the hull, and what blends of them cost on the held-out rows."""

    first: CurvePoint
    second: CurvePoint
    keys: NDArray[np.int64]
    rows: NDArray[np.floating]
    bills: tuple[NDArray[np.float64], NDArray[np.float64]]
    ceiling: float
    seed: int

    @cached_property
    def even(self) -> bool:
        """Whether lots are as good as drawn anew: no two held-out rows share one."""
        return len(np.unique(self.lots)) == len(self.lots)

    @cached_property
    def lots(self) -> NDArray[np.float64]:
        return draw_lots(self.rows, self.seed)

    def bills_at(self, share: float) -> NDArray[np.float64]:
        """What the promise is made on."""
        if self.even:
            return (1 - share) * self.bills[0] + share * self.bills[1]
        return np.where(self.lots < share, self.bills[1], self.bills[0])

    def seed_at(self, share: float) -> int:
        """The seed whose deal of the held-out rows costs what is due, and no more."""
        if not self.even:
            return self.seed
        due = self.bills_at(share).mean()

        def off(seed: int) -> tuple[bool, float]:
            second = draw_lots(self.rows, seed) < share
            over = float(np.where(second, self.bills[1], self.bills[0]).mean() - due)
            return over > 0, abs(over)

        return min(range(self.seed, self.seed + DEALS), key=off)


class _Hall:
    """The hull of a curve on its held-out rows, and a budget to come up to."""

    def __init__(
        self, curve: Curve, rows: Rows, budget: float, confidence: float | None, seed: int
    ) -> None:
        self.curve = curve
        self.budget = budget
        self.confidence = confidence
        self.seed = seed
        self.encoded = curve.points[0].model.schema.encode(rows.X)
        self.rows = Rows(rows.index, self.encoded, rows.y, rows.qid)
        told = digest_of_rows(self.encoded, rows.y, curve.clusters)
        if told != curve.data:
            raise DataError("rows: these are not the held-out rows that the curve was measured on")

    def furthest(self) -> CurvePoint | None:
        """The last step before the first that does not keep the budget."""
        best: tuple[_Pair, float] | None = None
        for pair, share in self._steps():
            if not self._keeps(pair, share):
                break
            best = pair, share
        if best is None or best[1] == 0.0:
            return None if best is None else best[0].first
        pair, share = best
        return pair.second if share == 1.0 else self._measured(pair, share)

    def _steps(self) -> Iterator[tuple[_Pair, float]]:
        """All steps along the hull, from a point that is comfortably within the budget."""
        for number, (first, second) in enumerate(pairwise(self._chain())):
            pair = self._pair(first, second)
            if pair is None:
                return
            # At share 0 the keys may cost something: a step like the others.
            for step in range(STEPS + 1) if number == 0 else range(1, STEPS + 1):
                yield pair, step / STEPS

    def _chain(self) -> list[CurvePoint]:
        """Points of the hull by foreseen bill; none that costs no more or is no better."""
        points = sorted(self.curve.points, key=lambda point: (_mean(point), -_worth(point)))
        hull: list[CurvePoint] = []
        for point in points:
            if hull and _worth(point) <= _worth(hull[-1]):
                continue
            while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], point):
                hull.pop()
            hull.append(point)
        within = [k for k, point in enumerate(hull) if self._is_comfortable(point)]
        return hull[within[-1] :] if within else []

    def _is_comfortable(self, point: CurvePoint) -> bool:
        if self.confidence is None or point.ceiling <= self.budget:
            return min(point.bill, point.ceiling) <= self.budget
        mean, spread = point.foreseen or (math.inf, 0.0)
        n = len(observations(point.bills, self.curve.clusters))
        return mean + COMFORT * spread / math.sqrt(n) <= self.budget

    def _pair(self, first: CurvePoint, second: CurvePoint) -> _Pair | None:
        """Two neighbors with the keys that blend them; None if no keys can."""
        if not _is_alike(first.model, second.model):
            return None
        models = first.model.model, second.model.model
        prices = first.model.prices
        used = [model.used(self.encoded) for model in models]
        keys = find_keys(self.encoded, np.all(used, axis=(0, 1)), prices)
        if keys is None:
            return None
        for table in used:
            table[:, keys] = True
        trees = [model.evaluations(self.encoded) if prices.evaluation else 0 for model in models]
        bills = prices.bill(used[0], trees[0]), prices.bill(used[1], trees[1])
        supports = np.array([model.support for model in models])
        supports[:, keys] = True
        ceiling = prices.bill(supports, [model.most_evaluations for model in models]).max()
        return _Pair(first, second, keys, self.encoded[:, keys], bills, float(ceiling), self.seed)

    def _keeps(self, pair: _Pair, share: float) -> bool:
        bills = pair.bills_at(share)
        if self.confidence is None:
            return bool(bills.mean() <= self.budget)
        found = observations(bills, self.curve.clusters)
        return keeps(found, self.budget, self.confidence, pair.ceiling)

    def _measured(self, pair: _Pair, share: float) -> CurvePoint:
        first, second, curve = pair.first, pair.second, self.curve
        seed = pair.seed_at(share)
        model = Blend.of(first.model.model, second.model.model, pair.keys, share, seed)
        knob = {"first": first.name, "second": second.name, "share": share, "seed": seed}
        old = first.model
        predictor = Predictor(model, old.schema, old.prices, old.classes, knob, old.provenance)
        measure = quality(curve.scoring, curve.task)
        bench = Bench(self.rows, measure, curve.level, curve.clusters)
        (point,) = bench.measure("blend", [Point(knob, predictor, 0.0, 0.0)])
        return replace(point, ceiling=pair.ceiling)


def _mean(point: CurvePoint) -> float:
    return point.bill if point.foreseen is None else point.foreseen[0]


def _worth(point: CurvePoint) -> float:
    """The steadier measure where there is one, as in the choice."""
    return point.quality if point.clarity is None else float(point.clarity.mean())


def _slope(first: CurvePoint, second: CurvePoint) -> float:
    width = _mean(second) - _mean(first)
    return (_worth(second) - _worth(first)) / width if width > 0 else math.inf


def _is_alike(one: Predictor, other: Predictor) -> bool:
    """Whether two predictors read the same table, at the same prices, into the same answers."""
    return (
        one.schema.plain() == other.schema.plain()
        and one.prices == other.prices
        and one.labels == other.labels
    )
