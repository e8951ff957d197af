"""Training rows that help an example choose its next feature and know when to stop.

An example buys one feature at a time. The training rows nearest to it on what is bought tell how
often the answer so far is right for rows like it, and which further feature would make it right
for most of them (Nan 2018, ch. 2, algorithm 1). The answer itself comes from the terms of the bought
features, never from the labels of the neighbors.

One example among its neighbors, in plain NumPy: the walk, and the twin of the kernel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import sealed
from thrifty.model.sequential.additive_terms import Terms
from thrifty.model.sequential.audit import audit_neighbors
from thrifty.model.sequential.base import Asking, Trail, Trails

__all__ = ["NeighborTrail", "Neighbors", "leads", "smooth"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


class NeighborTrail(Trail):
    """Algorithm 1 for one example."""

    def __init__(self, model: Neighbors) -> None:
        super().__init__(model.prior, int(model.order[0]) if model.starts else None)
        self._model = model
        self._distance = np.zeros(len(model.labels), dtype=np.float32)
        self._sums = model.terms.offset.copy()

    def take(self, value: float) -> None:
        """Take the value of the feature that is wanted, and look around again."""
        model, feature = self._model, self.wants
        assert feature is not None
        self.bought.append(feature)
        self._sums += model.terms.column(feature, np.array([value]))[0]
        self._move(feature, value)
        near = self._near()
        sums = self._near_sums(near)
        hits = int(leads(sums, model.labels[near]).sum())
        estimate = hits / len(near)
        sure = smooth(hits, len(near), len(self.prior))
        self.seen.append((estimate, sure, _best(self._sums)))
        self.wants = None
        if not estimate > model.threshold and len(self.bought) < len(model.order):
            self.wants = self._next(near, sums)

    def _move(self, feature: int, value: float) -> None:
        """Add a coordinate to all distances; a missing value adds none."""
        model = self._model
        if np.isnan(value):
            return
        row = np.zeros(model.n_features)
        row[feature] = value
        here, places = model.locate(row[np.newaxis])[0, feature], model.places[feature]
        mismatch = model.mismatch[feature]
        if mismatch > 0:
            unequal = np.where(places >= 0, mismatch, mismatch / np.float32(2.0))
            self._distance += np.where(places == here, np.float32(0.0), unequal)
        else:
            self._distance += (places - here) ** 2

    def _near(self) -> NDArray[np.intp]:
        """The k nearest rows, and all that are as near as the last of them."""
        last = np.partition(self._distance, self._model.k - 1)[self._model.k - 1]
        return np.flatnonzero(self._distance <= last)

    def _near_sums(self, near: NDArray[np.intp]) -> Floats:
        """Scores of rows on what is bought (eq. 2.2), added in the order of purchase."""
        offset = np.broadcast_to(self._model.terms.offset, (len(near), 1, len(self._sums)))
        added = self._model.row_terms[near][:, self.bought]
        return np.concatenate([offset, added], axis=1).cumsum(axis=1)[:, -1]

    def _next(self, near: NDArray[np.intp], sums: Floats) -> int:
        """The feature with the largest estimate less its toll (eqs. 2.3 and 2.5)."""
        model = self._model
        if not model.adaptive:
            return int(model.order[len(self.bought)])
        rest = model.order[~np.isin(model.order, self.bought)]
        ahead = sums[:, np.newaxis] + model.row_terms[near][:, rest]
        estimate = leads(ahead, model.labels[near][:, np.newaxis]).sum(axis=0) / len(near)
        opened = np.isin(model.group[rest], model.group[self.bought])
        fee = np.append(model.entry, 0.0)[model.group[rest]]
        toll = model.toll[rest] + np.where(opened, 0.0, fee)
        return int(rest[np.argmax(estimate - toll)])


def smooth(hits: Any, sizes: Any, n_classes: int) -> Any:
    """Share of hits as if there had been one more row of each class, so that none is certain."""
    return (hits + 1) / (sizes + n_classes)


def _best(sums: Floats) -> int:
    """The class that scores speak for (eq. 2.1)."""
    return int(sums[0] > 0) if len(sums) == 1 else int(np.argmax(sums))


def leads(sums: Floats, labels: Whole) -> NDArray[np.bool_]:
    """Whether the margin is positive: the own class scores more than every other."""
    if sums.shape[-1] == 1:
        return np.asarray(sums[..., 0] * np.where(labels == 1, 1.0, -1.0) > 0)
    labels = np.broadcast_to(labels, sums.shape[:-1])[..., np.newaxis]
    others = sums.copy()
    np.put_along_axis(others, labels, -np.inf, axis=-1)
    return np.asarray(np.take_along_axis(sums, labels, axis=-1)[..., 0] > others.max(axis=-1))


# Rows that one thread of the kernel takes at a time.
ROWS_PER_BLOCK = 64
# Farther apart than this, coordinates are equally far: squares stay within single precision.
FAR = 1e9
ARRAYS = ("rows", "labels", "unit", "category", "toll", "group", "entry", "order")
SHARED = ("row_terms", "places", "prior")


@dataclass(frozen=True, eq=False)
class Neighbors(Asking):
    """A classifier of additive terms that buys features until its near rows are mostly right.

    Near rows are the `k` training rows with the least distance on what is bought, and all that
    are as near as the last of them. The estimate of an answer is the share of near rows whose own
    class leads on what is bought.

    Parameters
    ----------
    terms : Terms
        What each feature adds to the scores of the classes.
    rows : array (n, d)
        Training rows, NaN for missing values.
    labels : int array (n,)
        Their classes.
    unit : array (d,)
        Distance per unit of a feature; squared distance of two unequal categories.
    category : bool array (d,)
        Which features hold categories. A missing training value lies at the center of a column,
        half a mismatch from any category; a missing value of an example adds no distance.
    toll, group, entry : arrays (d,), (d,), (g,)
        What a feature, and the first of a group (-1: in none), loses in the choice.
    order : int array (m,)
        Features that may be bought; the first is bought first, and earlier ones win ties.
    k : int
        Least number of near rows.
    threshold : float
        A row stops when its estimate is above it. Before the first purchase the estimate is the
        share of the largest class.
    adaptive : bool
        Whether near rows choose the next feature; else it is the next in the order.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.sequential.neighbors import Neighbors
    >>> from thrifty.model.sequential.additive_terms import Terms
    >>> rows = np.array([[-1.0, 2.0], [-1.0, -2.0], [3.0, 5.0], [3.0, -5.0]])
    >>> model = Neighbors(
    ...     Terms.linear(np.array([[1.0], [0.1]]), np.zeros(1), np.zeros(2)),
    ...     rows, np.array([1, 0, 1, 1]), np.ones(2), np.zeros(2, bool), np.zeros(2),
    ...     np.full(2, -1), np.zeros(0), np.array([0, 1]), k=2, threshold=0.9)
    >>> model.used(np.array([[3.0, 0.0], [-1.0, 0.0]]))  # near the last two rows all is clear
    array([[ True, False],
           [ True,  True]])
    """

    kind: ClassVar[str] = "neighbors"

    terms: Terms
    rows: Floats
    labels: Whole
    unit: Floats
    category: NDArray[np.bool_]
    toll: Floats
    group: Whole
    entry: Floats
    order: Whole
    k: int
    threshold: float
    adaptive: bool = True

    def __post_init__(self) -> None:
        for name in ARRAYS:
            object.__setattr__(self, name, sealed(getattr(self, name)))

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is built anew, so that its arrays are read-only too.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def changed(self, **changes: Any) -> Self:
        """The same with other settings; shares what the rows come to with this one."""
        model = replace(self, **changes)
        for name in SHARED:
            vars(model)[name] = getattr(self, name)
        return model

    def until(self, threshold: float) -> Self:
        """The same with another threshold."""
        return self.changed(threshold=float(threshold))

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """Number of columns of the table."""
        return self.terms.n_features

    def trail(self) -> NeighborTrail:
        """Start one example."""
        return NeighborTrail(self)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps."""
        plain = {"k": self.k, "threshold": self.threshold, "adaptive": self.adaptive}
        return plain, {**{name: getattr(self, name) for name in ARRAYS}, **self.terms.state()}

    @classmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds, then build."""
        audit_neighbors(plain, arrays)
        terms = Terms(**{name: arrays[name] for name in Terms.names()})
        rest: dict[str, Any] = {name: arrays[name] for name in ARRAYS}
        return cls(terms, **rest, **plain)

    @cached_property
    def prior(self) -> Floats:  # type: ignore[override]
        """Shares of the classes."""
        return sealed(np.bincount(self.labels, minlength=self.terms.n_classes) / len(self.labels))

    @cached_property
    def row_terms(self) -> Floats:
        """Terms of the training rows, (n, d, c)."""
        return sealed(self.terms.of(self.rows))

    @cached_property
    def places(self) -> NDArray[np.float32]:
        """Coordinates of the training rows, (d, n); a missing category is -1."""
        places = self.locate(self.rows)
        return sealed(np.where(np.isnan(places), -self.category.astype(np.float32), places).T)

    @cached_property
    def mismatch(self) -> NDArray[np.float32]:
        """Squared distance of unequal categories; 0 for a feature without categories."""
        return sealed(np.where(self.category, self.unit, 0.0).astype(np.float32))

    def locate(self, X: Floats) -> NDArray[np.float32]:
        """Coordinates of rows, (n, d); NaN for missing values."""
        away = np.clip((X - self.terms.center) * self.unit, -FAR, FAR)
        return np.where(self.category, X, away).astype(np.float32)

    def _run(self, X: Floats, found: Trails) -> None:
        if not find_spec("numba"):
            super()._run(X, found)
            return
        hits, sizes = np.zeros((2, *found.feature.shape), dtype=np.int64)
        _run_kernel(self, X, (found.feature, hits, sizes, found.winner, found.steps))
        taken = sizes > 0
        found.estimate[taken] = hits[taken] / sizes[taken]
        found.sure[taken] = smooth(hits[taken], sizes[taken], self.n_scores)


def _run_kernel(model: Neighbors, X: Floats, found: tuple[Whole, ...]) -> None:
    # Imported here: a program that only walks never pays for loading Numba.
    from thrifty.kernels.neighbors import follow_rows
    from thrifty.kernels.threads import blocks, run

    rule = np.array([model.k, not model.adaptive, model.threshold])
    still = (
        model.places, model.mismatch, model.row_terms, model.labels, model.terms.offset,
        model.toll, model.group, model.entry, model.order, rule,
    )  # fmt: skip

    def task(first: int, last: int) -> None:
        rows = X[first:last]
        parts = (part[first:last] for part in found)
        follow_rows(*still, model.locate(rows), model.terms.of(rows), *parts)

    run(task, blocks(len(X), ROWS_PER_BLOCK))
