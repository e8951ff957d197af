"""Training rows that help an example choose its next feature and know when to stop.

An example buys one feature at a time. The training rows nearest to it on what is bought tell how
often the answer so far is right for rows like it, and which further feature would make it right
for most of them (000 ch. 2, algorithm 1). The answer itself comes from the terms of the bought
features, never from the labels of the neighbors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.asking import Asking, Trails
from thrifty.model.neighbor_trail import NeighborTrail, smooth
from thrifty.model.neighbors_audit import audit_neighbors
from thrifty.model.sealed import sealed
from thrifty.model.terms import Terms

__all__ = ["Neighbors"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

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
    >>> from thrifty.model.neighbors import Neighbors
    >>> from thrifty.model.terms import Terms
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
