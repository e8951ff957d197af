"""What single rows may read at most: a few sets of features that bound every path of a model.

The union of all features that a model may read can be far more than any row reads: after a split,
a row goes to one side only. `Frozen.path_bounds` lists sets of features, each with a number of
evaluations, such that whatever a row holds, all it uses lies within one of them. The dearest of
them bounds every bill.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["MAX_PATHS", "PathBounds", "all_of"]

# More paths than this are merged: looser bounds, but still bounds.
MAX_PATHS = 64
# So many are compared with each other to find those that lie within another.
MAX_COMPARED = 512


class PathBounds(NamedTuple):
    """Sets of features and numbers of evaluations, none of which lies within another."""

    used: NDArray[np.bool_]
    """(p, n_features): features that a row on each path may read."""

    evaluations: NDArray[np.int64]
    """(p,): the most evaluations on each path."""

    @classmethod
    def of(cls, used: ArrayLike, evaluations: ArrayLike) -> PathBounds:
        """Keep the paths that do not lie within another; merge them if they are too many.

        Examples
        --------
        >>> from thrifty.model.path_bounds import PathBounds
        >>> PathBounds.of([[True, False], [True, True]], [3, 3]).used
        array([[ True,  True]])
        """
        bounds = cls(np.atleast_2d(np.asarray(used, dtype=bool)), np.atleast_1d(evaluations))
        if len(bounds.used) > 1:
            bounds = bounds._distinct()
            bounds = bounds._outermost() if len(bounds.used) <= MAX_COMPARED else bounds
        return bounds if len(bounds.used) <= MAX_PATHS else bounds.merged()

    def merged(self) -> PathBounds:
        """Return one path that all lie within."""
        used = np.asarray(self.used.any(axis=0))[np.newaxis]
        return PathBounds(used, self.evaluations.max(keepdims=True))

    def reading(self, features: ArrayLike) -> PathBounds:
        """Return the paths with some features, given by position, read on each."""
        used = self.used.copy()
        used[:, np.asarray(features, dtype=np.int64)] = True
        return PathBounds.of(used, self.evaluations)

    def either(self, other: PathBounds) -> PathBounds:
        """Return the paths of a row that goes to one of two models."""
        one = self
        if len(one.used) + len(other.used) > MAX_PATHS:
            one, other = one.merged(), other.merged()
        return PathBounds.of(
            np.concatenate([one.used, other.used]),
            np.concatenate([one.evaluations, other.evaluations]),
        )

    def both(self, other: PathBounds) -> PathBounds:
        """Return the paths of a row that visits two models.

        Any path through the one may go with any through the other; if these are too many, the
        model with fewer paths counts as if a row read all that any of its paths reads.
        """
        few, many = sorted((self, other), key=lambda bounds: len(bounds.used))
        if len(few.used) * len(many.used) > MAX_PATHS:
            few = few.merged()
        used = few.used[:, np.newaxis] | many.used
        evaluations = few.evaluations[:, np.newaxis] + many.evaluations
        return PathBounds.of(used.reshape(-1, used.shape[2]), evaluations.ravel())

    def _distinct(self) -> PathBounds:
        """Return each set of features once, with the most evaluations that go with it."""
        packed = np.packbits(self.used, axis=1)
        _, first, group = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        evaluations = np.zeros(len(first), dtype=np.int64)
        np.maximum.at(evaluations, group.ravel(), self.evaluations)
        return PathBounds(self.used[first], evaluations)

    def _outermost(self) -> PathBounds:
        """Drop the paths that lie within another; all must be distinct."""
        read = self.used.astype(np.float64)
        # How many features of one path (row) another (column) does not read.
        is_subset = read @ (1.0 - read).T == 0
        fewer = self.evaluations[:, np.newaxis] <= self.evaluations
        within = is_subset & fewer & ~np.eye(len(read), dtype=bool)
        kept = ~within.any(axis=1)
        return PathBounds(self.used[kept], self.evaluations[kept])


def all_of(bounds: Iterable[PathBounds]) -> PathBounds:
    """Return the paths of a row that visits several models, at least one."""
    return reduce(PathBounds.both, bounds)
