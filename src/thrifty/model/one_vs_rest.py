"""A model for each class, against the rest: together they tell several classes apart.

All read the same row, so what one has bought is free for the others.

One example through several models at once: it asks for what any of them asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack

__all__ = ["OneVsRest", "OneVsRestWalk"]

Floats = NDArray[np.float64]


class OneVsRestWalk(Walk):
    """The walk of a `OneVsRest`.

    Parameters
    ----------
    walks : sequence of Walk
        One for each class, started.
    joined : callable
        How the scores (K, 2) of the walks become those of the classes.
    price : callable
        What a feature would cost now.
    """

    def __init__(
        self, walks: Sequence[Walk], joined: Callable[[Floats], Floats], price: Price | None
    ) -> None:
        self._walks = walks
        self._joined = joined
        self._price = price or (lambda feature: 0.0)
        self._told: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """What any model asks for, the cheapest first."""
        wanted = {feature for walk in self._walks for feature in walk.asks}
        return tuple(sorted(wanted, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; what was told before counts for a model when it comes to need it."""
        self._told.update(values)
        for walk in self._walks:
            walk.tell(values)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features that any model has read, in the order they were told."""
        read = {feature for walk in self._walks for feature in walk.touched}
        return tuple(feature for feature in self._told if feature in read)

    @property
    def scores(self) -> Floats:
        """Class probabilities from the best answers so far."""
        return self._joined(np.array([walk.scores for walk in self._walks]))

    @property
    def evaluations(self) -> int:
        """Those of all models so far."""
        return sum(walk.evaluations for walk in self._walks)


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
    >>> from thrifty.model.forest.nodes import empty_nodes
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
