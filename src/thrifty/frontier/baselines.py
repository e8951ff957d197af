"""What one would do without Thrifty, to compare a choice with.

Two models are trained without prices: plain boosting, tuned on the validation set, and a plain
forest of extremely randomized trees (Geurts et al. 2006). Each is trained on all features, on the
cheapest features that the budget buys for every row, and on those with the largest importance per
price. The final models are trained on all rows but the test set, on which they are measured.

Where the metric depends on a threshold, that of each baseline is chosen on the validation set, as
for the points of a curve; where errors have costs, labels are predicted by them.

A boosted ensemble pays for the features that a row reads on its way through the trees; a forest
fetches all that it may read. If evaluations have a price, half of the budget is for trees and the
other half buys features, so that a baseline within the budget never passes it.

Boosting is tuned by three settings; on more than 20,000 rows, or with many classes, one has to do.
So there are eight boosted fits in all, or four. A forest is trained on 50,000 rows at most.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from thrifty.bundle import Decision
from thrifty.costs import BoundPrices
from thrifty.frontier.results import (
    Interval,
    MeasuredOutputs,
    TestResult,
    TotalCost,
    difference_interval,
)
from thrifty.frontier.scoring import Metric
from thrifty.learn.binned import Binned
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.extra_trees import ExtraTrees, GrownTrees
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Forest

__all__ = [
    "Baseline",
    "PlainModel",
    "PlainModels",
    "best_per_price",
    "cheapest",
]

N_TREES = 300
MAX_FOREST_ROWS = 50_000
# Settings of boosting; where there are more rows, or rows times trees of a round, only the first.
MANY_ROWS, MANY_ROWS_AND_TREES = 20_000, 100_000
MAX_ROUNDS = 300
SETTINGS = (
    {"learning_rate": 0.1, "max_depth": 10, "n_estimators": 200},
    {"learning_rate": 0.1, "max_depth": 6, "n_estimators": MAX_ROUNDS},
    {"learning_rate": 0.2, "max_depth": 4, "n_estimators": MAX_ROUNDS},
)
# Share of the budget that pays for trees, where evaluations have a price.
TREES_SHARE = 0.5
# A baseline is clearly cheaper if it costs at most this share of what the chosen model costs.
CLEARLY_CHEAPER = 0.9


@dataclass(frozen=True)
class Baseline:
    """A model that was trained without prices, on the test set, with 95% confidence intervals.

    Parameters
    ----------
    name : str
    features : int
        Number of features that it reads.
    bill, quality : float
        Means on the test set.
    bill_interval, quality_interval : (float, float)
    difference : float
        Quality of the chosen model minus that of the baseline.
    difference_interval : (float, float)
        Its interval, paired over the rows: both models are measured on the same.
    saving_interval : (float, float)
        Interval of the bill of the baseline minus that of the chosen model, paired.
    ceiling : float
        Upper bound on the bill of any example.
    columns : tuple of str
        Names of the features that it reads.
    total : TotalCost or None
        Mean cost of features and errors, where errors have costs.
    total_saving : float
        Its total minus that of the chosen model, where errors have costs.
    total_saving_interval : (float, float)
        Its interval, paired.
    """

    name: str
    features: int
    bill: float
    quality: float
    bill_interval: Interval
    quality_interval: Interval
    difference: float
    difference_interval: Interval
    saving_interval: Interval
    ceiling: float
    columns: tuple[str, ...]
    total: TotalCost | None = None
    total_saving: float = 0.0
    total_saving_interval: Interval = (0.0, 0.0)

    @classmethod
    def compare(
        cls,
        name: str,
        columns: tuple[str, ...],
        ceiling: float,
        theirs: MeasuredOutputs,
        ours: MeasuredOutputs,
        clusters: NDArray[np.int64] | None,
    ) -> Baseline:
        """Compare a model with the chosen one, both measured on the same rows."""
        totals: dict[str, Any] = {}
        if theirs.errors is not None and ours.errors is not None:
            rows = theirs.bills + theirs.errors, ours.bills + ours.errors
            totals = {
                "total": theirs.total,
                "total_saving": float(rows[0].mean() - rows[1].mean()),
                "total_saving_interval": difference_interval(*rows, clusters),
            }
        return cls(
            name,
            len(columns),
            **vars(theirs.result),
            difference=ours.result.quality - theirs.result.quality,
            difference_interval=difference_interval(ours.gains, theirs.gains, clusters),
            saving_interval=difference_interval(theirs.bills, ours.bills, clusters),
            ceiling=ceiling,
            columns=columns,
            **totals,
        )

    def verdict(
        self,
        chosen: TestResult,
        budget: float | None,
        cap: float | None = None,
        by_total: bool = False,
    ) -> str:
        """Return how it compares with the chosen model on the test set.

        ``"better"`` if it is within the budget and its quality is higher beyond noise;
        ``"cheaper"`` if its quality is no lower and its bill clearly is; ``"ahead"`` if it is
        within the budget and its quality is higher, but within noise; else, and if an example may
        cost more than the cap, ``"behind"``. Without a budget, what the chosen model costs is the
        limit.

        By total, the total of features and errors is compared in place of the quality, and without
        a budget there is no limit; ``"cheaper"`` is not used, as bills count in the total.
        """
        unlimited = math.inf if by_total else chosen.bill
        limit = unlimited if budget is None else max(budget, chosen.bill)
        if self.bill > limit or (cap is not None and self.ceiling > cap):
            return "behind"
        if by_total:
            if self.total_saving_interval[1] < 0:
                return "better"
            return "ahead" if self.total_saving < 0 else "behind"
        if self.difference_interval[1] < 0:
            return "better"
        clearly_cheaper = self.bill < CLEARLY_CHEAPER * chosen.bill and self.saving_interval[1] < 0
        if clearly_cheaper and self.difference <= 0:
            return "cheaper"
        return "ahead" if self.difference < 0 else "behind"


class PlainModel(NamedTuple):
    """A trained baseline: the columns that it reads, and what it outputs for the test set.

    Labels are predicted by the decision, else as `Metric.value` does it.
    """

    name: str
    columns: NDArray[np.intp]
    outputs: ValidationOutputs
    ceiling: float
    decision: Decision | None


class Tuned(NamedTuple):
    """A setting of boosting, and the decision by which its labels are best."""

    setting: dict[str, Any]
    decision: Decision | None


@dataclass(frozen=True, eq=False)
class PlainModels:
    """Train plain models on some columns of a table.

    Parameters
    ----------
    learner : estimator
        Boosting without a penalty, for the task.
    prices : BoundPrices
        The prices of all features.
    train : TrainingSet
        Rows to tune on.
    validation : ValidationSet
        Rows that settings and rounds are chosen on.
    whole : TrainingSet
        Both together: the final models are trained on them.
    test : ValidationSet
        Encoded by the schema of `whole`.
    metric : Metric
    seed : int
    """

    learner: Any
    prices: BoundPrices
    train: TrainingSet
    validation: ValidationSet
    whole: TrainingSet
    test: ValidationSet
    metric: Metric
    seed: int

    def within(self, budget: float) -> Iterator[PlainModel]:
        """Yield boosting and a forest on all features, and on those that the budget buys.

        Sets of features that are empty, or equal to an earlier one, are left out.
        """
        everything = np.arange(len(self.prices.own))
        tuned = self._tune(everything, SETTINGS[:1] if self._many else SETTINGS)
        yield self._boosting("plain boosting on all features", everything, tuned)
        grown = self._grow(self.whole, everything, N_TREES)
        yield self._forest("plain forest on all features", everything, grown)
        most_trees, for_features, price = sys.maxsize, budget, self.prices.evaluation
        if price > 0:
            for_features = (1 - TREES_SHARE) * budget
            most_trees = int((budget - for_features) / price)
        fixed_sets = {
            "the cheapest features": cheapest(self.prices, for_features),
            "the best features per price": best_per_price(
                self.prices, grown.importance, for_features
            ),
        }
        done = [everything.tolist()]
        for name, columns in fixed_sets.items():
            if len(columns) and columns.tolist() not in done:
                done.append(columns.tolist())
                yield from self._on_columns(name, columns, tuned, most_trees)

    def _on_columns(
        self, name: str, columns: NDArray[np.intp], known: Tuned, most_trees: int
    ) -> Iterator[PlainModel]:
        """Yield boosting and a forest on some columns, each with at most `most_trees` trees."""
        rounds = most_trees // self._trees_per_round
        if rounds:
            most = known.setting["n_estimators"] if self._many else MAX_ROUNDS
            limited = {**known.setting, "n_estimators": min(rounds, most)}
            # Fewer features may need fewer rounds.
            tuned = Tuned(limited, known.decision)
            if not self._many:
                tuned = self._tune(columns, [limited])
            yield self._boosting(f"plain boosting on {name}", columns, tuned)
        if most_trees:
            grown = self._grow(self.whole, columns, min(N_TREES, most_trees))
            yield self._forest(f"plain forest on {name}", columns, grown)

    @property
    def _many(self) -> bool:
        """Whether there are so many rows that one setting has to do."""
        n = len(self.train)
        return n > MANY_ROWS or n * self._trees_per_round > MANY_ROWS_AND_TREES

    @property
    def _trees_per_round(self) -> int:
        """Boosting grows a tree for each of more than two classes."""
        return self.whole.n_classes if self.whole.n_classes > 2 else 1

    def _tune(self, columns: NDArray[np.intp], settings: Sequence[dict[str, Any]]) -> Tuned:
        """Return the setting that is best on the validation set, with its number of rounds."""
        train, validation = self.train.take_columns(columns), self.validation.take_columns(columns)
        best, found = -np.inf, Tuned(dict(settings[0]), None)
        for setting in settings:
            learner = clone(self.learner).set_params(**setting)
            model = learner.fit(train, None, validation=validation).model_
            scores = np.asarray(model.score(validation.X))
            decision = self.metric.tune(scores, validation)
            quality = self.metric.value(scores, validation, decision)
            if quality > best:
                rounds = len(model.roots) // self._trees_per_round
                best, found = quality, Tuned({**setting, "n_estimators": max(rounds, 1)}, decision)
        return found

    def _boosting(self, name: str, columns: NDArray[np.intp], tuned: Tuned) -> PlainModel:
        """Boost on all rows but the test set; a row pays for what it reads."""
        learner = clone(self.learner).set_params(**tuned.setting)
        model = learner.fit(self.whole.take_columns(columns), None).model_
        rows = self.test.X[:, columns]
        used = np.zeros((len(self.test), len(self.prices.own)), dtype=bool)
        used[:, columns] = model.used(rows)
        read = columns[model.support]
        return self._bill(name, read, model, used, np.asarray(model.score(rows)), tuned.decision)

    def _grow(self, rows: TrainingSet, columns: NDArray[np.intp], n_trees: int) -> GrownTrees:
        """Grow a forest on these rows, or on a sample of many."""
        if len(rows) > MAX_FOREST_ROWS:
            rng = np.random.default_rng(self.seed)
            rows = rows.take(np.sort(rng.choice(len(rows), MAX_FOREST_ROWS, replace=False)))
        binned = Binned.of(rows.X, rows.categorical, np.random.RandomState(self.seed))
        trees = ExtraTrees(binned, rows.y, rows.n_classes, rows.weight, rows.groups)
        order = _by_name(self.prices)
        return trees.fit(np.array(sorted(columns, key=order)), n_trees, self.seed)

    def _forest(self, name: str, columns: NDArray[np.intp], grown: GrownTrees) -> PlainModel:
        """Bill a forest for all that it may read."""
        model = grown.forest
        read = columns[model.support[columns]]
        used = np.zeros((len(self.test), len(self.prices.own)), dtype=bool)
        used[:, read] = True
        scores = np.asarray(model.score(self.test.X))
        return self._bill(name, read, model, used, scores, self._forest_decision(columns, grown))

    def _forest_decision(self, columns: NDArray[np.intp], grown: GrownTrees) -> Decision | None:
        """Return the decision that is best on the validation set for a forest of training rows."""
        if not self.metric.has_threshold(self.validation):
            return None
        known = self._grow(self.train, columns, len(grown.forest.roots)).forest
        return self.metric.tune(np.asarray(known.score(self.validation.X)), self.validation)

    def _bill(
        self,
        name: str,
        read: NDArray[np.intp],
        model: Forest,
        used: NDArray[np.bool_],
        scores: NDArray[np.float64],
        decision: Decision | None,
    ) -> PlainModel:
        """Bill what the test rows used, and every tree."""
        trees = len(model.roots)
        bought = np.zeros((1, len(self.prices.own)), dtype=bool)
        bought[0, read] = True
        ceiling = float(self.prices.bill(bought, np.full(1, trees))[0])
        bills = self.prices.bill(used, np.full(len(used), trees))
        return PlainModel(name, read, ValidationOutputs(scores, bills), ceiling, decision)


def cheapest(prices: BoundPrices, budget: float) -> NDArray[np.intp]:
    """Return the features, cheapest first, whose total price is within the budget, in order.

    Of equal prices the first by name comes first.

    Examples
    --------
    >>> from thrifty import Prices
    >>> from thrifty.frontier.baselines import cheapest
    >>> cheapest(Prices([5.0, 1.0, 2.0]).bind(3), budget=4.0)
    array([1, 2])
    """
    order = _by_name(prices)
    bought: set[int] = set()
    spent = 0.0
    left = set(range(len(prices.own)))
    while left:
        price, _, feature = min((prices.marginal(j, bought), order(j), j) for j in left)
        if spent + price > budget:
            break
        bought.update(prices.closure([feature]).tolist())  # with what it requires
        left -= bought
        spent += price
    return np.array(sorted(bought), dtype=np.intp)


def best_per_price(
    prices: BoundPrices, importance: NDArray[np.float64], budget: float
) -> NDArray[np.intp]:
    """Return the features with the largest importance per price that fit the budget, in order.

    They are bought one after the other; what does not fit is passed over.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.frontier.baselines import best_per_price
    >>> prices = Prices([5.0, 1.0, 2.0]).bind(3)
    >>> best_per_price(prices, np.array([0.8, 0.01, 0.19]), budget=6.0)
    array([0, 1])
    """
    order = _by_name(prices)
    bought: set[int] = set()
    left = {int(j) for j in np.flatnonzero(importance > 0)}
    spent = 0.0
    while True:
        cost = {j: prices.marginal(j, bought) for j in left}
        fitting = [j for j in left if spent + cost[j] <= budget]
        if not fitting:
            return np.array(sorted(bought), dtype=np.intp)
        ratio = {j: importance[j] / cost[j] if cost[j] > 0 else np.inf for j in fitting}
        best = min(fitting, key=lambda j: (-ratio[j], -importance[j], order(j)))
        left.remove(best)
        bought.add(best)
        spent += cost[best]


def _by_name(prices: BoundPrices) -> Any:
    """Return a key that sorts features by name, or by position where they have no names."""
    return (lambda j: prices.names[j]) if prices.names is not None else int
