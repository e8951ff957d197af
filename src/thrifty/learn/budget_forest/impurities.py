"""Admissible impurities: with them, greedy trees are near the optimum.

An impurity is admissible (Nan et al. 2015, sec. 2.2) if it is nonnegative, 0 for rows of one class,
monotone (a larger set has no less) and supermodular (it grows faster the larger the set). Then the
most expensive path of a greedy tree costs at most log F + 1 times the optimum, where F is the
impurity of all rows, scaled so that the least above 0 is 1. Gini and entropy are not admissible: a
subset may have more than the whole set.

To write another one, derive from `Impurity` and implement `value`; splits are then searched in
NumPy, some hundred times slower than with those below, which are compiled.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.kernels.minimax import PAIRS, POLYNOMIAL, POWERS, ImpurityForm

__all__ = ["Impurity", "Polynomial", "Powers", "ThresholdPairs"]

Floats = NDArray[np.float64]

NO_TERMS = (np.zeros(0), np.zeros((0, 0)))


class Impurity(ABC):
    """Base class of impurities, also of those that a user writes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.budget_forest.impurities import Impurity
    >>> class Rest(Impurity):
    ...     '''Rows outside the largest class, times all rows.'''
    ...     def value(self, counts):
    ...         return counts.sum(axis=-1) * (counts.sum(axis=-1) - counts.max(axis=-1))
    >>> Rest().value(np.array([[3.0, 1.0], [4.0, 0.0]]))
    array([4., 0.])
    """

    @abstractmethod
    def value(self, counts: Floats) -> Floats:
        """Return the impurity of sets with class weights `counts` (..., K)."""

    def form(self, classes: int, unit: float) -> ImpurityForm | None:
        """Return the parameters of the compiled search; None if there is only `value`."""
        return None


@dataclass(frozen=True)
class ThresholdPairs(Impurity):
    """Pairs of rows of different classes above a threshold (Nan et al. 2015, eq. 11).

    Sum over pairs of classes of [[n_i - alpha]+ [n_j - alpha]+ - alpha^2]+.

    Parameters
    ----------
    alpha : float
        Up to about this many rows of other classes are tolerated in a leaf: the larger, the
        smaller and cheaper the trees. 0 grows pure leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.budget_forest.impurities import ThresholdPairs
    >>> ThresholdPairs().value(np.array([4.0, 3.0, 1.0]))
    np.float64(19.0)
    >>> ThresholdPairs(1).value(np.array([4.0, 3.0, 1.0]))
    np.float64(5.0)
    """

    alpha: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.alpha < np.inf:
            raise DataError(f"alpha is {self.alpha}: give a number of rows, 0 or more")

    def value(self, counts: Floats) -> Floats:
        """Return the sum over pairs of classes."""
        over = np.maximum(np.asarray(counts, dtype=float) - self.alpha, 0.0)
        pairs = over[..., :, None] * over[..., None, :] - self.alpha**2
        i, j = np.triu_indices(over.shape[-1], 1)
        return np.asarray(np.maximum(pairs[..., i, j], 0.0).sum(axis=-1))[()]

    def form(self, classes: int, unit: float) -> ImpurityForm:
        """Return the parameters of the compiled search."""
        return ImpurityForm(PAIRS, float(self.alpha), *NO_TERMS, classes, unit)


@dataclass(frozen=True)
class Powers(Impurity):
    """(sum of n_i)^l - sum of n_i^l (Nan 2018, eq. 3.13).

    Parameters
    ----------
    l : int
        The power, 2 or more.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.budget_forest.impurities import Powers
    >>> Powers(2).value(np.array([4.0, 3.0, 1.0]))
    np.float64(38.0)
    """

    l: int = 2  # noqa: E741 - the letter of the paper

    def __post_init__(self) -> None:
        if self.l < 2 or self.l != int(self.l):
            raise DataError(f"l is {self.l}: give a whole number, 2 or more")

    def value(self, counts: Floats) -> Floats:
        """Return the power of the sum minus the sum of the powers."""
        counts = np.asarray(counts, dtype=float)
        return np.asarray(counts.sum(axis=-1) ** self.l - (counts**self.l).sum(axis=-1))[()]

    def form(self, classes: int, unit: float) -> ImpurityForm:
        """Return the parameters of the compiled search."""
        return ImpurityForm(POWERS, float(self.l), *NO_TERMS, classes, unit)


@dataclass(frozen=True)
class Polynomial(Impurity):
    """Sum of terms, each a product of powers of at least two class counts (Nan 2018, eq. 3.12).

    Parameters
    ----------
    terms : sequence of (coefficient, powers)
        Each with a coefficient above 0 and one whole power for each class, in the order of
        `classes_`. Classes that share no term do not count as mixed.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.budget_forest.impurities import Polynomial
    >>> # confusing the first two classes counts more than the other pairs
    >>> Polynomial([(5.0, (1, 1, 0)), (1.0, (1, 0, 1)), (1.0, (0, 1, 1))]).value(
    ...     np.array([4.0, 3.0, 1.0]))
    np.float64(67.0)
    """

    terms: Sequence[tuple[float, Sequence[int]]]

    def __post_init__(self) -> None:
        if not self.terms or len({len(powers) for _, powers in self.terms}) != 1:
            raise DataError("terms: give at least one, each with one power for each class")
        coefficients, powers = self._arrays
        if not (np.all(coefficients > 0) and np.isfinite(coefficients).all()):
            raise DataError("terms: a coefficient must be above 0 and finite")
        if np.any((powers < 0) | (powers != np.floor(powers))):
            raise DataError("terms: a power must be a whole number, 0 or more")
        if np.any((powers > 0).sum(axis=1) < 2):
            raise DataError("terms: a term of one class would make pure sets impure; use two")

    def value(self, counts: Floats) -> Floats:
        """Return the sum of the terms."""
        coefficients, powers = self._arrays
        products = (np.asarray(counts, dtype=float)[..., None, :] ** powers).prod(axis=-1)
        return np.asarray((products * coefficients).sum(axis=-1))[()]

    def form(self, classes: int, unit: float) -> ImpurityForm:
        """Return the parameters of the compiled search; each term needs a power per class."""
        coefficients, powers = self._arrays
        if powers.shape[1] != classes:
            raise DataError(
                f"impurity: {powers.shape[1]} powers per term for {classes} classes; give one each"
            )
        return ImpurityForm(POLYNOMIAL, 0.0, coefficients, powers, classes, unit)

    @property
    def _arrays(self) -> tuple[Floats, Floats]:
        coefficients = np.array([coefficient for coefficient, _ in self.terms], dtype=float)
        return coefficients, np.array([powers for _, powers in self.terms], dtype=float)
