"""Ranking sets that stand in for the Yahoo data of Xu 2014: splits by query, prices by family.

mq2008 and mslr_sample have no published prices. A feature has the price of its family, in
evaluations of a tree: the numbers of Yahoo, assigned by the effort of extraction. The thesis
repeats each irrelevant row ten times; here it has a weight of ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty import Prices
from thrifty.data import load
from thrifty.learn.ndcg import ndcg

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
    groups = table.prices.groups
    own = {feature: FAMILIES[family] for family in groups for feature in groups[family]}
    return Prices(own, evaluation=1), *parts
