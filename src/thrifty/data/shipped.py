"""Data sets that come with this package or with scikit-learn, with price lists.

`heart` has published prices. None of the data sets of scikit-learn has: their prices here are
ILLUSTRATIVE, made up to be plausible and to show what a price list can express (cheap and expensive
features, tests that share a sample). Do not quote them as facts about laboratories.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any

from thrifty.costs import Prices
from thrifty.data.common import require
from thrifty.data.table import Table

__all__ = ["breast_cancer", "diabetes", "digits", "heart", "heart_files", "heart_model", "wine"]

FILES = files("thrifty.data") / "files"
HEART_FILES = ("heart.csv", "heart-prices.csv")
HEART_NOTE = (
    "Heart Disease, UCI Machine Learning Repository (CC BY 4.0); prices published by Turney (1995)"
)

# Minutes to measure a quantity on the image of the cells; its mean, error and worst share them.
CELL_MINUTES = {
    "radius": 1.0,
    "texture": 2.0,
    "perimeter": 1.0,
    "area": 1.0,
    "smoothness": 3.0,
    "compactness": 2.0,
    "concavity": 4.0,
    "concave points": 4.0,
    "symmetry": 3.0,
    "fractal dimension": 6.0,
}
STATISTICS = ("mean {}", "{} error", "worst {}")
STATISTIC_MINUTES = 0.1

WINE_EUROS = {
    "alcohol": 4.0,
    "malic_acid": 12.0,
    "ash": 2.0,
    "alcalinity_of_ash": 4.0,
    "magnesium": 6.0,
    "total_phenols": 3.0,
    "flavanoids": 5.0,
    "nonflavanoid_phenols": 5.0,
    "proanthocyanins": 7.0,
    "color_intensity": 1.0,
    "hue": 1.0,
    "od280/od315_of_diluted_wines": 2.0,
    "proline": 20.0,
}
WINE_GROUPS = {
    "ashing": ["ash", "alcalinity_of_ash", "magnesium"],
    "phenols": ["total_phenols", "flavanoids", "nonflavanoid_phenols", "proanthocyanins"],
    "photometer": ["color_intensity", "hue", "od280/od315_of_diluted_wines"],
}
WINE_SHARED = {"ashing": 8.0, "phenols": 10.0, "photometer": 3.0}

DIGIT_SIDE = 8
PIXEL_MILLISECONDS = 0.25
ROW_MILLISECONDS = 1.0

DIABETES_EUROS = {
    "age": 0.5,
    "sex": 0.5,
    "bmi": 1.0,
    "bp": 2.0,
    "s1": 4.0,
    "s2": 8.0,
    "s3": 6.0,
    "s4": 4.0,
    "s5": 6.0,
    "s6": 3.0,
}
BLOOD = ["s1", "s2", "s3", "s4", "s5", "s6"]
BLOOD_DRAW = 5.0


def heart() -> Table:
    """Load Heart Disease: 920 patients of four hospitals, 13 features, disease "no" or "yes".

    Prices are published, in Canadian dollars: the fees of Ontario as Turney (1995) lists them, from
    1 for a question to about 100 for a scan. Tests of one visit share its price. The README next to
    the files has source, license and changes.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import heart
    >>> table = heart()
    >>> table
    Table(heart: 920 rows, 13 features)
    >>> table.prices.bind(list(table.X.columns))
    BoundPrices(13 features, 3 groups, CAD 323.97 in full)
    """
    pandas = require("pandas")
    frame = pandas.read_csv(io.StringIO(heart_files()["heart.csv"]))
    with as_file(FILES / "heart-prices.csv") as path:
        prices = Prices.read(path, unit="CAD")
    X, y = frame.drop(columns="disease"), frame["disease"].to_numpy().astype(str)
    return Table("heart", X, y, prices, note=HEART_NOTE)


def heart_files() -> dict[str, str]:
    """Return the table and the price list of `heart` as CSV texts, by the name of the file."""
    return {name: (FILES / name).read_text(encoding="utf-8") for name in HEART_FILES}


def heart_model() -> Traversable:
    """Return the file of a small model of `heart`, which ``thrifty serve --demo`` serves.

    Examples
    --------
    >>> from importlib.resources import as_file
    >>> from thrifty import load
    >>> from thrifty.data import heart_model
    >>> with as_file(heart_model()) as path:
    ...     load(path).labels
    ['no', 'yes']
    """
    return FILES / "heart.thrifty"


def breast_cancer() -> Table:
    """Load Breast Cancer Wisconsin (diagnostic): 569 rows, 30 features, class 1 is benign.

    Prices are ILLUSTRATIVE, in minutes: measuring a quantity on the image takes 1 to 6 minutes
    and is shared by its mean, error and worst value, which add 0.1 each.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import breast_cancer
    >>> breast_cancer()
    Table(breast_cancer: 569 rows, 30 features)
    """
    groups = {name: [form.format(name) for form in STATISTICS] for name in CELL_MINUTES}
    own = {feature: STATISTIC_MINUTES for members in groups.values() for feature in members}
    return _load(
        "breast_cancer",
        Prices(own, groups=groups, shared=CELL_MINUTES, unit="minutes"),
        "minutes per measured quantity, shared by its mean, error and worst value",
    )


def wine() -> Table:
    """Load Wine Recognition: 178 rows, 13 chemical measurements, 3 cultivars.

    Prices are ILLUSTRATIVE, in euros: three preparations (ashing, phenol extraction, photometer)
    are paid once for the features that need them.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import wine
    >>> wine().prices.bind(list(wine().X.columns)).full
    93.0
    """
    return _load(
        "wine",
        Prices(WINE_EUROS, groups=WINE_GROUPS, shared=WINE_SHARED, unit="EUR"),
        "euros per assay, preparations shared",
    )


def digits() -> Table:
    """Load handwritten digits: 1,797 images of 8 x 8 pixels, 10 classes.

    Prices are ILLUSTRATIVE, in milliseconds of a line sensor: 1 to move to a row of pixels, paid
    once per row, and 0.25 to read a pixel.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import digits
    >>> digits().prices.bind(list(digits().X.columns)).full
    24.0
    """
    rows = range(DIGIT_SIDE)
    groups = {f"row_{i}": [f"pixel_{i}_{j}" for j in rows] for i in rows}
    own = {pixel: PIXEL_MILLISECONDS for row in groups.values() for pixel in row}
    shared = dict.fromkeys(groups, ROW_MILLISECONDS)
    return _load(
        "digits",
        Prices(own, groups=groups, shared=shared, unit="ms"),
        "milliseconds of a line sensor, a row of pixels shared",
    )


def diabetes() -> Table:
    """Load diabetes progression after a year (regression): 442 rows, 10 features, raw units.

    Prices are ILLUSTRATIVE, in euros: questions and scales are cheap; the six serum values share
    one blood draw.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import diabetes
    >>> diabetes().prices.bind(list(diabetes().X.columns)).full
    40.0
    """
    return _load(
        "diabetes",
        Prices(DIABETES_EUROS, groups={"blood": BLOOD}, shared={"blood": BLOOD_DRAW}, unit="EUR"),
        "euros per test, one blood draw shared",
        scaled=False,
    )


def _load(name: str, prices: Prices, about: str, **options: Any) -> Table:
    """Load a data set from scikit-learn and attach illustrative prices."""
    require("pandas")
    from sklearn import datasets

    load: Callable[..., Any] = getattr(datasets, f"load_{name}")
    bunch = load(as_frame=True, **options)
    note = f"data from scikit-learn; prices are illustrative, not published: {about}"
    return Table(name, bunch.data, bunch.target.to_numpy(), prices, note=note)
