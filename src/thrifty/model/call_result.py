"""The answer of a call: columns that hold what an expensive model has said of a row.

A call is something one can buy. It needs features; its value is its answer, one column for each
class. A model file that holds an `Answer` does not hold the model that is called: whoever walks is
asked for the features, then for the answer, and makes the call.

One example before a call: what the call needs is asked for first, then its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, sealed

__all__ = ["Answer", "AnswerWalk"]

Floats = NDArray[np.float64]


class AnswerWalk(Walk):
    """The walk of an `Answer`; until it is told, all classes are alike.

    Parameters
    ----------
    columns, needs : sequences of int
        Columns of the answer, and features that the call needs.
    checked : callable
        Makes NaN of rows that are no probabilities.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self,
        columns: Sequence[int],
        needs: Sequence[int],
        checked: Callable[[Floats], Floats],
        price: Price,
    ) -> None:
        self._columns, self._needs = columns, needs
        self._wanted = {*columns, *needs}
        self._checked, self._price = checked, price
        self._read: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """What the call needs, the cheapest first; when all of it is there, the answer."""
        missing = [feature for feature in self._needs if feature not in self._read]
        if missing:
            return tuple(sorted(missing, key=lambda feature: (self._price(feature), feature)))
        return tuple(column for column in self._columns if column not in self._read)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; those of other features are kept as unread by the bundle."""
        wanted = self._wanted
        self._read.update((j, x) for j, x in values.items() if j in wanted)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features told so far."""
        return tuple(self._read)

    @property
    def scores(self) -> Floats:
        """The answer, NaN if the call has failed; before it is told, every class alike."""
        if any(column not in self._read for column in self._columns):
            return np.full(len(self._columns), 1.0 / len(self._columns))
        row = np.array([[self._read[column] for column in self._columns]])
        return np.asarray(self._checked(row)[0])

    @property
    def evaluations(self) -> int:
        """None: the call has a price of its own."""
        return 0


# How far the probabilities of an answer may be from a sum of 1.
SLACK = 1e-3
ARRAYS = ("columns", "needs")


@dataclass(frozen=True, eq=False)
class Answer(Frozen):
    """Reads what a call has answered; a call that failed is NaN in every score.

    An answer that is missing, negative, or whose probabilities do not sum to 1 is no answer.

    Parameters
    ----------
    columns : int array (K,)
        Columns that hold the probabilities of the classes, bought together.
    needs : int array (m,)
        Features that the call needs.
    n_features : int
        Columns of the table, those of the answer among them.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Answer
    >>> call = Answer.of([1, 2], needs=[0], n_features=3)
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

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @classmethod
    def of(cls, columns: ArrayLike, needs: ArrayLike, n_features: int) -> Self:
        """The answer in these columns.

        Raises
        ------
        DataError
            If columns are out of range or named twice, or there are fewer than two classes.
        """
        answer = np.asarray(columns, dtype=np.int64)
        needed = np.asarray(needs, dtype=np.int64)
        raise_all(DataError, "answer", list(_problems(answer, needed, n_features)))
        return cls(answer, needed, n_features)

    @property
    def n_scores(self) -> int:
        """One probability a class."""
        return len(self.columns)

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K) as they were answered; NaN where there is no answer."""
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"the model reads {self.n_features} columns, got shape {X.shape}")
        return _checked(X.take(self.columns, axis=1).astype(np.float64))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """What the call needs, and its answer."""
        return np.tile(self.support, (len(X), 1))

    @property
    def support(self) -> NDArray[np.bool_]:
        """What the call needs, and its answer."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.needs] = support[self.columns] = True
        return support

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """None here: the call has a price of its own."""
        return np.zeros(len(X), dtype=np.int64)

    @property
    def most_evaluations(self) -> int:
        """None."""
        return 0

    def walk(self, price: Price | None = None) -> AnswerWalk:
        """Start one example; it asks for what the call needs, then for the answer."""
        columns, needs = self.columns.tolist(), self.needs.tolist()
        return AnswerWalk(columns, needs, _checked, price or (lambda feature: 0.0))

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        return {"n_features": self.n_features}, {name: getattr(self, name) for name in ARRAYS}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if set(plain) != {"n_features"} or set(arrays) != set(ARRAYS):
            raise BundleError(f"answer: expected n_features and the arrays {sorted(ARRAYS)}")
        columns, needs = arrays["columns"], arrays["needs"]
        raise_all(BundleError, "answer", list(_problems(columns, needs, plain["n_features"])))
        return cls(columns, needs, plain["n_features"])


def _checked(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rows that are probabilities; NaN in the others."""
    with np.errstate(invalid="ignore", over="ignore"):
        sound = (np.abs(scores.sum(axis=1) - 1.0) <= SLACK) & (scores >= 0.0).all(axis=1)
    scores[~sound] = np.nan
    return scores


def _problems(columns: NDArray[Any], needs: NDArray[Any], n_features: Any) -> Iterator[str]:
    if type(n_features) is not int or n_features < 2:
        yield f"n_features is {n_features!r}"
        return
    for name, found in (("columns", columns), ("needs", needs)):
        if found.dtype != np.int64 or found.ndim != 1:
            yield f"{name} must be whole numbers in a row"
        elif np.any((found < 0) | (found >= n_features)):
            yield f"{name} must be from 0 to {n_features - 1}"
    if columns.ndim == 1 and needs.ndim == 1:
        both = np.concatenate([columns, needs])
        if len(np.unique(both)) < len(both):
            yield "a column is named twice"
        if len(columns) < 2:
            yield "an answer tells at least two classes apart"
