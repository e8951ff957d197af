"""The folder of Parquet data sets: what is in it, and how one becomes a `Table`.

Each set is one file ``<name>.parquet`` whose columns are features, except the reserved names
below; its prices lie beside it. The folder is not part of the package: the environment
variable THRIFTY_DATA says where it is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.costs import Prices
from thrifty.data.making import need
from thrifty.data.pricelists import by_family, published
from thrifty.data.table import Table
from thrifty.errors import DataError, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

__all__ = ["load", "names"]

VARIABLE = "THRIFTY_DATA"
DEFAULT = Path("..", "shared", "data")
RESERVED = ("y", "y_raw", "split", "qid", "part", "site", "selector")
PUBLISHED_UNIT = "CAD"
# FTI is computed from TT4 and T4U and has no published price.
DROPPED = {"thyroid": ("FTI",)}
CAVEATS = {
    "bupa": "UNVERIFIED: no copy of the published list was found",
    "cifar10_coates400": "features made after Coates and Ng, not those of the papers",
    "heart": "rows of four hospitals; a chol of zero stands for a missing value",
    "hepatitis": "agree with a secondary source only; age, alk_phosphate, sgot UNVERIFIED",
    "newsgroups20": "200 frequent words counted, not the features of the papers",
    "pima": "agree with a secondary source only; diastolic_bp, triceps UNVERIFIED",
    "thyroid": "discounts are inferred from related files; FTI has no published price",
}


def names(folder: str | os.PathLike[str] | None = None) -> tuple[str, ...]:
    """Names of the data sets in the folder, sorted.

    Parameters
    ----------
    folder : path or None
        Where the Parquet files are. None: the environment variable THRIFTY_DATA, else
        ``../shared/data`` seen from the working directory.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from thrifty.data import names
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "heart.parquet").touch()
    ...     names(folder)
    ('heart',)
    """
    return tuple(sorted(path.stem for path in _folder(folder).glob("*.parquet")))


def load(
    name: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    drop: Sequence[str] | None = None,
) -> Table:
    """Load a data set from the folder of Parquet files, with its prices.

    Prices are the published ones where ``<name>.costs.csv`` exists (Canadian dollars; own price
    = discount_cost, shared price of a group = cost - discount_cost). Where only
    ``<name>.groups.csv`` exists, a group costs the number of its features, paid once. All other
    sets have unit prices. The `note` of the table says which, and what is uncertain.

    Rows come in the order of the file, which is often sorted by class: shuffle before splitting.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path or None
        Where the Parquet files are. None: the environment variable THRIFTY_DATA, else
        ``../shared/data`` seen from the working directory.
    drop : sequence of str or None
        Features to leave out. None: those without an honest price of their own, that is FTI of
        thyroid; ``()`` keeps every feature.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        When the folder, the set, a column to drop or an optional package is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from thrifty.data import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     toy = pd.DataFrame({"age": [30, 50], "chol": [180.0, 240.0], "y": [0, 1]})
    ...     toy.to_parquet(Path(folder) / "toy.parquet")
    ...     load("toy", folder)
    Table(toy: 2 rows, 2 features)
    """
    home = _folder(folder)
    _check_known(name, home)
    whole = _read(home / f"{name}.parquet")
    left_out = DROPPED.get(name, ()) if drop is None else tuple(drop)
    X = whole.drop(columns=[column for column in RESERVED if column in whole])
    _check_columns(name, whole, X, left_out)
    X = X.drop(columns=[column for column in left_out if column in X])
    prices, note = _prices(home, name, list(X.columns))
    note = "; ".join(filter(None, [note, CAVEATS.get(name)]))
    y = whole["y"].to_numpy()
    return Table(name, X, _widened(y), prices, _column(whole, "qid"), _column(whole, "split"), note)


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    home = Path(folder if folder is not None else os.environ.get(VARIABLE) or DEFAULT)
    if not home.is_dir():
        raise DataError(
            f"no folder {str(home)!r}: set the environment variable {VARIABLE} to the folder with "
            "the Parquet data sets, or give folder="
        )
    return home


def _check_known(name: str, home: Path) -> None:
    known = names(home)
    if name not in known:
        remedy = _near(name, known) or f"; it holds {', '.join(known) or 'no Parquet file'}"
        raise DataError(f"no data set {name!r} in {str(home)!r}{remedy}")


def _check_columns(name: str, whole: DataFrame, X: DataFrame, left_out: Sequence[str]) -> None:
    problems = [] if "y" in whole else ["no column 'y' for the target"]
    # A default that is not in the file is no mistake of the caller's.
    asked = [column for column in left_out if column not in DROPPED.get(name, ())]
    problems += [
        f"no feature {column!r} to drop{_near(column, list(X.columns))}"
        for column in asked
        if column not in X
    ]
    raise_all(DataError, f"data set {name!r}", problems)


def _near(word: str, known: Collection[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    matches = [by_lower[near] for near in get_close_matches(word.lower(), by_lower, cutoff=0.5)]
    return f"; did you mean {' or '.join(map(repr, matches))}?" if matches else ""


def _read(path: Path) -> DataFrame:
    pandas = need("pandas", "pyarrow")
    try:
        table: DataFrame = pandas.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError) as error:
        raise DataError(f"{path.name} cannot be read as Parquet: {error}") from error
    return table


def _prices(home: Path, name: str, columns: list[str]) -> tuple[Prices, str]:
    costs, groups = home / f"{name}.costs.csv", home / f"{name}.groups.csv"
    if costs.exists():
        prices = published(costs, columns, PUBLISHED_UNIT)
        note = "prices after the published list of Turney (1995)"
    elif groups.exists():
        prices = by_family(groups, columns)
        note = "illustrative prices: a group costs the number of its features, once"
    else:
        prices, note = Prices(), "unit prices"
    prices.bind(columns)  # a feature without a price is told here, not in the middle of a fit
    return prices, note


def _widened(y: NDArray[Any]) -> NDArray[Any]:
    """Small integers of the file as int64, so that arithmetic on classes cannot wrap."""
    return y.astype("int64") if y.dtype.kind in "iu" else y


def _column(whole: DataFrame, name: str) -> NDArray[Any] | None:
    if name not in whole:
        return None
    values = whole[name].to_numpy()
    return _widened(values) if values.dtype.kind in "iu" else values.astype(str)
