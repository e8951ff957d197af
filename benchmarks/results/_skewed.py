"""Sets with few relevant rows that stand in for the skewed Yahoo data of Xu 2014.

Documents of grade 2 or more are relevant. The others are repeated, by a weight, until there are
about a hundred for each relevant one, as in LTR-Skewed (Xu 2014, sec. 3.7.3). Protein homology is
skewed as it is; its blocks take the place of queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from _nodes import nodes_of
from _ranking import family_prices

from thrifty import (
    AnytimeClassifier,
    CostCascadeClassifier,
    CostTreeClassifier,
    GreedyMiserClassifier,
    Prices,
)
from thrifty.data import load
from thrifty.learn.baselines import (
    AdaBoostRSClassifier,
    AndOrClassifier,
    CronusClassifier,
    LinearSVMClassifier,
    ProximityExitClassifier,
)
from thrifty.learn.baselines.early_exit import slack_schedule

LABELS = {"mq2008": "MQ2008", "mslr_sample": "MSLR", "protein_homology": "Protein homology"}
# How often a document that is not relevant is repeated.
TIMES = {"mq2008": 6, "mslr_sample": 17}
# Blocks of proteins for training, validation and test; one in `THIN` training negatives is kept.
BLOCKS = (50, 25, 50)
THIN = 8
TREES = {"n_estimators": 150, "max_depth": 2, "min_samples_leaf": 20, "random_state": 0}
LINEAR = {
    "loss": "log_loss",
    "base": "boosted",
    "n_estimators": 150,
    "max_sweeps": 3,
    "criterion": "loss",
    "random_state": 0,
}
# As in the thesis: T, S and the weight of relevant rows.
AFR = {"n_estimators": 10, "dimensions": 20, "class_weight": {0: 1.0, 1: 2.0}}


class Part:
    """The rows of some queries: X, y (1 if relevant), query and weight of each."""

    def __init__(self, X: Any, y: np.ndarray, query: np.ndarray, times: int) -> None:
        self.X, self.y, self.query = X, y, query
        self.weight = np.where(y == 1, 1.0, times)

    def bill(self, bills: np.ndarray) -> float:
        """Return the mean bill over all documents, including repeated ones."""
        return float(np.average(bills, weights=self.weight))

    def precision(self, scores: np.ndarray) -> float:
        """Return the mean Precision@5 over queries with relevant rows; relevant rows lose ties."""
        found = []
        for query in np.unique(self.query[self.y == 1]):
            rows = np.flatnonzero(self.query == query)
            order = rows[np.lexsort((self.y[rows], -scores[rows]))]
            first = np.repeat(self.y[order], self.weight[order].astype(int))[:5]
            found.append(first.sum() / 5)
        return float(np.mean(found))


def rows_of(data: str, seed: int) -> tuple[Prices, list[Part]]:
    """Return prices, and training, validation and test part: 45, 20 and 35 % of the queries."""
    table = load(data)
    y, query = np.asarray(table.y), np.asarray(table.qid)
    rng = np.random.default_rng(seed)
    queries = rng.permutation(np.unique(query))
    if data in TIMES:
        prices, y, times = family_prices(table), (y >= 2).astype(int), TIMES[data]
        ends = (np.array([0.45, 0.65]) * len(queries)).astype(int)
    else:
        prices, times = Prices(dict.fromkeys(table.X.columns, 1.0)), 1
        queries, ends = queries[: sum(BLOCKS)], np.cumsum(BLOCKS)[:-1]
    parts = []
    for k, some in enumerate(np.split(queries, ends)):
        rows, weight = np.flatnonzero(np.isin(query, some)), times
        if data not in TIMES and k == 0:
            rows, weight = rows[(y[rows] == 1) | (rng.random(len(rows)) < 1 / THIN)], THIN
        parts.append(Part(table.X.iloc[rows], y[rows], query[rows], weight))
    return prices, parts


def learners(method: str, prices: Prices) -> list[Any]:
    """Return the estimators of a method; a point may come from any of them."""
    # Labels are skewed: some are trained with and without class weights.
    class_weights: tuple[dict[str, Any], ...] = ({}, {"class_weight": "balanced"})
    small = {"n_estimators": 50, "max_depth": 2}
    return {
        "AFR": lambda: [AnytimeClassifier(prices, **AFR, random_state=0)],
        "AND-OR": lambda: [AndOrClassifier(prices, base="boosted", **TREES, **class_weights[1])],
        "AdaBoostRS": lambda: [
            AdaBoostRSClassifier(prices, **small, random_state=k) for k in range(3)
        ],
        "CSCC": lambda: [CostCascadeClassifier(prices, **LINEAR, **w) for w in class_weights],
        "CSTC": lambda: [
            CostTreeClassifier(prices, max_depth=2, **LINEAR, **w) for w in class_weights
        ],
        "Cronus": lambda: [
            CronusClassifier(prices, n_stages=5, **TREES, **w) for w in class_weights
        ],
        "Early Exit": lambda: [ProximityExitClassifier(prices, every=5, **TREES)],
        "GreedyMiser": lambda: [GreedyMiserClassifier(prices, **TREES)],
        "linear SVM": lambda: [LinearSVMClassifier(prices)],
    }[method]()


class ExitsWithinQueries:
    """Early exits as in the paper: a row is compared with the fifth best of its query."""

    def __init__(self, model: ProximityExitClassifier, slack: float) -> None:
        self.model, self.slack = model.model_, slack
        self.schema, self.prices = model.schema_, model.prices_

    def measure(self, part: Part) -> tuple[float, np.ndarray]:
        """Return the bill of a part, and the scores of its rows."""
        X = self.schema.encode(part.X)
        ends, running = self.model.ends, self.model.exit_scores(X)
        stop = np.full(len(X), len(ends) - 1)
        for rows in (np.flatnonzero(part.query == query) for query in np.unique(part.query)):
            for k, share in enumerate(slack_schedule(len(ends))[:-1]):
                scores = running[k, rows]
                order = np.argsort(-scores)
                fifth = np.repeat(scores[order], part.weight[rows][order].astype(int))[:5][-1]
                leaves = scores < fifth - self.slack * share
                stop[rows[leaves]] = k
                rows = rows[~leaves]
        bills = np.empty(len(X))
        for k in np.unique(stop):
            trees, rows = self.model.forest.prefix(int(ends[k])), stop == k
            bills[rows] = self.prices.bill(trees.used(X[rows]), ends[k])
        return part.bill(bills), running[stop, np.arange(len(X))]


class Fitted:
    """A frozen model and what it is measured by."""

    def __init__(self, predictor: Any) -> None:
        self.model = predictor

    def measure(self, part: Part) -> tuple[float, np.ndarray]:
        """Return the bill of a part, and the scores of its rows."""
        return part.bill(self.model.bill(part.X)), self.model.predict_proba(part.X)[:, 1]


def fitted_models(
    method: str, prices: Prices, train: Part, validation: Part
) -> Iterator[Fitted | ExitsWithinQueries]:
    """Yield the models of a method."""
    for learner in learners(method, prices):
        rows = (validation.X, validation.y)
        if getattr(learner, "criterion", "loss") != "loss":
            rows = (*rows, validation.query)
        path = learner.path(train.X, train.y, validation=rows, sample_weight=train.weight)
        yield from (Fitted(point.model) for point in path)
    if method == "Early Exit":
        whole = ProximityExitClassifier(prices, slack=None, every=5, **TREES)
        whole.fit(train.X, train.y, sample_weight=train.weight)
        for slack in (0.0, *np.geomspace(0.02, 10, 14), np.inf):
            yield ExitsWithinQueries(whole, slack)


def skewed(data: str, method: str, seed: int) -> list[dict[str, Any]]:
    """Return the points of a method: Precision@5 and bill, and what the nodes of a tree read."""
    prices, (train, validation, test) = rows_of(data, seed)
    # A model that reads every feature is evaluated at least once.
    full = prices.bind(list(train.X.columns)).full + prices.evaluation
    found = []
    for k, fitted in enumerate(fitted_models(method, prices, train, validation)):
        bill, scores = fitted.measure(validation)
        test_bill, test_scores = fitted.measure(test)
        point = {
            # One model for all budgets has no choice: it answers with its last stage.
            "validation": k if method == "AFR" else validation.precision(scores),
            "validation_bill": bill / full,
            "test": test.precision(test_scores),
            "bill": test_bill / full,
        }
        if data == "mslr_sample" and isinstance(fitted, Fitted):
            point["nodes"] = nodes_of(fitted.model, test.X, test.y)
        found.append(point)
    return found
