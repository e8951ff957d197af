"""A training table as bytes, binned once and shared by every tree of a fit or a path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.kernels.binning import MISSING, SAMPLE, bin_table

__all__ = ["Binned", "BinnedParts"]


@dataclass(frozen=True, eq=False)
class Binned:
    """The bins of a table, feature by feature, and what each bin means.

    Parameters
    ----------
    bins : uint8 array of shape (d, n)
        Bin of each value; `kernels.binning.MISSING` for a missing one.
    edges : list of d arrays
        Bin b of feature j holds the values up to ``edges[j][b]``.
    categorical : bool array of shape (d,)
        Bin b of a categorical feature holds the category of code b instead.
    """

    bins: NDArray[np.uint8]
    edges: list[NDArray[np.float64]]
    categorical: NDArray[np.bool_]

    @classmethod
    def of(cls, X: NDArray[np.floating], categorical: NDArray[np.bool_], random: Any) -> Self:
        """Bin an encoded table; edges of a long one are placed by a sample that `random` draws."""
        sample = None
        if len(X) > SAMPLE:
            sample = np.sort(random.choice(len(X), SAMPLE, replace=False))
        bins, edges = bin_table(X, categorical, sample=sample)
        return cls(bins, edges, categorical)

    @property
    def stored(self) -> NDArray[np.uint8]:
        """The bins in parts of equally many rows, (parts, d, size): here, one part."""
        return self.bins[np.newaxis]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.bins.shape[1])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.edges)

    @property
    def width(self) -> NDArray[np.int64]:
        """Number of bins of each feature, not counting the one for missing values."""
        ordered = np.array([len(edges) + 1 for edges in self.edges], dtype=np.int64)
        return np.where(self.categorical, MISSING, ordered)

    def take(self, rows: NDArray[np.intp]) -> Self:
        """Keep some of the rows, in the same bins."""
        bins = np.ascontiguousarray(self.bins[:, rows])
        return type(self)(bins, self.edges, self.categorical)

    def coarsen(self, most: int) -> Self:
        """Merge neighboring bins of ordered features until each has at most about `most`.

        Merged bins hold about as many rows as each other; a bin with many rows stays alone.
        """
        bins, edges = self.bins.copy(), list(self.edges)
        for j in np.flatnonzero(~self.categorical & (self.width > most)):
            counts = np.bincount(self.bins[j], minlength=256)[: len(edges[j]) + 1]
            before = np.cumsum(counts) - counts
            # Bins whose first rows fall into the same share of all rows become one.
            share = before * most // max(int(counts.sum()), 1)
            ends = np.flatnonzero(np.diff(share))
            merged = np.full(256, MISSING, dtype=np.uint8)
            merged[: len(counts)] = np.searchsorted(ends, np.arange(len(counts)))
            bins[j], edges[j] = merged[self.bins[j]], edges[j][ends]
        return type(self)(bins, edges, self.categorical)

    def bins_of(self, X: NDArray[np.floating]) -> NDArray[np.uint8]:
        """Put other encoded rows (m, d) into the same bins, (d, m)."""
        bins: NDArray[np.uint8] = bin_table(X, self.categorical, edges=self.edges)[0]
        return bins

    @cached_property
    def uppers(self) -> NDArray[np.float64]:
        """Largest value of each bin, (d, 256); the last bin of a feature takes any value."""
        uppers = np.full((len(self.edges), 256), np.finfo(np.float64).max)
        for row, edges in zip(uppers, self.edges, strict=True):
            row[: len(edges)] = edges
        return uppers


@dataclass(frozen=True, eq=False)
class BinnedParts(Binned):
    """A table whose bins lie in several parts, such as a memory map of a file.

    Parameters
    ----------
    bins : uint8 array of shape (parts, d, size)
        Bins of the rows in parts of `size` rows; what follows the last row is never read.
    edges, categorical
        As in `Binned`.
    length : int
        Number of rows.
    """

    length: int

    @property
    def stored(self) -> NDArray[np.uint8]:
        """The bins in parts of equally many rows, (parts, d, size)."""
        return self.bins

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.length
