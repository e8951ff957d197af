"""What loaders and generators share: frames, cluster sizes, optional packages.

pandas is imported here and nowhere at import time, so that ``import thrifty.data``
stays light and a missing package is told with its remedy.
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

__all__ = ["at_least", "counts", "frame", "need"]


def need(*modules: str) -> Any:
    """Import `modules` and return the first; say which extra brings a missing one.

    Examples
    --------
    >>> from thrifty.data.making import need
    >>> need("json").dumps([1])
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
    """Named columns as a pandas DataFrame.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.data.making import frame
    >>> frame({"a": np.zeros(2), "b": np.ones(2)}).shape
    (2, 2)
    """
    table: DataFrame = need("pandas").DataFrame(dict(columns))
    return table


def at_least(least: int, n: int) -> int:
    """`n`, or a `DataError` when it is below `least` rows.

    Examples
    --------
    >>> from thrifty.data.making import at_least
    >>> at_least(4, 70)
    70
    """
    if n < least:
        raise DataError(f"n is {n}: this set needs at least {least} rows")
    return n


def counts(n: int, shares: Sequence[float]) -> NDArray[np.int64]:
    """Share `n` rows out in the ratio `shares`; what is left goes to the largest remainders.

    Examples
    --------
    >>> from thrifty.data.making import counts
    >>> counts(70, (4, 4, 3, 3)).tolist()
    [20, 20, 15, 15]
    """
    weights = np.asarray(shares, dtype=np.float64)
    exact = n * weights / weights.sum()
    sizes: NDArray[np.int64] = np.floor(exact).astype(np.int64)
    order = np.argsort(sizes - exact, kind="stable")
    sizes[order[: n - sizes.sum()]] += 1
    return sizes
