"""A folder of Parquet data sets: list them, and load one as a `Table`.

Each data set is one file ``<name>.parquet`` whose columns are features, except for the reserved
names below; its prices are in a file next to it. The folder is not part of the package: the
environment variable THRIFTY_DATA says where it is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thrifty.costs import Prices
from thrifty.data.common import require
from thrifty.data.pricelists import read_costs, read_groups
from thrifty.data.table import Table
from thrifty.errors import DataError, did_you_mean, raise_all

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pandas import DataFrame

__all__ = ["load", "names"]

VARIABLE = "THRIFTY_DATA"
DEFAULT_FOLDER = Path("..", "shared", "data")
RESERVED_COLUMNS = ("y", "y_raw", "split", "qid", "part", "site", "selector")
PUBLISHED_UNIT = "CAD"
# Features left out by default: FTI is computed from TT4 and T4U and has no published price.
DROPPED = {"thyroid": ("FTI",)}
# What is uncertain about a data set or its prices; part of the note of its table.
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
    """List the names of the data sets in the folder, sorted.

    Parameters
    ----------
    folder : path or None
        Where the Parquet files are; by default the value of the environment variable
        THRIFTY_DATA, or ``../shared/data`` relative to the working directory.

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

    If ``<name>.costs.csv`` exists, the prices are the published ones (Canadian dollars; own price
    = discount_cost, shared price of a group = cost - discount_cost). If only ``<name>.groups.csv``
    exists, a group costs the number of its features, paid once. All other data sets have unit
    prices. The `note` of the table says which, and what is uncertain.

    The rows are in the order of the file, often sorted by class: shuffle before splitting.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path or None
        Where the Parquet files are; by default the value of the environment variable
        THRIFTY_DATA, or ``../shared/data`` relative to the working directory.
    drop : sequence of str or None
        Features to leave out; by default those without a price of their own, that is, FTI of
        thyroid; ``()`` keeps every feature.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the folder, the data set, a column to drop or an optional package does not exist.

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
    known = names(home)
    if name not in known:
        holds = f"; it holds {', '.join(known) or 'no Parquet file'}"
        hint = did_you_mean(name, known) or holds
        raise DataError(f"no data set {name!r} in {str(home)!r}{hint}")
    pandas = require("pandas", "pyarrow")
    try:
        whole: DataFrame = pandas.read_parquet(home / f"{name}.parquet", engine="pyarrow")
    except (OSError, ValueError) as error:
        raise DataError(f"{name}.parquet cannot be read as Parquet: {error}") from error
    X = whole.drop(columns=[column for column in RESERVED_COLUMNS if column in whole])
    problems = [] if "y" in whole else ["no column 'y' for the target"]
    for column in drop or ():
        # A feature that is dropped by default may be absent.
        if column not in X and column not in DROPPED.get(name, ()):
            problems.append(f"no feature {column!r} to drop{did_you_mean(column, X.columns)}")
    raise_all(DataError, f"data set {name!r}", problems)
    dropped = DROPPED.get(name, ()) if drop is None else drop
    X = X.drop(columns=[column for column in dropped if column in X])
    prices, note = _prices(home, name, list(X.columns))
    note = "; ".join(filter(None, [note, CAVEATS.get(name)]))
    y = whole["y"].to_numpy()
    return Table(name, X, _widen(y), prices, _column(whole, "qid"), _column(whole, "split"), note)


def _folder(folder: str | os.PathLike[str] | None) -> Path:
    home = Path(folder if folder is not None else os.environ.get(VARIABLE) or DEFAULT_FOLDER)
    if not home.is_dir():
        raise DataError(
            f"no folder {str(home)!r}; set the environment variable {VARIABLE} to the folder with "
            "the Parquet data sets, or pass folder="
        )
    return home


def _prices(home: Path, name: str, columns: list[str]) -> tuple[Prices, str]:
    """Return the prices of a data set, and a note where they come from."""
    costs, groups = home / f"{name}.costs.csv", home / f"{name}.groups.csv"
    if costs.exists():
        prices = read_costs(costs, columns, PUBLISHED_UNIT)
        note = "prices after the published list of Turney (1995)"
    elif groups.exists():
        prices = read_groups(groups, columns)
        note = "illustrative prices: a group costs the number of its features, once"
    else:
        prices, note = Prices(), "unit prices"
    prices.bind(columns)  # report a feature without a price here, not in the middle of a fit
    return prices, note


def _widen(values: NDArray[Any]) -> NDArray[Any]:
    """Return small integers as int64, so that arithmetic on classes cannot overflow."""
    return values.astype("int64") if values.dtype.kind in "iu" else values


def _column(whole: DataFrame, name: str) -> NDArray[Any] | None:
    if name not in whole:
        return None
    values = whole[name].to_numpy()
    return _widen(values) if values.dtype.kind in "iu" else values.astype(str)
