"""Synthetic data sets whose optimal strategy is known.

A learner can be compared with the optimum on them, and not only with other learners.
"""

from __future__ import annotations

import numpy as np

from thrifty.costs import Prices
from thrifty.data.common import check_rows, frame
from thrifty.data.table import Table
from thrifty.errors import DataError

__all__ = ["binary_points", "noisy_xor", "quadrants"]

XOR_PRICES = (1.0, 1.0, 1.0, 2.0, 5.0, 15.0, 25.0, 70.0, 100.0, 1000.0)
XOR_REGION = (0.5, 1.5)
XOR_TRAIN_SHARE = 0.64
QUADRANTS = {"pp": (1, 1), "pm": (1, -1), "mp": (-1, 1), "mm": (-1, -1)}
# The mean label of a quadrant is -(sign of x) - 2 (sign of z).
QUADRANT_MEAN = np.array([-1.0, -2.0])
QUADRANT_PRICES = {"sign_x": 1.0, "sign_z": 1.0} | {f"z_{name}": 10.0 for name in QUADRANTS}


def binary_points(n: int = 1024, random_state: int | None = None) -> Table:
    """Generate all combinations of ten binary features: four classes with four exceptions.

    Nan et al. 2015, section 2.4, and Nan 2018, section 3.4.2 and figure 3.1. Read as a binary
    number with `t_1` as its highest digit, an example is an integer 0 .. 1023. The four quarters
    of that range have labels 1, 2, 3, 4, except that the first of each (0, 256, 512, 768) has 2,
    3, 4, 1. All prices are 1.

    `t_1` and `t_2` together leave exactly 4 errors (0.39 %). To make no error at all, some
    examples need all ten features: the label of an exception differs from all its neighbors.

    Parameters
    ----------
    n : int
        Number of rows, a power of two not below 8; the features are its binary digits.
    random_state : int or None
        Seed of the order of the rows, which is all that is random. None keeps 0 .. n - 1.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import binary_points
    >>> table = binary_points()
    >>> table
    Table(binary_points: 1024 rows, 10 features)
    >>> table.y[[0, 1, 255, 256, 257, 1023]]
    array([2, 1, 1, 3, 2, 4])
    """
    if n < 8 or n & (n - 1):
        raise DataError(f"n is {n}; pass a power of two, 8 or more")
    digits = n.bit_length() - 1
    number = np.arange(n)
    if random_state is not None:
        number = np.random.default_rng(random_state).permutation(n)
    quarter, rest = np.divmod(number, n // 4)
    y = np.where(rest > 0, quarter, (quarter + 1) % 4) + 1
    columns = {f"t_{i + 1}": number >> (digits - 1 - i) & 1 for i in range(digits)}
    prices = dict.fromkeys(columns, 1.0)
    note = "prices of the paper: 1 each"
    return Table("binary_points", frame(columns), y, Prices(prices), note=note)


def quadrants(n: int = 1000, random_state: int | None = None) -> Table:
    """Generate a regression in which two cheap signs say which expensive feature is the label.

    Xu 2014, section 3.7.1 and figure 3.4. A point (x, z) is drawn uniformly from the square
    [-1, 1] x [-1, 1]. `sign_x` and `sign_z` cost 1 each. `z_pp`, `z_pm`, `z_mp`, `z_mm` (p plus,
    m minus; sign of x, then of z) cost 10 each: the one of the point's own quadrant equals the
    label, the others are random numbers. The best predictor without error pays exactly 12 for
    every example.

    The label is Gaussian with variance 1 around the mean of the quadrant. The thesis only says
    that the means with negative z are higher; here the mean is -(sign of x) - 2 (sign of z), that
    is -3, 1, -1 and 3 in the order above. It also leaves open how the random numbers are drawn;
    here each is the label of a random quadrant, so that a number does not reveal that it is
    wrong. The number of rows is open too.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of the random draws.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import quadrants
    >>> table = quadrants(random_state=0)
    >>> own = table.X[(table.X["sign_x"] == 1) & (table.X["sign_z"] == -1)]
    >>> own["z_pm"][:3].round(2).tolist(), table.y[own.index][:3].round(2).tolist()
    ([2.54, -0.84, 2.25], [2.54, -0.84, 2.25])
    """
    check_rows(n, least=1)
    rng = np.random.default_rng(random_state)
    signs = np.where(rng.uniform(-1.0, 1.0, (n, 2)) > 0, 1, -1)
    y = signs @ QUADRANT_MEAN + rng.standard_normal(n)
    columns: dict[str, np.ndarray] = {"sign_x": signs[:, 0], "sign_z": signs[:, 1]}
    for name, quadrant in QUADRANTS.items():
        random_signs = rng.choice([-1, 1], (n, 2))
        random_label = random_signs @ QUADRANT_MEAN + rng.standard_normal(n)
        columns[f"z_{name}"] = np.where((signs == quadrant).all(axis=1), y, random_label)
    note = "prices of the thesis: signs 1, values 10"
    return Table("quadrants", frame(columns), y, Prices(QUADRANT_PRICES), note=note)


def noisy_xor(n: int = 1000, random_state: int | None = None) -> Table:
    """Generate XOR in the plane, seen through ten projections: a higher price buys less noise.

    Xu 2014, section 2.2.4 and figure 2.7. Points are drawn uniformly from four regions of the
    plane; opposite regions share a class (1 and 2). Each feature is a random projection of the
    point plus Gaussian noise of variance 1 / price, with prices 1, 1, 1, 2, 5, 15, 25, 70, 100,
    1000. `split` has 64 % train (training and validation) and 36 % test rows: 640 and 360.

    The thesis leaves the regions and the projections open. Chosen here: squares of side 1 whose
    coordinates lie between 0.5 and 1.5 away from the axes, with equal numbers of points (up to
    one); unit directions at random angles, so that the price alone determines the noise. Then
    `f_1` to `f_6` and `f_8` (95 together) nearly separate the classes and all ten do, as in the
    thesis.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of points, projections and noise.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import noisy_xor
    >>> table = noisy_xor(random_state=0)
    >>> table
    Table(noisy_xor: 1000 rows, 10 features)
    >>> (table.split == "test").sum()
    np.int64(360)
    """
    check_rows(n, least=4)
    rng = np.random.default_rng(random_state)
    region = rng.permutation(np.arange(n) % 4)
    signs = np.array(list(QUADRANTS.values()))[region]
    points = signs * rng.uniform(*XOR_REGION, (n, 2))
    angle = rng.uniform(0.0, 2.0 * np.pi, len(XOR_PRICES))
    noise = rng.standard_normal((n, len(XOR_PRICES))) / np.sqrt(XOR_PRICES)
    features = points @ np.vstack([np.cos(angle), np.sin(angle)]) + noise
    names = [f"f_{i + 1}" for i in range(len(XOR_PRICES))]
    return Table(
        "noisy_xor",
        frame(dict(zip(names, features.T, strict=True))),
        np.where(signs.prod(axis=1) > 0, 1, 2),
        Prices(dict(zip(names, XOR_PRICES, strict=True))),
        split=np.where(np.arange(n) < round(XOR_TRAIN_SHARE * n), "train", "test"),
        note="prices of the thesis: the noise has variance 1 / price",
    )
