"""Rows to learn from, rows to choose on, rows to report on.

A figure is honest only on rows that had no part in learning or choosing, so a table is divided
in three. Classes keep their shares in every part, and the rows of a query stay together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from thrifty.bundle.cells import read
from thrifty.bundle.tables import Table
from thrifty.errors import DataError

__all__ = ["Rows", "divide", "hold_out", "plain", "take"]

PARTS = ("train", "validation", "test")
# Fewer held-out rows than this measure nothing.
FEWEST = 2


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows of a table: their positions, features, target and queries."""

    index: NDArray[np.intp]
    X: Any
    y: NDArray[Any]
    qid: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.index)

    def row(self, i: int) -> dict[str | int, Any]:
        """Values of the i-th of these rows by feature, as plain as they come."""
        table = Table.read(_safe_indexing(self.X, [i]))
        features: tuple[str | int, ...] = table.names or tuple(range(len(table.columns)))
        cells = (read(column)[0][0] for column in table.columns)
        return {name: plain(cell) for name, cell in zip(features, cells, strict=True)}


def take(index: NDArray[np.intp], X: Any, y: NDArray[Any], qid: NDArray[Any] | None) -> Rows:
    """Take the rows at some positions."""
    return Rows(index, _safe_indexing(X, index), y[index], None if qid is None else qid[index])


def plain(value: Any) -> Any:
    """Give a NumPy scalar as a Python value, and anything else back as it is."""
    return value.item() if isinstance(value, np.generic) else value


def divide(
    strata: NDArray[Any], units: NDArray[Any] | None, share: float, random_state: int
) -> dict[str, NDArray[np.intp]]:
    """Divide rows into train, validation and test; the last two get `share` each.

    Parameters
    ----------
    strata : array of shape (n,)
        Rows of equal value are shared out in the same proportion.
    units : array of shape (n,) or None
        Queries or other groups of rows, which are kept whole; `strata` then plays no part.
    share : float
        Share of the rows for validation, and again for test.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.splits import divide
    >>> parts = divide(np.repeat(["no", "yes"], [80, 20]), None, share=0.2, random_state=0)
    >>> {name: len(index) for name, index in parts.items()}
    {'train': 60, 'validation': 20, 'test': 20}
    """
    if not 0 < share < 0.5:
        raise ValueError(f"share: {share!r} is not between 0 and 0.5")
    part = _deal(strata, units, share, PARTS, np.random.default_rng(random_state))
    parts = {name: np.flatnonzero(part == code) for code, name in enumerate(PARTS)}
    _refuse_few(parts, "rows" if units is None else "queries")
    return parts


def hold_out(
    strata: NDArray[Any], units: NDArray[Any] | None, share: float, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Divide rows into those to learn from and those to choose on, which get `share`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.splits import hold_out
    >>> families = np.repeat(np.arange(10), 5)
    >>> rng = np.random.default_rng(0)
    >>> train, validation = hold_out(np.zeros(50), families, share=0.2, rng=rng)
    >>> len(validation), np.intersect1d(families[train], families[validation])
    (10, array([], dtype=int64))
    """
    if not 0 < share < 1:
        raise ValueError(f"share: {share!r} is not between 0 and 1")
    part = _deal(strata, units, share, PARTS[:2], rng)
    train, validation = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    if not len(validation):
        raise DataError(
            f"table: of {len(part)} rows, {len(np.unique(strata))} classes, none can be held out "
            "to choose on; give more rows, or validation rows of your own"
        )
    return train, validation


def _deal(
    strata: NDArray[Any],
    units: NDArray[Any] | None,
    share: float,
    parts: tuple[str, ...],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Part of each row: 0 train, then the held-out ones. Every stratum is in train."""
    if units is not None:
        names, unit = np.unique(units, return_inverse=True)
        return _deal(np.zeros(len(names)), None, share, parts, rng)[unit]
    part = np.zeros(len(strata), dtype=np.int64)
    held = len(parts) - 1
    _, codes = np.unique(strata, return_inverse=True)
    for code in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        n = min(round(share * len(members)), (len(members) - 1) // held)
        for k in range(held):
            part[members[k * n : (k + 1) * n]] = k + 1
    return part


def _refuse_few(parts: dict[str, NDArray[np.intp]], units: str) -> None:
    sizes = {name: len(index) for name, index in parts.items()}
    if min(sizes.values()) < FEWEST:
        told = ", ".join(f"{size} to {name}" for name, size in sizes.items())
        raise DataError(
            f"table: too few {units} to learn from, choose on and report on ({told}); "
            f"give more, about 100 rows at least"
        )
