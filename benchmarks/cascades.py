"""CSCC and other cascades on skewed ranking data: Precision@5 within a budget.

The data are skewed as in Xu 2014, sec. 3.7.3 (LTR-Skewed): documents of high grade are relevant,
the others are repeated until there are about a hundred for each relevant one. mslr_sample and
mq2008 replace the Yahoo data; a feature has the price of its family, in evaluations of a tree.
Figures are means over two random splits of the queries; within a budget, the point with the best
validation precision is taken.
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
from thrifty.learn.baselines.early_exit import slack_schedule

# Lowest relevant grade, and how often a document that is not relevant is repeated.
SETS = {"mslr_sample": (2, 17), "mq2008": (2, 6)}
# Price of one feature, in trees: the numbers of Yahoo, assigned by the effort of extraction.
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
N_SPLITS = 2
TREES = {"n_estimators": 150, "max_depth": 2, "min_samples_leaf": 20, "random_state": 0}


class Part:
    """The rows of some queries: X, y (1 if relevant), query and weight of each."""

    def __init__(self, X, y, query, times):
        self.X, self.y, self.query = X, y, query
        self.weight = np.where(y == 1, 1.0, times)

    def bill(self, bills):
        """Return the mean bill over all documents, including repeated ones."""
        return float(np.average(bills, weights=self.weight))

    def precision(self, scores):
        """Return the mean Precision@5 over queries with relevant rows; relevant rows lose ties."""
        found = []
        for query in np.unique(self.query[self.y == 1]):
            rows = np.flatnonzero(self.query == query)
            order = rows[np.lexsort((self.y[rows], -scores[rows]))]
            first = np.repeat(self.y[order], self.weight[order].astype(int))[:5]
            found.append(first.sum() / 5)
        return float(np.mean(found))


def split(name, seed):
    """Return prices, and training, validation and test part: 45, 20 and 35 % of the queries."""
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


def methods(prices):
    """Return the estimators of each method, by name; a point may come from any of them."""
    trees = {"prices": prices, **TREES}
    # Labels are skewed: stages are trained with and without class weights.
    class_weights = ({}, {"class_weight": "balanced"})
    small = {"n_estimators": 50, "max_depth": 2}
    return {
        "Early Exit, score": [EarlyExitClassifier(every=5, **trees)],
        "Early Exit, proximity": [ProximityExitClassifier(every=5, **trees)],
        "Cronus": [CronusClassifier(n_stages=5, **trees, **weight) for weight in class_weights],
        "AND-OR": [AndOrClassifier(base="boosted", **trees, **class_weights[1])],
        "AdaBoostRS": [AdaBoostRSClassifier(prices, **small, random_state=k) for k in range(3)],
        "single classifier": [
            SingleCostClassifier(base="boosted", **trees, **weight) for weight in class_weights
        ],
        "GreedyMiser": [GreedyMiserClassifier(**trees)],
        "CSCC": [
            CostCascadeClassifier(
                prices,
                base="boosted",
                n_estimators=60,
                max_sweeps=3,
                criterion="precision@5",
                random_state=0,
                **weight,
            )
            for weight in class_weights
        ],
    }


def points_of(estimators, train, validation):
    """Yield the models of all points, with their validation bill and precision."""
    for estimator in estimators:
        rows = (validation.X, validation.y)
        if getattr(estimator, "criterion", "loss") != "loss":
            rows = (*rows, validation.query)
        path = estimator.path(train.X, train.y, validation=rows, sample_weight=train.weight)
        for point in path:
            yield point.model, *measure(point.model, validation)


def measure(model, part):
    """Return the bill and the precision of a model on a part."""
    return part.bill(model.bill(part.X)), part.precision(model.predict_proba(part.X)[:, 1])


class WithinQueries:
    """Early exits as in the paper: a row is compared with the fifth best of its query."""

    def __init__(self, model, slack):
        self.cascade, self.schema, self.prices = model.model_, model.schema_, model.prices_
        self.slack = slack

    def measure(self, part):
        """Return the bill and the precision on a part."""
        X = self.schema.encode(part.X)
        ends, running = self.cascade.ends, self.cascade.exit_scores(X)
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
            trees, rows = self.cascade.forest.prefix(int(ends[k])), stop == k
            bills[rows] = self.prices.bill(trees.used(X[rows]), ends[k])
        return part.bill(bills), part.precision(running[stop, np.arange(len(X))])


def best_within(points, budgets, test):
    """Yield, for each budget, test bill and precision of the point that is best on validation."""
    for budget in budgets:
        affordable = [point for point in points if point[1] <= budget]
        yield test(max(affordable, key=lambda point: (point[2], -point[1]))[0])


def run(name, seed):
    """Return test bill and precision by method and budget on one split of the queries."""
    prices, (train, validation, test) = split(name, seed)
    full = prices.bind(list(train.X.columns)).full
    budgets = [share * full for share in SHARES]
    found = {}
    for method, estimators in methods(prices).items():
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
    """Measure both data sets."""
    from _harness import report

    rows, names = [], []
    for name in SETS:
        runs = [run(name, seed) for seed in range(N_SPLITS)]
        names = list(runs[0])
        for k, share in enumerate(SHARES):
            means = [np.mean([one[method][k] for one in runs], axis=0) for method in names]
            cells = [f"{quality:.3f} ({bill:.0f})" for bill, quality in means]
            rows.append((name, f"{100 * share:.0f} %", *cells))
    report("cascades", ("data set", "budget", *names), rows)


if __name__ == "__main__":
    main()
