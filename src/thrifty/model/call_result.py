"""The result of a call to an expensive model, as columns that hold class probabilities or a value.

A call is something that an example can buy. It needs features, and it returns one column for each
class, or a single one for a value. A model file with a `CallResult` does not contain the model that
is called: a walk asks for the features, then for the result, and whoever runs the walk makes the
call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, sealed
from thrifty.model.file_checks import count_problems, output_problems

__all__ = ["CallResult", "CallResultWalk", "is_usable"]

Floats = NDArray[np.float64]

ARRAYS = ("columns", "needs")
# How far the probabilities of a result may be from a sum of 1: endpoints round what they send.
SUM_TOL = 1e-3


@dataclass(frozen=True, eq=False)
class CallResult(Frozen):
    """Class probabilities, or a value, that a call has returned; NaN where the call failed.

    A result that is missing, has a negative probability, or does not sum to 1 counts as failed; so
    does a value that is missing.

    Parameters
    ----------
    columns : int array (K,)
        Columns of the table that hold the class probabilities, which are bought together; a single
        one holds a value.
    needs : int array (m,)
        Features that the call needs.
    n_features : int
        Number of columns of the table, including those of the result.

    Examples
    --------
    A call needs column 0 and returns columns 1 and 2. Its second result is not a distribution:

    >>> import numpy as np
    >>> from thrifty.model import CallResult
    >>> call = CallResult.of([1, 2], needs=[0], n_features=3)
    >>> call.score(np.array([[7.0, 0.25, 0.75], [7.0, 0.9, 0.9]]))
    array([[0.25, 0.75],
           [ nan,  nan]])
    >>> walk = call.walk()
    >>> walk.asks
    (0,)
    >>> walk.tell({0: 7.0})
    >>> walk.asks
    (1, 2)
    """

    kind: ClassVar[str] = "answer"
    may_fail: ClassVar[bool] = True

    columns: NDArray[np.int64]
    needs: NDArray[np.int64]
    n_features: int

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @classmethod
    def of(cls, columns: ArrayLike, needs: ArrayLike, n_features: int) -> Self:
        """Check the columns, and build the model that reads them.

        Raises
        ------
        DataError
            If a column is out of range or given twice, or there is none.
        """
        result = np.asarray(columns, dtype=np.int64)
        needed = np.asarray(needs, dtype=np.int64)
        raise_all(DataError, "call result", list(_problems(result, needed, n_features)))
        return cls(result, needed, n_features)

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a value."""
        return len(self.columns)

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), or values (n,); NaN where a call failed."""
        self.check_columns(X)
        scores = _nan_where_failed(X.take(self.columns, axis=1).astype(np.float64))
        return scores[:, 0] if self.n_scores == 1 else scores

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row reads: what the call needs, and its result."""
        return np.tile(self.support, (len(X), 1))

    @property
    def support(self) -> NDArray[np.bool_]:
        """What the call needs, and its result, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.needs] = support[self.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return zeros (n,): the call has a price of its own."""
        return np.zeros(len(X), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """Zero: the call has a price of its own."""
        return 0

    def walk(self, price: Price | None = None) -> CallResultWalk:
        """Start one example; it asks for what the call needs, then for the result."""
        return CallResultWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: plain entries, and arrays by name."""
        return {"n_features": self.n_features}, {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        if set(plain) != {"n_features"} or set(arrays) != set(ARRAYS):
            raise BundleError(f"call result: expected n_features and the arrays {sorted(ARRAYS)}")
        columns, needs = arrays["columns"], arrays["needs"]
        raise_all(BundleError, "call result", list(_problems(columns, needs, plain["n_features"])))
        return cls(columns, needs, plain["n_features"])


class CallResultWalk(Walk):
    """The walk of a `CallResult`; before the result arrives, all classes are equally likely.

    A value is 0 before it arrives.

    Parameters
    ----------
    model : CallResult
    price : callable or None
        What a feature would cost now.
    """

    def __init__(self, model: CallResult, price: Price | None) -> None:
        self._columns, self._needs = model.columns.tolist(), model.needs.tolist()
        self._reads = {*self._columns, *self._needs}
        self._price: Price = price or (lambda feature: 0.0)
        self._values: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the call needs, the cheapest first; then the columns of the result."""
        missing = [feature for feature in self._needs if feature not in self._values]
        if missing:
            return tuple(sorted(missing, key=lambda feature: (self._price(feature), feature)))
        return tuple(column for column in self._columns if column not in self._values)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; those of features that the call does not need are ignored."""
        self._values.update((j, x) for j, x in values.items() if j in self._reads)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of arrival."""
        return tuple(self._values)

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) or a value (1,); NaN if the call failed."""
        k = len(self._columns)
        if any(column not in self._values for column in self._columns):
            return np.zeros(1) if k == 1 else np.full(k, 1.0 / k)
        row = np.array([[self._values[column] for column in self._columns]])
        return np.asarray(_nan_where_failed(row)[0])

    @property
    def evaluations(self) -> int:
        """Zero: the call has a price of its own."""
        return 0

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return zero."""
        return 0


def is_usable(scores: Floats) -> NDArray[np.bool_]:
    """Return which rows (n, K) are distributions, up to rounding, or (n, 1) are finite values.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.call_result import is_usable
    >>> is_usable(np.array([[0.25, 0.75], [0.9, 0.9]])), is_usable(np.array([[7.0], [np.nan]]))
    (array([ True, False]), array([ True, False]))
    """
    if scores.shape[1] == 1:
        return np.isfinite(scores[:, 0])
    with np.errstate(invalid="ignore", over="ignore"):
        sums_to_one = np.abs(scores.sum(axis=1) - 1.0) <= SUM_TOL
        return np.asarray(sums_to_one & (scores >= 0.0).all(axis=1))


def _nan_where_failed(scores: Floats) -> Floats:
    """Set the rows of `scores` (n, K) that are not usable to NaN; return the array."""
    scores[~is_usable(scores)] = np.nan
    return scores


def _problems(columns: NDArray[Any], needs: NDArray[Any], n_features: Any) -> Iterator[str]:
    """Yield what is wrong with the columns of a result and of what its call needs."""
    problems = [*count_problems({"n_features": n_features}, {"n_features": 2})]
    if problems:
        yield from problems
        return
    for name, array in (("columns", columns), ("needs", needs)):
        if array.dtype != np.int64 or array.ndim != 1:
            yield f"{name} must be 1-d of int64"
        elif np.any((array < 0) | (array >= n_features)):
            yield f"{name} must be from 0 to {n_features - 1}"
    if columns.ndim == 1 and needs.ndim == 1:
        both = np.concatenate([columns, needs])
        if len(np.unique(both)) < len(both):
            yield "a column is given twice"
        if not len(columns):
            yield "a call result needs a column"
        yield from output_problems(len(columns))
