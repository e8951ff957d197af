"""The encoding of raw columns, with codes and missing values, as numbers for linear models.

An encoded column reads one raw column. It is either a number, shifted and scaled, or the indicator
of one category. What a missing value becomes is set for each encoded column.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

__all__ = ["NUMERIC", "Encoding"]

Floats = NDArray[np.float64]

# In place of a category's code: the encoded column is a number.
NUMERIC = -1
# Numbers are clipped to this absolute value, so that kernels of them do not overflow.
MAX_ABS = 1e30


@dataclass(frozen=True, eq=False)
class Encoding:
    """A list of q encoded columns, described by arrays (q,).

    Parameters
    ----------
    columns : array (q,) of int64
        Raw column that each encoded column reads.
    codes : array (q,) of int64
        Category that the encoded column indicates; -1 for a number.
    centers, scales : arrays (q,) of float64
        A number x becomes ``(x - center) / scale``.
    fills : array (q,) of float64
        What a missing value becomes.

    Examples
    --------
    A number with mean 5 and standard deviation 2, and a category with two codes:

    >>> import numpy as np
    >>> from thrifty.model.encoding import Encoding
    >>> encoding = Encoding(np.array([0, 1, 1]), np.array([-1, 0, 1]), np.array([5.0, 0, 0]),
    ...                     np.array([2.0, 1, 1]), np.array([0.0, 0.5, 0.5]))
    >>> encoding.apply(np.array([[9.0, 1.0], [np.nan, np.nan]]))
    array([[2. , 0. , 1. ],
           [0. , 0.5, 0.5]])
    """

    columns: NDArray[np.int64]
    codes: NDArray[np.int64]
    centers: Floats
    scales: Floats
    fills: Floats

    def apply(self, X: NDArray[np.floating]) -> Floats:
        """Return the rows (n, d) of X encoded, (n, q)."""
        raw = X.take(self.columns, axis=1).astype(np.float64, copy=False)
        with np.errstate(over="ignore"):  # clipped below
            Z = (raw - self.centers) / self.scales
        categorical = self.codes != NUMERIC
        if categorical.any():
            Z[:, categorical] = raw[:, categorical] == self.codes[categorical]
        np.clip(Z, -MAX_ABS, MAX_ABS, out=Z)
        missing = np.isnan(raw)
        return np.where(missing, self.fills, Z) if missing.any() else Z

    def keep(self, which: NDArray[np.bool_] | NDArray[np.intp] | slice) -> Encoding:
        """Return the encoded columns where a mask (q,) is true, or those at some positions."""
        return Encoding(*(getattr(self, field.name)[which] for field in fields(self)))

    @property
    def is_plain(self) -> bool:
        """Whether all encoded columns are numbers that are neither shifted nor scaled."""
        numbers = np.all(self.codes == NUMERIC) and np.all(self.scales == 1.0)
        return bool(numbers and np.all(self.centers == 0.0))
