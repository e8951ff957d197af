"""A data set: examples, target and the prices of the features.

All loaders and generators return a `Table`, so that an experiment reads the same for any data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

    from thrifty.costs import Prices

__all__ = ["Table"]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """A named data set with its price list.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : pandas.DataFrame of shape (n, d)
        The features, one named column each.
    y : array of shape (n,)
        The target: classes, values, or relevance grades for ranking.
    prices : Prices
        Prices of the columns of `X`.
    qid : array of shape (n,) or None
        The query (or block) of each row.
    split : array of shape (n,) or None
        The original split, ``"train"`` or ``"test"`` for each row.
    note : str
        Where data and prices come from, and how far they can be trusted.

    Examples
    --------
    >>> from thrifty.data import wine
    >>> table = wine()
    >>> table
    Table(wine: 178 rows, 13 features)
    >>> table.prices.bind(list(table.X.columns)).unit
    'EUR'
    """

    name: str
    X: DataFrame
    y: NDArray[Any]
    prices: Prices
    qid: NDArray[Any] | None = None
    split: NDArray[Any] | None = None
    note: str = ""

    def __post_init__(self) -> None:
        parts = {"y": self.y, "qid": self.qid, "split": self.split}
        problems = [
            f"{part} has {len(values)} entries, X has {len(self.X)} rows"
            for part, values in parts.items()
            if values is not None and len(values) != len(self.X)
        ]
        raise_all(DataError, f"table {self.name!r}", problems)

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Table({self.name}: {rows} rows, {features} features)"
