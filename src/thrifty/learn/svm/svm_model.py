"""Two views of a one-vs-one support vector machine: the full SVM, and a reduced set of vectors.

Both decide each pair of classes by a weighted sum of kernel values plus an intercept. A positive
decision favors the first class of the pair; `thrifty.model.pairwise.pair_classes` has their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.kernel_functions import KernelFunction
from thrifty.model.pairwise import pair_classes

__all__ = ["KernelSVM", "ReducedSet"]

Floats = NDArray[np.float64]
# Few enough rows that their kernel values fit in the processor's cache.
ROWS_PER_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class KernelSVM:
    """A trained support vector machine, the one to be compressed.

    Parameters
    ----------
    vectors : array of shape (s, q)
        The support vectors, in encoded columns.
    vector_classes : int64 array of shape (s,)
        Class code of each support vector.
    coefficients : array of shape (s, P)
        Weight of each vector in the decision of each pair of classes; 0 if the vector belongs to
        neither class of the pair.
    intercepts : array of shape (P,)
        Intercept of each pair.
    kernel : KernelFunction
    C : float
        Weight of the hinge loss in training.
    n_classes : int
    """

    vectors: Floats
    vector_classes: NDArray[np.int64]
    coefficients: Floats
    intercepts: Floats
    kernel: KernelFunction
    C: float
    n_classes: int

    @property
    def pairs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """First and second class of each pair, (P,) each."""
        return pair_classes(self.n_classes)

    @property
    def labels(self) -> Floats:
        """Label of each vector in each pair, (s, P): 1 first class, -1 second class, 0 neither."""
        first, second = self.pairs
        classes = self.vector_classes[:, np.newaxis]
        return np.asarray((classes == first) * 1.0 - (classes == second))

    def decisions(self, Z: Floats) -> Floats:
        """Decide each pair for rows Z (n, q), as (n, P); equal to scikit-learn's up to rounding."""
        found = np.empty((len(Z), len(self.intercepts)))
        for i in range(0, len(Z), ROWS_PER_BLOCK):
            block = slice(i, i + ROWS_PER_BLOCK)
            found[block] = self.kernel.matrix(Z[block], self.vectors) @ self.coefficients
        return found + self.intercepts

    def pair(self, number: int) -> KernelSVM:
        """Take the two-class SVM of one pair."""
        first, second = (int(side[number]) for side in self.pairs)
        own = (self.vector_classes == first) | (self.vector_classes == second)
        return KernelSVM(
            self.vectors[own],
            (self.vector_classes[own] == second).astype(np.int64),
            self.coefficients[own, number : number + 1],
            self.intercepts[number : number + 1],
            self.kernel,
            self.C,
            2,
        )


@dataclass(frozen=True, eq=False)
class ReducedSet:
    """Few vectors that decide in place of all support vectors of an SVM (Burges 1996).

    Parameters
    ----------
    vectors : array of shape (m, q)
        They need not be rows of any table.
    coefficients : array of shape (m, P)
        Weight of each vector in the decision of each pair of classes.
    intercepts : array of shape (P,)
        Intercept of each pair.
    """

    vectors: Floats
    coefficients: Floats
    intercepts: Floats

    @classmethod
    def all_of(cls, svm: KernelSVM) -> Self:
        """Keep every support vector."""
        return cls(svm.vectors, svm.coefficients, svm.intercepts)

    @classmethod
    def join_pairs(cls, pairs: Sequence[ReducedSet]) -> Self:
        """Join the sets of single pairs, in the order of the pairs; each vector keeps its pair.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.learn.svm.svm_model import ReducedSet
        >>> one = ReducedSet(np.array([[1.0]]), np.array([[0.5]]), np.array([0.0]))
        >>> two = ReducedSet(np.array([[2.0], [3.0]]), np.array([[4.0], [6.0]]), np.array([1.0]))
        >>> ReducedSet.join_pairs([one, two]).coefficients
        array([[0.5, 0. ],
               [0. , 4. ],
               [0. , 6. ]])
        """
        sizes = [len(pair.vectors) for pair in pairs]
        coefficients = np.zeros((sum(sizes), len(pairs)))
        row = 0
        for number, (pair, size) in enumerate(zip(pairs, sizes, strict=True)):
            coefficients[row : row + size, number] = pair.coefficients[:, 0]
            row += size
        return cls(
            np.vstack([pair.vectors for pair in pairs]),
            coefficients,
            np.concatenate([pair.intercepts for pair in pairs]),
        )
