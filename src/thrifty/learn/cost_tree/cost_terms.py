"""What a linear model pays for its inputs, term by term: the exact cost and its relaxation.

A term is a price that is paid once if any of its inputs has a nonzero weight: the own price of a
column (its encoded columns), the shared price of a group (the encoded columns of all members), or
the evaluation of a base tree. The exact cost adds up the prices of the terms with a nonzero weight
(Xu 2014, eq. 3.9). The relaxed cost multiplies each price by the root of the sum of squares of the
term's weights (eq. 3.12, 3.22, 3.23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from thrifty.costs import BoundPrices

__all__ = ["ROOT_SMOOTHING", "CostTerms", "smooth_root"]

Floats = NDArray[np.float64]

# Size of the weights, on inputs of unit scale, below which the root is rounded off. It must be
# positive for Lemma 1 of Xu (2014), and it allows a weight of 0 to become nonzero again.
ROOT_SMOOTHING = 1e-4
# Sparse products of this many entries or fewer take longer than dense ones: most of it is overhead.
MAX_DENSE = 4096


def smooth_root(squares: Floats) -> Floats:
    """Return the root of sums of squares, made differentiable everywhere; it is 0 at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.cost_tree.cost_terms import smooth_root
    >>> smooth_root(np.array([0.0, 4.0])).round(3)
    array([0., 2.])
    """
    return np.asarray(np.sqrt(squares + ROOT_SMOOTHING**2) - ROOT_SMOOTHING)


@dataclass(frozen=True, eq=False)
class CostTerms:
    """The A cost terms of q inputs.

    Parameters
    ----------
    prices : array of shape (A,)
    members : sparse matrix of shape (A, q)
        1 where an input belongs to a term.
    unit : int64 array of shape (q,)
        Number of the column or base tree that each input comes from. The inputs of one unit are
        bought together.
    visit_price : float
        Paid at every node.

    Examples
    --------
    Two columns at a price of 1 and 2; the second, a category, has two encoded columns:

    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.learn.cost_tree.cost_terms import CostTerms
    >>> terms = CostTerms.of_columns(np.array([0, 1, 1]), Prices([1.0, 2.0]).bind(2))
    >>> terms.prices, terms.members.toarray()
    (array([1., 2.]), array([[1., 0., 0.],
           [0., 1., 1.]]))
    """

    prices: Floats
    members: csr_matrix
    unit: NDArray[np.int64]
    visit_price: float = 0.0

    @classmethod
    def of_columns(cls, columns: NDArray[np.int64], prices: BoundPrices) -> Self:
        """Build the terms of encoded columns; `columns` (q,) are the columns that they read."""
        reads = columns[np.newaxis] == np.arange(len(prices.own))[:, np.newaxis]
        return cls._build(reads, prices, columns, [], prices.evaluation)

    @classmethod
    def of_trees(cls, reads: NDArray[np.bool_], prices: BoundPrices) -> Self:
        """Build the terms of T base trees; `reads` (d, T) says which columns each may read."""
        trees = np.arange(reads.shape[1])
        evaluations = [(prices.evaluation, row) for row in np.eye(len(trees), dtype=bool)]
        return cls._build(reads, prices, trees, evaluations, 0.0)

    @classmethod
    def _build(
        cls,
        reads: NDArray[np.bool_],
        prices: BoundPrices,
        unit: NDArray[np.int64],
        evaluations: Sequence[tuple[float, NDArray[np.bool_]]],
        visit_price: float,
    ) -> Self:
        """Build the terms of columns, groups and evaluations that have a price and an input."""
        terms = list(zip(prices.own.tolist(), reads, strict=True))
        for group, price in enumerate(prices.shared.tolist()):
            terms.append((price, reads[prices.group == group].any(axis=0)))
        kept = [(price, row) for price, row in [*terms, *evaluations] if price > 0 and row.any()]
        table = np.array([row for _, row in kept], dtype=float).reshape(len(kept), reads.shape[1])
        return cls(np.array([price for price, _ in kept]), csr_matrix(table), unit, visit_price)

    @cached_property
    def input_sums(self) -> csr_matrix | Floats:
        """The matrix (A, q) whose product with (q,) adds up the inputs of each term."""
        return self.members.toarray() if np.prod(self.members.shape) <= MAX_DENSE else self.members

    @cached_property
    def term_sums(self) -> csr_matrix | Floats:
        """The matrix (q, A) whose product with (A,) adds up the terms of each input."""
        sums = self.input_sums.T
        return np.ascontiguousarray(sums) if isinstance(sums, np.ndarray) else csr_matrix(sums)

    @cached_property
    def droppable_sets(self) -> NDArray[np.bool_]:
        """Sets of inputs that may save something when dropped together, (C, q), largest first.

        They are the inputs of each term, and those of each unit.
        """
        units = np.unique(self.unit)[:, np.newaxis] == self.unit
        found = np.unique(np.vstack([self.members.toarray() > 0, units]), axis=0)
        return np.asarray(found[np.argsort(-found.sum(axis=1), kind="stable")])

    def without_prices(self, inputs: NDArray[np.intp]) -> CostTerms:
        """Return the terms of some of the inputs, at no price."""
        return CostTerms(np.empty(0), csr_matrix((0, len(inputs))), self.unit[inputs])

    def sum_squares(self, squares: Floats) -> Floats:
        """Sum squared weights (L, q) over the inputs of each term, (L, A)."""
        return np.asarray((self.members @ squares.T).T)
