"""How a table of codes and missing values becomes the numbers that a kernel reads.

Each *slot* reads one column: a number, shifted and scaled, or 1 for one category and 0 for the
others. A missing value has a number of its own in each slot.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = ["Encoding"]

Floats = NDArray[np.float64]
NUMERIC = -1
# What lies further out makes powers of it infinite and tells no more.
FARTHEST = 1e30


@dataclass(frozen=True, eq=False)
class Encoding:
    """Slots: arrays (q,).

    Parameters
    ----------
    columns : array of int64
        Column that each slot reads.
    codes : array of int64
        Category that the slot is 1 for; -1 for a number.
    centers, scales : arrays
        A number x becomes ``(x - center) / scale``.
    fills : array
        What a missing value becomes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.encoding import Encoding
    >>> slots = Encoding(np.array([0, 1, 1]), np.array([-1, 0, 1]), np.array([5.0, 0, 0]),
    ...                  np.array([2.0, 1, 1]), np.array([0.0, 0.5, 0.5]))
    >>> slots.apply(np.array([[9.0, 1.0], [np.nan, np.nan]]))
    array([[2. , 0. , 1. ],
           [0. , 0.5, 0.5]])
    """

    columns: NDArray[np.int64]
    codes: NDArray[np.int64]
    centers: Floats
    scales: Floats
    fills: Floats

    def apply(self, X: NDArray[np.floating]) -> Floats:
        """Rows (n, d) as rows (n, q)."""
        raw = X.take(self.columns, axis=1).astype(np.float64, copy=False)
        Z = (raw - self.centers) / self.scales
        label = self.codes != NUMERIC
        if label.any():
            Z[:, label] = raw[:, label] == self.codes[label]
        np.clip(Z, -FARTHEST, FARTHEST, out=Z)
        missing = np.isnan(raw)
        return np.where(missing, self.fills, Z) if missing.any() else Z

    def keep(self, slots: NDArray[np.bool_]) -> Encoding:
        """Some of the slots."""
        return Encoding(*(getattr(self, field.name)[slots] for field in fields(self)))

    @property
    def is_plain(self) -> bool:
        """Whether every slot is a number as it stands."""
        numbers = np.all(self.codes == NUMERIC) and np.all(self.scales == 1.0)
        return bool(numbers and np.all(self.centers == 0.0))
