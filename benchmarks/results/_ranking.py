"""Ranking sets that stand in for the Yahoo data of Xu 2014, and the methods measured on them.

mq2008 and mslr_sample have no published prices. A feature has the price of its family, in
evaluations of a tree: the numbers of Yahoo, assigned by the effort of extraction. The thesis
repeats each irrelevant row ten times; here it has a weight of ten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from _nodes import nodes_of

from thrifty import (
    CostTreeRanker,
    GreedyMiserRegressor,
    Predictor,
    Prices,
    SubmodularTreeRegressor,
)
from thrifty.data import load
from thrifty.learn.baselines import CronusClassifier, PricedL1Regressor, ProximityExitClassifier
from thrifty.learn.ndcg import ndcg

__all__ = [
    "ASTC",
    "CASCADE",
    "COST_TREE",
    "FAMILIES",
    "LINEAR",
    "RANKING",
    "TREES",
    "Queries",
    "precision_points",
    "ranking",
    "split",
]

RANKING = ("mq2008", "mslr_sample")
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
TREES = {"n_estimators": 300, "max_depth": 4, "learning_rate": 0.1, "min_samples_leaf": 20}
PREFIXES = (1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300)
CASCADE = {"n_estimators": 150, "max_depth": 4, "learning_rate": 0.1, "min_samples_leaf": 20}
COST_TREE = {"n_estimators": 200, "max_sweeps": 4}
# Trees of linear models and their roots alone, on boosted trees, as in the thesis, and on columns.
LINEAR = {
    "CSTC": {"max_depth": 2, "base": "boosted", **COST_TREE},
    "single classifier": {"max_depth": 0, "base": "boosted", **COST_TREE},
    "CSTC on columns": {"max_depth": 2, **COST_TREE},
    "single classifier on columns": {"max_depth": 0, **COST_TREE},
}
# As in Kusner et al. 2014.
ASTC = {"max_depth": 5, "selection": "greedy"}
REGRESSORS = {
    "GreedyMiser": lambda prices, seed: GreedyMiserRegressor(
        prices, charge="example", **TREES, random_state=seed
    ),
    "ASTC": lambda prices, seed: SubmodularTreeRegressor(prices, **ASTC),
    "ASTC, soft": lambda prices, seed: SubmodularTreeRegressor(prices, routing="soft", **ASTC),
    "L1": lambda prices, seed: PricedL1Regressor(prices),
}
IRRELEVANT = 10.0


@dataclass
class Queries:
    """The rows of some queries: features, grades, the query and the weight of each row."""

    X: Any
    grade: np.ndarray
    query: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        return np.where(self.grade == 0, IRRELEVANT, 1.0)

    def ndcg(self, scores: np.ndarray) -> float:
        """Return NDCG@5, averaged over the queries that have a relevant row."""
        return ndcg(self.grade, np.asarray(scores, dtype=float), self.query)

    def precision(self, scores: np.ndarray) -> float:
        """Return AP@5 as Nan 2018 defines it, averaged over all queries.

        It is the share of the first five rows that come before the first irrelevant one.
        """
        order = np.lexsort((-np.asarray(scores, dtype=float), self.query))
        first = np.flatnonzero(np.append(True, np.diff(self.query[order]) > 0))
        rank = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        before = np.minimum.reduceat(np.where(self.grade[order] == 0, rank, 5), first)
        return float(np.minimum(before, 5).mean()) / 5

    def bill(self, bills: np.ndarray) -> float:
        """Return the mean bill, with irrelevant rows counted ten times."""
        return float(np.average(bills, weights=self.weight))


def precision_points(path: Iterable[Any], validation: Queries, test: Queries) -> list[Any]:
    """Return the points of a path of classifiers: AP@5, and bills as shares of the full price."""
    found = []
    for p in path:
        (quality, bill), (test_quality, test_bill) = (
            (part.precision(p.model.predict_proba(part.X)[:, 1]), p.model.bill(part.X).mean())
            for part in (validation, test)
        )
        point = {"validation": quality, "test": test_quality}
        full = p.model.prices.full
        found.append({**point, "validation_bill": bill / full, "bill": test_bill / full})
    return found


def split(name: str, seed: int) -> tuple[Prices, Queries, Queries, Queries]:
    """Return prices, and training, validation and test rows: 50, 20 and 30 % of the queries."""
    table = load(name)
    grade, query = np.asarray(table.y, dtype=float), np.asarray(table.qid)
    queries = np.random.default_rng(seed).permutation(np.unique(query))
    parts = []
    for some in np.split(queries, (np.array([0.5, 0.7]) * len(queries)).astype(int)):
        rows = np.flatnonzero(np.isin(query, some))
        rows = rows[np.argsort(query[rows], kind="stable")]
        number = np.unique(query[rows], return_inverse=True)[1]
        parts.append(Queries(table.X.iloc[rows], grade[rows], number))
    return family_prices(table), *parts


def family_prices(table: Any) -> Prices:
    """Return prices by the family of a feature, in evaluations of a tree."""
    groups = table.prices.groups
    own = {feature: FAMILIES[family] for family in groups for feature in groups[family]}
    return Prices(own, evaluation=1)


def ranking(data: str, method: str, seed: int) -> list[dict[str, Any]]:
    """Return the points of a method: NDCG@5 and bill on validation and test rows.

    Those of `CSTC on columns` also tell what the nodes of the tree read.
    """
    prices, train, validation, test = split(data, seed)
    full = prices.bind(list(train.X.columns)).full
    points = []
    for evaluate in fitted_models(method, prices, train, validation, seed):
        (scores, bills), (test_scores, test_bills) = evaluate(validation), evaluate(test)
        point = {
            "validation": validation.ndcg(scores),
            "validation_bill": validation.bill(bills) / full,
            "test": test.ndcg(test_scores),
            "bill": test.bill(test_bills) / full,
        }
        if method == "CSTC on columns":
            point["nodes"] = nodes_of(evaluate.predictor, test.X, test.grade)
        points.append(point)
    return points


@dataclass
class Ranker:
    """Returns scores and bills of some rows."""

    predictor: Predictor

    def __call__(self, part: Queries) -> tuple[np.ndarray, np.ndarray]:
        if self.predictor.classes is None:
            scores = self.predictor.predict(part.X)
        else:
            scores = self.predictor.predict_proba(part.X)[:, 1]
        return scores, self.predictor.bill(part.X)


def fitted_models(
    method: str, prices: Prices, train: Queries, validation: Queries, seed: int
) -> Iterator[Callable[[Queries], tuple[np.ndarray, np.ndarray]]]:
    """Yield, for each model of a method, a function from rows to their scores and bills."""
    if method == "stage-wise regression":
        fitted = GreedyMiserRegressor(prices, **TREES, random_state=seed)
        fitted.fit(train.X, train.grade, sample_weight=train.weight)

        def prefix(part: Queries, trees: int) -> tuple[np.ndarray, np.ndarray]:
            X, forest = fitted.schema_.encode(part.X), fitted.model_.prefix(trees)
            return forest.score(X), fitted.prices_.bill(forest.used(X), trees)

        yield lambda part: (np.zeros(len(part.grade)), np.zeros(len(part.grade)))
        for trees in PREFIXES:
            yield lambda part, trees=trees: prefix(part, trees)
    elif method in REGRESSORS:
        for p in REGRESSORS[method](prices, seed).path(
            train.X,
            train.grade,
            validation=(validation.X, validation.grade),
            sample_weight=train.weight,
        ):
            yield Ranker(p.model)
    elif method in LINEAR:
        for p in CostTreeRanker(prices, **LINEAR[method], random_state=seed).path(
            train.X,
            train.grade,
            qid=train.query,
            validation=(validation.X, validation.grade, validation.query),
            sample_weight=train.weight,
        ):
            yield Ranker(p.model)
    else:
        kind = {"Early Exit": ProximityExitClassifier, "Cronus": CronusClassifier}[method]
        relevant = [(part.grade > 0).astype(int) for part in (train, validation)]
        for p in kind(prices, **CASCADE, random_state=seed).path(
            train.X,
            relevant[0],
            validation=(validation.X, relevant[1]),
            sample_weight=train.weight,
        ):
            yield Ranker(p.model)
