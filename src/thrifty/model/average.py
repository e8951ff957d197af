"""A weighted average of models that all read the same row, bought as a whole.

Every row buys the same features, all at once, and is scored when the last value has arrived. So the
bill is known in advance, and a walk never descends a tree: its last value scores a table of one
row. Before that it predicts the prior, what was known before anything was read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thrifty.errors import BundleError, DataError, raise_all
from thrifty.lazy import cached_property
from thrifty.model.base import Frozen, Price, Walk, pack, sealed, unpack
from thrifty.model.file_checks import entry_problems, layout_problems, prior_problems
from thrifty.model.links import apply_temperature
from thrifty.untrusted import LARGEST

__all__ = ["Average", "AverageWalk"]

Floats = NDArray[np.float64]

LAYOUT = {"weights": ("<f8", 1), "factors": ("<f8", 1), "prior": ("<f8", 1), "reads": ("|b1", 1)}
# How far the weights may be from a sum of 1: they are computed by divisions.
SUM_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Average(Frozen):
    """Models of the same task, averaged; every row buys all that any of them may read.

    Parameters
    ----------
    parts : tuple of Frozen
        At least one, with the same columns and classes.
    weights : float array (p,)
        Weight of each part, positive; they add up to 1.
    factors : float array (p,)
        Inverse temperature of each part, positive: its probabilities are taken to this power and
        divided by their sum before they are averaged. All 1 if the parts predict values.
    prior : float array (K,), or (1,) for values
        The scores before anything is read.
    reads : bool array (n_features,)
        Features that every row buys: at least those that the parts may read.

    Examples
    --------
    Two trees of one split each. Both features are bought, whichever leaves a row ends in:

    >>> import numpy as np
    >>> from thrifty.model import Average, Forest
    >>> from thrifty.model.forest.nodes import empty_nodes
    >>> def stump(feature):
    ...     nodes = empty_nodes(3)
    ...     nodes[0] = (0.0, 1, feature)
    ...     return Forest(nodes, np.array([[0.0], [-1.0], [1.0]]), np.array([0]), np.array([0]),
    ...                   np.zeros(1), "sum", n_features=3)
    >>> model = Average.of([stump(0), stump(2)], prior=[0.0], weights=[0.75, 0.25])
    >>> X = np.array([[5.0, 0.0, -5.0], [-5.0, 0.0, -5.0]])
    >>> model.score(X), model.used(X[:1])
    (array([ 0.5, -1. ]), array([[ True, False,  True]]))
    >>> walk = model.walk()
    >>> walk.asks, walk.scores
    ((0, 2), array([0.]))
    """

    kind: ClassVar[str] = "average"

    parts: tuple[Frozen, ...]
    weights: Floats
    factors: Floats
    prior: Floats
    reads: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for name in LAYOUT:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    @classmethod
    def of(
        cls,
        parts: Sequence[Frozen],
        prior: ArrayLike,
        weights: ArrayLike | None = None,
        factors: ArrayLike | None = None,
        reads: NDArray[np.bool_] | None = None,
    ) -> Self:
        """Average models; by default with equal weights, as sure as they are.

        Raises
        ------
        DataError
            If the models do not fit together, or anything is out of range.
        """
        raise_all(DataError, "average", [*_part_problems(parts)])
        p = len(parts)
        bought = np.any([part.support for part in parts], axis=0) if reads is None else reads
        arrays: dict[str, NDArray[Any]] = {
            "weights": np.full(p, 1.0 / p) if weights is None else np.array(weights, float),
            "factors": np.ones(p) if factors is None else np.array(factors, float),
            "prior": np.array(prior, float),
            "reads": np.array(bought),
        }
        raise_all(DataError, "average", [*layout_problems(arrays, LAYOUT)])
        raise_all(DataError, "average", [*_array_problems(parts, arrays)])
        return cls(tuple(parts), **arrays)

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.parts[0].n_features

    @property
    def n_scores(self) -> int:
        """Number of classes; 1 for a model that predicts values."""
        return self.parts[0].n_scores

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K), or values (n,)."""
        self.check_columns(X)
        numbers = zip(self.parts, self.weights.tolist(), self.factors.tolist(), strict=True)
        terms = (weight * apply_temperature(part.score(X), f) for part, weight, f in numbers)
        return reduce(np.add, terms)

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row touches, (n, n_features): the same for all rows."""
        return np.tile(self.reads, (len(X), 1))

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features that every row buys, (n_features,)."""
        return self.reads

    @property
    def asks_at_once(self) -> bool:
        """True: every row buys the same features, in one round."""
        return True

    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """Return the evaluations of each row, (n,): the most that the parts can take together."""
        return np.full(len(X), self.most_evaluations, dtype=np.int64)

    @cached_property
    def most_evaluations(self) -> int:
        """The most evaluations of all parts together."""
        return sum(part.most_evaluations for part in self.parts)

    @cached_property
    def reads_features(self) -> frozenset[int]:
        """The features that every row buys, by position."""
        return frozenset(np.flatnonzero(self.reads).tolist())

    def walk(self, price: Price | None = None) -> AverageWalk:
        """Start one example; it asks for all features at once, the cheapest first."""
        return AverageWalk(self, price)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return what a model file keeps."""
        parts, arrays = pack(self.parts)
        return {"parts": parts}, {**arrays, **{name: getattr(self, name) for name in LAYOUT}}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Check what a model file holds, then build the model."""
        own = {name: array for name, array in arrays.items() if "/" not in name}
        problems = [*entry_problems(plain, ["parts"]), *layout_problems(own, LAYOUT)]
        raise_all(BundleError, "average", problems)
        parts = unpack(plain["parts"], {name: arrays[name] for name in arrays if "/" in name})
        raise_all(BundleError, "average", [*_part_problems(parts)])
        raise_all(BundleError, "average", [*_array_problems(parts, own)])
        return cls(tuple(parts), **own)


class AverageWalk(Walk):
    """The walk of an `Average`: it collects values, and scores the row once it has them all.

    Parameters
    ----------
    model : Average
    price : callable or None
        What a feature would cost now; cheaper features are asked for first.
    """

    def __init__(self, model: Average, price: Price | None) -> None:
        self._model = model
        self._price: Price = price or (lambda feature: 0.0)
        self._values: dict[int, float] = {}
        self._scores: Floats | None = None

    @property
    def asks(self) -> tuple[int, ...]:
        """All features that have no value yet, the cheapest first."""
        if self._is_done:
            return ()
        missing = self._model.reads_features.difference(self._values)
        return tuple(sorted(missing, key=lambda feature: (self._price(feature), feature)))

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values; those of features that the model does not read are ignored."""
        features, known = self._model.reads_features, self._values
        for feature, value in values.items():
            if feature in features:
                known.setdefault(feature, value)

    @property
    def touched(self) -> tuple[int, ...]:
        """Features read so far, in the order of arrival."""
        return tuple(self._values)

    @property
    def scores(self) -> Floats:
        """The row of `Average.score` once all values are known; the prior before."""
        if not self._is_done:
            return self._model.prior
        if self._scores is None:
            row = np.full((1, self._model.n_features), np.nan)
            row[0, list(self._values)] = list(self._values.values())
            self._scores = np.atleast_1d(self._model.score(row)[0])
        return self._scores

    @property
    def evaluations(self) -> int:
        """Evaluations: none until the row is complete."""
        return self._model.most_evaluations if self._is_done else 0

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return the evaluations of all parts if these features complete the row; else none."""
        complete = self._model.reads_features.issubset({*features, *self._values})
        return self._model.most_evaluations if complete else 0

    @property
    def _is_done(self) -> bool:
        return len(self._values) == len(self._model.reads_features)


def _part_problems(parts: Sequence[Frozen]) -> Iterator[str]:
    """Yield what keeps these models from being averaged."""
    if not parts:
        yield "an average needs a part"
    if len({(part.n_features, part.n_scores) for part in parts}) > 1:
        yield "the parts differ in columns or scores"
    if any(getattr(part, "may_fail", False) for part in parts):
        yield "the result of a call cannot be averaged: it may fail"


def _array_problems(parts: Sequence[Frozen], arrays: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Yield what is wrong with the numbers of an average of these parts."""
    weights, factors, reads = arrays["weights"], arrays["factors"], arrays["reads"]
    n_features, n_scores, shape = parts[0].n_features, parts[0].n_scores, (len(parts),)
    if weights.shape != shape or factors.shape != shape:
        yield f"there must be one weight and one factor for each of the {len(parts)} parts"
    in_range = (weights > 0) & (weights <= 1 + SUM_TOL)
    if not in_range.all() or not abs(weights.sum() - 1.0) <= SUM_TOL:
        yield "weights must be positive and add up to 1"
    if not ((factors > 0) & (factors <= LARGEST)).all():
        yield "factors must be positive and finite"
    if n_scores == 1 and (factors != 1).any():
        yield "values have no temperature: all factors must be 1"
    yield from prior_problems(arrays["prior"], n_scores)
    if reads.shape != (n_features,):
        yield f"reads has shape {reads.shape}, expected {(n_features,)}"
    elif any((part.support & ~reads).any() for part in parts):
        yield "a part may read a feature that is not bought"
