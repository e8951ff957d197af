"""A model for each class, against the rest: together they tell several classes apart.

All read the same row, so what one has bought is free for the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.frozen import Frozen, Price
from thrifty.model.nested import pack, unpack
from thrifty.model.one_vs_rest_walk import OneVsRestWalk

__all__ = ["OneVsRest"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OneVsRest(Frozen):
    """Models of two classes, the second of which is a class of its own in each.

    The probability of a class is what its model gives it, divided by the sum over all classes;
    where no model gives its class anything, all are equally likely.

    Parameters
    ----------
    parts : tuple of Frozen
        One for each class, three or more; all of the same columns and of two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest, OneVsRest
    >>> from thrifty.model.nodes import empty_nodes
    >>> none = np.zeros(0, dtype=np.int64)
    >>> def constant(share):
    ...     return Forest(empty_nodes(0), np.zeros((0, 2)), none, none,
    ...                   np.array([1.0 - share, share]), "mean", 4)
    >>> model = OneVsRest.of([constant(0.5), constant(0.25), constant(0.25)])
    >>> model.score(np.zeros((1, 4)))
    array([[0.5 , 0.25, 0.25]])
    """

    kind: ClassVar[str] = "one-vs-rest"

    parts: tuple[Frozen, ...]

    @classmethod
    def of(cls, parts: Sequence[Frozen]) -> Self:
        """Join the models of all classes.

        Raises
        ------
        DataError
            If there are fewer than three, or they do not go together.
        """
        raise_all(DataError, "one against the rest", _problems(parts))
        return cls(tuple(parts))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.parts[0].n_features

    @property
    def n_scores(self) -> int:
        """Number of classes."""
        return len(self.parts)

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Class probabilities (n, K)."""
        return _shares(np.column_stack([part.score(X)[:, 1] for part in self.parts]))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """What any model touches, (n, n_features)."""
        return reduce(np.logical_or, [part.used(X) for part in self.parts])

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Those of all models, (n,)."""
        return reduce(np.add, [part.evaluations(X) for part in self.parts])

    @property
    def support(self) -> NDArray[np.bool_]:
        """What any model may touch, (n_features,)."""
        return reduce(np.logical_or, [part.support for part in self.parts])

    @property
    def most_evaluations(self) -> int:
        """The sum of the models' largest numbers."""
        return sum(part.most_evaluations for part in self.parts)

    def walk(self, price: Price | None = None) -> OneVsRestWalk:
        """Start one example; it asks for what any model asks for."""
        return OneVsRestWalk([part.walk(price) for part in self.parts], _joined, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        parts, arrays = pack(self.parts)
        return {"parts": parts}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        if set(plain) != {"parts"}:
            raise BundleError(
                f"one against the rest: expected the entry parts, got {sorted(map(str, plain))}"
            )
        parts = unpack(plain["parts"], arrays)
        raise_all(BundleError, "one against the rest", _problems(parts))
        return cls(tuple(parts))


def _joined(scores: Floats) -> Floats:
    """Class probabilities (K,) from the scores (K, 2) of the models of one row."""
    return np.asarray(_shares(scores[np.newaxis, :, 1])[0])


def _shares(positive: Floats) -> Floats:
    # Added up class by class: the sum of a row must not depend on the number of rows.
    total: Floats = reduce(np.add, positive.T)[:, np.newaxis]
    even = np.full_like(positive, 1.0 / positive.shape[1])
    return np.asarray(np.divide(positive, total, out=even, where=total > 0))


def _problems(parts: Sequence[Frozen]) -> list[str]:
    problems = []
    if len(parts) < 3:
        problems.append(f"there are {len(parts)} models; one for each of three classes is least")
    if len({part.n_features for part in parts}) > 1:
        problems.append("the models differ in columns")
    if any(part.n_scores != 2 for part in parts):
        problems.append("every model must tell two classes apart")
    return problems
