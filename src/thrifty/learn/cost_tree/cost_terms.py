"""What a linear model pays for its inputs, term by term, exactly and relaxed.

A term is a price that is paid once if any of its inputs has a weight: the own price of a column
(its slots), the shared price of a group (the slots of all members), the evaluation of a tree.
The exact cost counts the terms that are touched (Xu 2014, eq. 3.9); the relaxed one takes the root of
the sum of squares of a term's weights instead (eq. 3.12, 3.22, 3.23).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from thrifty.costs import BoundPrices

__all__ = ["CostTerms", "smooth_root"]

Floats = NDArray[np.float64]

# The root is rounded off at 0 by this much: Lemma 1 of 002 needs something positive under it, and
# a weight that is 0 can come back.
ROUND = 1e-4


def smooth_root(squares: Floats) -> Floats:
    """Root of sums of squares, differentiable everywhere and 0 at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.cost_terms import smooth_root
    >>> smooth_root(np.array([0.0, 4.0])).round(3)
    array([0., 2.])
    """
    return np.asarray(np.sqrt(squares + ROUND**2) - ROUND)


@dataclass(frozen=True, eq=False)
class CostTerms:
    """Prices (A,), and which of the q inputs belong to each: a sparse matrix (A, q) of ones.

    `unit` (q,) numbers the inputs that stand or fall together: the slots of a column, or one
    tree. `visit` is paid at every node.
    """

    prices: Floats
    members: csr_matrix
    unit: NDArray[np.int64]
    visit: float = 0.0

    @classmethod
    def of_slots(cls, columns: NDArray[np.int64], prices: BoundPrices) -> Self:
        """Terms of slots that each read one column."""
        reads = columns[np.newaxis] == np.arange(len(prices.own))[:, np.newaxis]
        return cls._of(reads, prices, columns, [], prices.evaluation)

    @classmethod
    def of_trees(cls, reads: NDArray[np.bool_], prices: BoundPrices) -> Self:
        """Terms of trees, of which `reads` (d, T) tells the columns that each may read."""
        trees = np.arange(reads.shape[1])
        evaluated = [(prices.evaluation, row) for row in np.eye(len(trees), dtype=bool)]
        return cls._of(reads, prices, trees, evaluated, 0.0)

    @classmethod
    def _of(
        cls,
        reads: NDArray[np.bool_],
        prices: BoundPrices,
        unit: NDArray[np.int64],
        more: Sequence[tuple[float, NDArray[np.bool_]]],
        visit: float,
    ) -> Self:
        found = [*_columns(reads, prices), *_groups(reads, prices), *more]
        kept = [(price, row) for price, row in found if price > 0 and row.any()]
        table = np.array([row for _, row in kept], dtype=float).reshape(len(kept), reads.shape[1])
        return cls(np.array([price for price, _ in kept]), csr_matrix(table), unit, visit)

    @cached_property
    def terms_of(self) -> csr_matrix:
        """Which terms each input belongs to, (q, A)."""
        return csr_matrix(self.members.T)

    @cached_property
    def bundles(self) -> NDArray[np.bool_]:
        """Sets of inputs that may save something by going together, (C, q), the largest first.

        Those of each term, and each unit.
        """
        units = np.unique(self.unit)[:, np.newaxis] == self.unit
        found = np.unique(np.vstack([self.members.toarray() > 0, units]), axis=0)
        return np.asarray(found[np.argsort(-found.sum(axis=1), kind="stable")])

    def free(self, inputs: NDArray[np.intp]) -> CostTerms:
        """Some of the inputs, at no price."""
        none = csr_matrix((0, len(inputs)))
        return CostTerms(np.empty(0), none, self.unit[inputs])

    def squares(self, squares: Floats) -> Floats:
        """Squared weights (L, q) summed over the inputs of each term, (L, A)."""
        return np.asarray((self.members @ squares.T).T)


def _columns(
    reads: NDArray[np.bool_], prices: BoundPrices
) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    yield from zip(prices.own.tolist(), reads, strict=True)


def _groups(
    reads: NDArray[np.bool_], prices: BoundPrices
) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    for group, price in enumerate(prices.shared.tolist()):
        yield price, reads[prices.group == group].any(axis=0)
