"""Decide by the cost of errors: from class probabilities to the label of least expected cost.

Without a decision, a model predicts its most probable class. A decision has a cost for each pair of
true and predicted class, and predicts the class whose expected cost is least. A threshold for the
probability of one of two classes is a special case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.untrusted import LARGEST, is_list, is_number

__all__ = ["Decision"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decision:
    """The cost of each answer for each true class.

    Parameters
    ----------
    costs : array of shape (K, K)
        ``costs[true, predicted]``: what it costs to predict one class where another is true.
        Finite, 0 or more, and at most 1e100.

    Raises
    ------
    DataError
        If they are not such numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.bundle import Decision
    >>> decision = Decision([[0, 100], [500, 0]])  # an overlooked illness costs five times as much
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> decision.expected(scores)
    array([[ 50.,  90.],
           [100.,  80.]])
    >>> decision.decide(scores)
    array([0, 1])
    """

    costs: Floats

    def __post_init__(self) -> None:
        try:
            costs = np.array(self.costs, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise DataError("costs: costs of errors are a square table of numbers") from None
        problems = []
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1]:
            problems.append(f"costs of errors have the shape (K, K), not {costs.shape}")
        elif not ((costs >= 0) & (costs <= LARGEST)).all():
            wrong = costs[~((costs >= 0) & (costs <= LARGEST))].tolist()
            problems.append(f"costs of errors are finite and 0 or more, not {wrong[:5]}")
        raise_all(DataError, "costs", problems)
        costs.setflags(write=False)
        object.__setattr__(self, "costs", costs)

    @classmethod
    def at_threshold(cls, threshold: float) -> Self:
        """Return the decision for the second of two classes above a threshold of its probability.

        Examples
        --------
        >>> import numpy as np
        >>> from thrifty.bundle import Decision
        >>> Decision.at_threshold(0.25).decide(np.array([[0.8, 0.2], [0.7, 0.3]]))
        array([0, 1])
        """
        return cls(np.array([[0.0, threshold], [1.0 - threshold, 0.0]]))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.costs)

    @property
    def threshold(self) -> float | None:
        """The probability above which the second of two classes is predicted; None for others."""
        if self.n_classes != 2:
            return None
        (right, false_alarm), (missed, hit) = self.costs.tolist()
        alarm, miss = false_alarm - right, missed - hit
        return alarm / (alarm + miss) if min(alarm, miss) >= 0 and alarm + miss > 0 else None

    def decide(self, scores: ArrayLike) -> NDArray[np.int64]:
        """Return the class with the least expected cost for each row of `scores` (n, K).

        Of equal costs the first class is taken. With a cost of 1 for every error this is the most
        probable class, to the bit.
        """
        # Less its largest, a row of costs has zeros where all errors cost the same: then the sums
        # below are minus the probabilities, and nothing is rounded.
        relative = self.costs - self.costs.max(axis=1, keepdims=True)
        return np.asarray(self._sum(scores, relative).argmin(axis=1))

    def expected(self, scores: ArrayLike) -> Floats:
        """Return the expected cost of each answer for each row of `scores` (n, K), (n, K)."""
        return self._sum(scores, self.costs)

    def least(self, scores: ArrayLike) -> Floats:
        """Return the least expected cost of each row of `scores` (n, K), (n,)."""
        return np.asarray(self.expected(scores).min(axis=1))

    @staticmethod
    def _sum(scores: ArrayLike, costs: Floats) -> Floats:
        """Add the classes one after the other, so that one row has the same bits as in a batch."""
        scores = np.asarray(scores, dtype=np.float64)
        total = scores[:, :1] * costs[0]
        for k in range(1, len(costs)):
            total += scores[:, k : k + 1] * costs[k]
        return np.asarray(total)

    def plain(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {"costs": self.costs.tolist()}

    @classmethod
    def build(cls, plain: Mapping[str, Any] | None) -> Self | None:
        """Check what a model file holds, then build the decision.

        Raises
        ------
        BundleError
            If it is not a square table of costs.
        """
        if plain is None:
            return None
        costs = plain.get("costs")
        if plain.keys() != {"costs"} or not isinstance(costs, list) or not costs:
            raise BundleError("the decision must have costs, a list of rows")
        n = len(costs)
        if not all(is_list(row, is_number, n, n) for row in costs):
            raise BundleError("the costs of the decision must be a square table of numbers")
        try:
            return cls(np.array(costs, dtype=np.float64))
        except DataError as error:
            raise BundleError(f"the decision: {error}") from error
