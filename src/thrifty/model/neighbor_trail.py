"""One example among its neighbors, in plain NumPy: the walk, and the twin of the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from thrifty.model.trail import Trail

if TYPE_CHECKING:
    from thrifty.model.neighbors import Neighbors

__all__ = ["NeighborTrail", "leads", "smooth"]

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
