"""Split a table into training, validation and test sets.

A figure is honest only on rows that had no part in training or choosing. Classes keep their shares
in every part, and the rows of a query or group stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError

__all__ = ["split_rows", "split_three"]

PARTS = ("train", "validation", "test")
# Fewer held-out rows than this measure nothing.
FEWEST = 2


def split_three(
    task: str, y: NDArray[Any], clusters: NDArray[Any] | None, share: float, random_state: int
) -> dict[str, NDArray[np.intp]]:
    """Split rows into training, validation and test sets; the last two get `share` each.

    Parameters
    ----------
    task : str
        For classification, every class is split in the same proportion.
    y : array of shape (n,)
        The target.
    clusters : array of shape (n,) or None
        Queries or other groups of rows, which are kept whole; classes then play no part.
    share : float
        Share of the rows for validation, and again for test.
    random_state : int

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.splits import split_three
    >>> y = np.repeat(["no", "yes"], [80, 20])
    >>> parts = split_three("classification", y, None, share=0.2, random_state=0)
    >>> {name: len(rows) for name, rows in parts.items()}
    {'train': 60, 'validation': 20, 'test': 20}
    """
    if not 0 < share < 0.5:
        raise ValueError(f"share: {share!r} is not between 0 and 0.5")
    part = _assign(task, y, clusters, share, 2, np.random.default_rng(random_state))
    parts = {name: np.flatnonzero(part == code) for code, name in enumerate(PARTS)}
    sizes = {name: len(rows) for name, rows in parts.items()}
    if min(sizes.values()) < FEWEST:
        what = "rows" if clusters is None else "groups of rows"
        listed = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise DataError(
            f"table: too few {what} for training, validation and test sets ({listed}); "
            "give more, at least about 100 rows"
        )
    return parts


def split_rows(
    task: str,
    y: NDArray[Any],
    clusters: NDArray[Any] | None,
    share: float,
    rng: np.random.Generator,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Split rows into a training and a validation set, which gets `share`; see `split_three`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.splits import split_rows
    >>> families = np.repeat(np.arange(10), 5)
    >>> rng = np.random.default_rng(0)
    >>> train, validation = split_rows("regression", np.zeros(50), families, share=0.2, rng=rng)
    >>> len(validation), np.intersect1d(families[train], families[validation])
    (10, array([], dtype=int64))
    """
    if not 0 < share < 1:
        raise ValueError(f"share: {share!r} is not between 0 and 1")
    part = _assign(task, y, clusters, share, 1, rng)
    train, validation = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    if not len(validation):
        raise DataError(
            f"table: {len(part)} rows with {len(np.unique(y))} distinct targets are too few to "
            "hold out a validation set; give more rows, or a validation set of your own"
        )
    return train, validation


def _assign(
    task: str,
    y: NDArray[Any],
    clusters: NDArray[Any] | None,
    share: float,
    held: int,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return the part of each row: 0 for training, 1 to `held` for the others.

    Every class has at least one training row.
    """
    if clusters is not None:
        names, cluster = np.unique(clusters, return_inverse=True)
        return _assign("", np.zeros(len(names)), None, share, held, rng)[cluster]
    strata = y if task == "classification" else np.zeros(len(y))
    part = np.zeros(len(strata), dtype=np.int64)
    _, codes = np.unique(strata, return_inverse=True)
    for code in range(codes.max() + 1):
        members = rng.permutation(np.flatnonzero(codes == code))
        n = min(round(share * len(members)), (len(members) - 1) // held)
        for k in range(held):
            part[members[k * n : (k + 1) * n]] = k + 1
    return part
