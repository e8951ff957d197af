"""What loaders and generators share: optional packages, DataFrames, row counts.

pandas is imported only when a table is made, so that ``import thrifty.data`` stays light and a
missing package is reported with its remedy.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

__all__ = ["apportion", "check_rows", "frame", "require"]


def require(*modules: str) -> Any:
    """Import `modules` and return the first.

    Raises
    ------
    DataError
        If one of them is not installed; the message names the extra that installs it.

    Examples
    --------
    >>> from thrifty.data.common import require
    >>> require("json").dumps([1])
    '[1]'
    """
    try:
        first, *_ = [importlib.import_module(module) for module in modules]
        return first
    except ImportError as error:
        names = " and ".join(modules)
        raise DataError(
            f"this table needs {names} ({error}): pip install 'thrifty[parquet]'"
        ) from error


def frame(columns: Mapping[str, NDArray[Any]]) -> DataFrame:
    """Return named columns as a pandas DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.data.common import frame
    >>> frame({"a": np.zeros(2), "b": np.ones(2)}).shape
    (2, 2)
    """
    table: DataFrame = require("pandas").DataFrame(dict(columns))
    return table


def check_rows(n: int, least: int) -> None:
    """Raise a DataError if `n` is less than `least` rows.

    Examples
    --------
    >>> from thrifty.data.common import check_rows
    >>> check_rows(3, least=4)
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: n is 3; this data set needs at least 4 rows
    """
    if n < least:
        raise DataError(f"n is {n}; this data set needs at least {least} rows")


def apportion(n: int, shares: Sequence[float]) -> NDArray[np.int64]:
    """Divide `n` rows in the ratio `shares`; the largest remainders get the rows left over.

    Examples
    --------
    >>> from thrifty.data.common import apportion
    >>> apportion(70, (4, 4, 3, 3)).tolist()
    [20, 20, 15, 15]
    """
    weights = np.asarray(shares, dtype=np.float64)
    exact = n * weights / weights.sum()
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(sizes - exact, kind="stable")
    sizes[order[: n - sizes.sum()]] += 1
    return sizes
