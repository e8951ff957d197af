"""Ranking criteria: what candidates are judged by on the validation set in place of their loss.

Xu (2014, sec. 3.4.5) prunes trees for ranking by validation NDCG, and compares cascades by the
precision of the first five rows of each query (sec. 3.7.3).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.learn.ndcg import ndcg

__all__ = ["Criterion", "precision", "ranking_criterion"]

Floats = NDArray[np.float64]
Criterion = Callable[[Floats], float]


def precision(
    relevant: NDArray[np.bool_], scores: Floats, query: NDArray[np.int64], first: int
) -> float:
    """Return the mean share of relevant rows among the `first` of each query that has any.

    Rows of equal score share their ranks evenly, as in `ndcg`; 1 if no query has a relevant row.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.criteria import precision
    >>> relevant, query = np.array([True, False, True, False]), np.array([0, 0, 0, 1])
    >>> precision(relevant, np.array([3.0, 2.0, 1.0, 0.0]), query, first=2)
    0.5
    """
    order = np.lexsort((-scores, query))
    lengths = np.bincount(query)
    rank = np.arange(len(scores)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    change = (np.diff(query[order]) != 0) | (np.diff(scores[order]) != 0)
    tie = np.concatenate([[0], np.cumsum(change)])
    shared = (np.bincount(tie, relevant[order]) / np.bincount(tie))[tie]
    found = np.bincount(query[order], shared * (rank < first))
    some = np.bincount(query, relevant) > 0
    return float(np.mean(found[some]) / first) if some.any() else 1.0


def ranking_criterion(
    name: str, grades: Floats, query: NDArray[np.int64] | None
) -> Criterion | None:
    """Return the function of outputs that a name such as "ndcg@5" stands for; None for "loss".

    Parameters
    ----------
    name : str
        "loss", "ndcg@k" or "precision@k".
    grades : array of shape (n,)
        Relevance of each validation row; from 1 up it is relevant.
    query : int64 array of shape (n,) or None
        Query of each row; without it all rows are one query.
    """
    if name == "loss":
        return None
    match = re.fullmatch(r"(ndcg|precision)@([1-9][0-9]*)", name)
    if match is None:
        raise DataError(
            f"criterion: {name!r} is not one of 'loss', 'ndcg@5', 'precision@5' or another number"
        )
    first = int(match[2])
    queries = np.zeros(len(grades), dtype=np.int64) if query is None else query
    if match[1] == "ndcg":
        return lambda outputs: ndcg(grades, outputs, queries, first)
    return lambda outputs: precision(grades > 0, outputs, queries, first)
