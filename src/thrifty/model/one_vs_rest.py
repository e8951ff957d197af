"""One binary model per class, each class against the rest, for three or more classes.

All models read the same row, so a feature that one of them has bought is free for the others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.model.base import Frozen, Price, Walk, pack, unpack
from thrifty.model.file_checks import output_problems
from thrifty.model.path_bounds import PathBounds, all_of
from thrifty.untrusted import shown

__all__ = ["OneVsRest", "OneVsRestWalk"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class OneVsRest(Frozen):
    """Binary models whose positive class is another class in each.

    The probability of a class is the positive probability of its model, divided by the sum over
    all classes. If this sum is zero, all classes are equally likely.

    Parameters
    ----------
    parts : tuple of Frozen
        One model of two classes for each of three or more classes, all with the same columns.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model import Forest, OneVsRest
    >>> def constant(positive):
    ...     return Forest.constant([1.0 - positive, positive], "mean", n_features=4)
    >>> model = OneVsRest.of([constant(0.6), constant(0.3), constant(0.3)])
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
            If there are fewer than three models, or they do not fit together.
        """
        raise_all(DataError, "one-vs-rest", _problems(parts))
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
        """Return class probabilities (n, K)."""
        return _normalize(np.column_stack([part.score(X)[:, 1] for part in self.parts]))

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features any model touches for each row, (n, n_features)."""
        return reduce(np.logical_or, [part.used(X) for part in self.parts])

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of all models together, (n,)."""
        return reduce(np.add, [part.evaluations(X) for part in self.parts])

    @property
    def support(self) -> NDArray[np.bool_]:
        """Features that any model could touch, (n_features,)."""
        return reduce(np.logical_or, [part.support for part in self.parts])

    @property
    def most_evaluations(self) -> int:
        """The sum over all models."""
        return sum(part.most_evaluations for part in self.parts)

    def path_bounds(self) -> PathBounds:
        """Return what single rows use at most: a path through each model."""
        return all_of(part.path_bounds() for part in self.parts)

    def walk(self, price: Price | None = None) -> OneVsRestWalk:
        """Start one example; it requests what any model needs."""
        return OneVsRestWalk([part.walk(price) for part in self.parts], price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        parts, arrays = pack(self.parts)
        return {"parts": parts}, arrays

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        if set(plain) != {"parts"}:
            raise BundleError(
                f"one-vs-rest: expected the entry parts, got {shown(sorted(map(str, plain)))}"
            )
        parts = unpack(plain["parts"], arrays)
        raise_all(BundleError, "one-vs-rest", _problems(parts))
        return cls(tuple(parts))


class OneVsRestWalk(Walk):
    """The walk of a `OneVsRest`: the walks of all models, side by side.

    Parameters
    ----------
    walks : sequence of Walk
        The walk of each class's model, just started.
    price : callable or None
        What a feature would cost now; None if all are free.
    """

    def __init__(self, walks: Sequence[Walk], price: Price | None) -> None:
        self._walks = walks
        self._price = price or (lambda feature: 0.0)
        self._told: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """Features that any model needs, cheapest first."""
        wanted = {feature for walk in self._walks for feature in walk.asks}
        return tuple(sorted(wanted, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Pass values on to all models, including those that need them only later."""
        self._told.update(values)
        for walk in self._walks:
            walk.tell(values)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features that any model has read, in the order in which they were told."""
        read = {feature for walk in self._walks for feature in walk.touched}
        return tuple(feature for feature in self._told if feature in read)

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) from the best scores of all models so far."""
        positive = np.array([[walk.scores[1] for walk in self._walks]])
        return np.asarray(_normalize(positive)[0])

    @property
    def evaluations(self) -> int:
        """Evaluations of all models so far."""
        return sum(walk.evaluations for walk in self._walks)

    def evaluations_after(self, features: Collection[int]) -> int | None:
        """Return those of all models together; None if one of them knows no bound."""
        total = 0
        for walk in self._walks:
            most = walk.evaluations_after(features)
            if most is None:
                return None
            total += most
        return total


def _normalize(positive: Floats) -> Floats:
    """Divide the rows of `positive` (n, K) by their sums; rows of zeros become uniform."""
    positive = np.maximum(positive, 0.0)  # a damaged model may give anything
    # Added up class by class: the sum of a row must not depend on the number of rows.
    total: Floats = reduce(np.add, positive.T)[:, np.newaxis]
    uniform = np.full_like(positive, 1.0 / positive.shape[1])
    return np.asarray(np.divide(positive, total, out=uniform, where=total > 0))


def _problems(parts: Sequence[Frozen]) -> list[str]:
    """Return what keeps these from being the models of three or more classes."""
    problems = []
    if len(parts) < 3:
        problems.append(f"there are {len(parts)} models; at least three classes are needed")
    problems += output_problems(len(parts))
    if len({part.n_features for part in parts}) > 1:
        problems.append("the models differ in columns")
    if any(part.n_scores != 2 for part in parts):
        problems.append("every model must have two classes")
    return problems
