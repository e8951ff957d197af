"""A model that is part of the file, and that an example pays to call.

The call is a column of the table that no user fills in. It is used, and so paid for, by every row
that reaches the model; its value is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, sealed, unpack
from thrifty.model.file_checks import MAX_COUNT
from thrifty.model.path_bounds import PathBounds
from thrifty.untrusted import is_count, shown

__all__ = ["PricedCall", "PricedCallWalk"]


@dataclass(frozen=True, eq=False)
class PricedCall(Frozen):
    """A model whose every prediction uses one more column: the call.

    Parameters
    ----------
    model : Frozen
        The model that is called.
    reads : int array (m,)
        Columns of the table that `model` has, in its order.
    column : int
        Column that stands for the call.
    n_features : int
        Number of columns of the table, including that of the call.

    Examples
    --------
    The model has one column, which is column 1 of the table; column 2 is the call.

    >>> import numpy as np
    >>> from thrifty.model import Forest, PricedCall
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> nodes = empty_nodes(3)
    >>> nodes[0] = (0.0, 1, 0)
    >>> stump = Forest(nodes, np.array([[0.0], [-1.0], [1.0]]), np.array([0]), np.array([0]),
    ...                np.zeros(1), "sum", n_features=1)
    >>> call = PricedCall.of(stump, reads=[1], column=2, n_features=3)
    >>> X = np.array([[7.0, -3.0, np.nan]])
    >>> call.score(X), call.used(X)
    (array([-1.]), array([[False,  True,  True]]))
    >>> walk = call.walk()
    >>> walk.tell({1: -3.0})
    >>> walk.asks
    (2,)
    """

    kind: ClassVar[str] = "priced-call"

    model: Frozen
    reads: NDArray[np.int64]
    column: int
    n_features: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", sealed(self.reads))

    @classmethod
    def of(cls, model: Frozen, reads: ArrayLike, column: int, n_features: int) -> Self:
        """Check the columns, and put a price on the model.

        Raises
        ------
        DataError
            If a column is out of range or given twice, or the model has another number of columns.
        """
        columns = np.asarray(reads, dtype=np.int64)
        problems = list(_problems([model], columns, column, n_features))
        raise_all(DataError, "priced call", problems)
        return cls(model, columns, column, n_features)

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.model.n_scores

    @property
    def may_fail(self) -> bool:
        """Whether a row can be left without a prediction: only if the model can fail."""
        return bool(getattr(self.model, "may_fail", False))

    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return what the model predicts."""
        return self.model.score(self._columns(X))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, and the call."""
        return self._widen(self.model.used(self._columns(X)))

    @property
    def support(self) -> NDArray[np.bool_]:
        """Which features any row could touch, and the call, (n_features,)."""
        return np.asarray(self._widen(self.model.support[np.newaxis])[0])

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of the model, (n,)."""
        return self.model.evaluations(self._columns(X))

    @property
    def most_evaluations(self) -> int:
        """The most evaluations of the model."""
        return self.model.most_evaluations

    def path_bounds(self) -> PathBounds:
        """Return the paths of the model, each with the call."""
        bounds = self.model.path_bounds()
        return PathBounds.of(self._widen(bounds.used), bounds.evaluations)

    def walk(self, price: Price | None = None) -> PricedCallWalk:
        """Start one example; it asks for what the model needs, then for the call."""
        return PricedCallWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps: plain entries, and arrays by name."""
        parts, arrays = pack([self.model])
        plain = {"parts": parts, "column": self.column, "n_features": self.n_features}
        return plain, {**arrays, "reads": self.reads}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model from it."""
        if set(plain) != {"parts", "column", "n_features"} or "reads" not in arrays:
            raise BundleError("priced call: expected parts, column, n_features and the array reads")
        parts = unpack(plain["parts"], {k: v for k, v in arrays.items() if k != "reads"})
        reads, column, n_features = arrays["reads"], plain["column"], plain["n_features"]
        raise_all(BundleError, "priced call", list(_problems(parts, reads, column, n_features)))
        return cls(parts[0], reads, column, n_features)

    def _columns(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the columns that the model has."""
        self.check_columns(X)
        return np.ascontiguousarray(X.take(self.reads, axis=1))

    def _widen(self, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return what rows use of the model's columns as what they use of the table's."""
        wide = np.zeros((len(used), self.n_features), dtype=bool)
        wide[:, self.reads] = used
        wide[:, self.column] = True
        return wide


class PricedCallWalk(Walk):
    """The walk of a `PricedCall`: that of its model, then a request for the call.

    Parameters
    ----------
    model : PricedCall
    price : callable or None
        What a feature would cost now.
    """

    def __init__(self, model: PricedCall, price: Price | None) -> None:
        self._reads, self._column = model.reads.tolist(), model.column
        self._own = {feature: j for j, feature in enumerate(self._reads)}
        reads = self._reads
        self._walk = model.model.walk(None if price is None else lambda j: price(reads[j]))
        self._is_paid = False

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that the model needs now; then the call."""
        wanted = tuple(self._reads[j] for j in self._walk.asks)
        return wanted if wanted or self._is_paid else (self._column,)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not; any value of the call's column pays for the call."""
        self._walk.tell({self._own[j]: x for j, x in values.items() if j in self._own})
        self._is_paid = self._is_paid or self._column in values

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of first reading; last the call."""
        features = tuple(self._reads[j] for j in self._walk.touched)
        is_called = self._is_paid and not self._walk.asks
        return (*features, self._column) if is_called else features

    @property
    def scores(self) -> NDArray[np.float64]:
        """Scores of the model, which is part of the file."""
        return self._walk.scores

    @property
    def evaluations(self) -> int:
        """Evaluations of the model so far."""
        return self._walk.evaluations


def _problems(
    parts: list[Frozen], reads: NDArray[Any], column: Any, n_features: Any
) -> Iterator[str]:
    """Yield what is wrong with a model and its columns."""
    if len(parts) != 1:
        yield f"expected one model, got {len(parts)}"
        return
    if not is_count(n_features, 1, MAX_COUNT) or not is_count(column, 0, n_features - 1):
        yield f"the call is column {shown(column)} of {shown(n_features)}"
        return
    if reads.dtype != np.int64 or reads.ndim != 1:
        yield "reads must be 1-d of int64"
        return
    if np.any((reads < 0) | (reads >= n_features)):
        yield f"reads must be from 0 to {n_features - 1}"
    if len(np.unique(reads)) < len(reads) or column in reads:
        yield "a column is given twice"
    if parts[0].n_features != len(reads):
        yield f"the model has {parts[0].n_features} columns, {len(reads)} are given"
