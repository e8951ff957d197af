"""Cascades on skewed ranking data: Precision@5 against the bill, beside the rivals of CSCC.

As the thesis makes LTR-Skewed: documents of high grade are relevant, the others are repeated until
there are about a hundred for each relevant one. mslr_sample and mq2008 stand in for Yahoo; a
feature has the price of its family, in evaluations of a tree. Queries are
dealt to training, validation and test twice; within a budget each method answers with the
point that is best on the validation queries.
"""

from __future__ import annotations

import numpy as np

from thrifty import CostCascadeClassifier, GreedyMiserClassifier, Prices
from thrifty.data import load
from thrifty.learn.baselines import (
    AdaBoostRSClassifier,
    AndOrClassifier,
    CronusClassifier,
    EarlyExitClassifier,
    ProximityExitClassifier,
    SingleCostClassifier,
)
from thrifty.learn.baselines.early_exit import slacks

SETS = {"mslr_sample": (2, 17), "mq2008": (2, 6)}  # least relevant grade, times a negative counts
# Of one feature, in trees: numbers as Yahoo's, set by what it takes to have them.
FAMILIES = {
    "url": 1,
    "quality_model": 5,
    "title": 5,
    "link_graph": 20,
    "body": 50,
    "whole_document": 50,
    "anchor": 100,
    "click_log": 200,
}
SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
DEALS = 2
TREES = {"n_estimators": 150, "max_depth": 2, "min_samples_leaf": 20, "random_state": 0}


class Part:
    """Rows of some queries."""

    def __init__(self, X, y, query, times):
        self.X, self.y, self.query = X, y, query
        self.weight = np.where(y == 1, 1.0, times)

    def bill(self, bills):
        """Mean over all documents, those that are repeated included."""
        return float(np.average(bills, weights=self.weight))

    def precision(self, scores):
        """Mean Precision@5 over the queries with a relevant row; ties count against the model."""
        found = []
        for query in np.unique(self.query[self.y == 1]):
            rows = np.flatnonzero(self.query == query)
            order = rows[np.lexsort((self.y[rows], -scores[rows]))]
            first = np.repeat(self.y[order], self.weight[order].astype(int))[:5]
            found.append(first.sum() / 5)
        return float(np.mean(found))


def deal(name, seed):
    """Prices, and three parts: queries to learn from, to choose by, to test on."""
    table = load(name)
    grade, times = SETS[name]
    y, query = (np.asarray(table.y) >= grade).astype(int), np.asarray(table.qid)
    queries = np.random.default_rng(seed).permutation(np.unique(query))
    ends = (np.array([0.45, 0.65]) * len(queries)).astype(int)
    parts = []
    for some in np.split(queries, ends):
        rows = np.flatnonzero(np.isin(query, some))
        parts.append(Part(table.X.iloc[rows], y[rows], query[rows], times))
    groups = table.prices.groups
    own = {feature: FAMILIES[family] for family in groups for feature in groups[family]}
    return Prices(own, evaluation=1), parts


def rivals(prices):
    """Every method under its name, with the estimators whose points it may choose from."""
    trees = {"prices": prices, **TREES}
    # Labels are skewed: linear stages are learnt as they are and with both classes made even.
    each = ({}, {"class_weight": "balanced"})
    small = {"n_estimators": 50, "max_depth": 2}
    return {
        "Early Exit, score": [EarlyExitClassifier(every=5, **trees)],
        "Early Exit, proximity": [ProximityExitClassifier(every=5, **trees)],
        "Cronus": [CronusClassifier(n_stages=5, **trees, **weight) for weight in each],
        "AND-OR": [AndOrClassifier(base="boosted", **trees, **each[1])],
        "AdaBoostRS": [AdaBoostRSClassifier(prices, **small, random_state=k) for k in range(3)],
        "single classifier": [
            SingleCostClassifier(base="boosted", **trees, **weight) for weight in each
        ],
        "GreedyMiser": [GreedyMiserClassifier(**trees)],
        "CSCC": [
            CostCascadeClassifier(
                prices, base="boosted", n_estimators=60, max_sweeps=3, random_state=0, **weight
            )
            for weight in each
        ],
    }


def points_of(estimators, train, validation):
    """Models of all points, with bill and precision on the validation queries."""
    for estimator in estimators:
        held = (validation.X, validation.y)
        path = estimator.path(train.X, train.y, validation=held, sample_weight=train.weight)
        for point in path:
            yield point.model, *measure(point.model, validation)


def measure(model, part):
    """Bill and precision of a model on a part."""
    return part.bill(model.bill(part.X)), part.precision(model.predict_proba(part.X)[:, 1])


class WithinQueries:
    """Early exits as the paper has them: a row keeps up with the fifth best of its query."""

    def __init__(self, model, slack):
        self.cascade, self.schema, self.prices = model.model_, model.schema_, model.prices_
        self.slack = slack

    def measure(self, part):
        """Bill and precision on a part."""
        X = self.schema.encode(part.X)
        ends, running = self.cascade.ends, self.cascade.running(X)
        stop = np.full(len(X), len(ends) - 1)
        for rows in (np.flatnonzero(part.query == query) for query in np.unique(part.query)):
            for k, share in enumerate(slacks(len(ends))[:-1]):
                scores = running[k, rows]
                order = np.argsort(-scores)
                fifth = np.repeat(scores[order], part.weight[rows][order].astype(int))[:5][-1]
                leaves = scores < fifth - self.slack * share
                stop[rows[leaves]] = k
                rows = rows[~leaves]
        bills = np.empty(len(X))
        for k in np.unique(stop):
            trees, rows = self.cascade.forest.prefix(int(ends[k])), stop == k
            bills[rows] = self.prices.bill(trees.used(X[rows]), ends[k])
        return part.bill(bills), part.precision(running[stop, np.arange(len(X))])


def best_within(points, budgets, measured):
    """For each budget, bill and test precision of the point that validation prefers."""
    for budget in budgets:
        affordable = [point for point in points if point[1] <= budget]
        yield measured(max(affordable, key=lambda point: (point[2], -point[1]))[0])


def run(name, seed):
    """Precision of every method at every budget on one deal of the queries."""
    prices, (train, validation, test) = deal(name, seed)
    full = prices.bind(list(train.X.columns)).full
    budgets = [share * full for share in SHARES]
    found = {}
    for method, estimators in rivals(prices).items():
        points = list(points_of(estimators, train, validation))
        found[method] = list(best_within(points, budgets, lambda model: measure(model, test)))
    whole = ProximityExitClassifier(prices, slack=None, every=5, **TREES)
    whole.fit(train.X, train.y, sample_weight=train.weight)
    exits = [WithinQueries(whole, slack) for slack in (0.0, *np.geomspace(0.02, 10, 14), np.inf)]
    points = [(exit, *exit.measure(validation)) for exit in exits]
    points.append((None, 0.0, 0.0))
    found["Early Exit, in queries"] = list(
        best_within(points, budgets, lambda exit: exit.measure(test) if exit else (0.0, 0.0))
    )
    return found


def main():
    """Measure both sets."""
    from _harness import report

    rows, methods = [], []
    for name in SETS:
        deals = [run(name, seed) for seed in range(DEALS)]
        methods = list(deals[0])
        for k, share in enumerate(SHARES):
            means = [np.mean([d[method][k] for d in deals], axis=0) for method in methods]
            cells = [f"{quality:.3f} ({bill:.0f})" for bill, quality in means]
            rows.append((name, f"{100 * share:.0f} %", *cells))
    report("cascades", ("set", "budget", *methods), rows)


if __name__ == "__main__":
    main()
