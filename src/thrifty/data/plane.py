"""Synthetic data sets with two features, so that they can be plotted.

They come from the papers on adaptive approximation (Nan 2018) and on compressed support vector
machines (Xu 2014). Where a paper leaves something open, the docstring says what was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.costs import Prices
from thrifty.data.common import apportion, check_rows, frame
from thrifty.data.table import Table
from thrifty.errors import DataError

__all__ = ["four_clusters", "ring", "synthetic_1"]

CLUSTER_CENTERS = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (-1.0, -3.0)])
CLUSTER_CLASSES = np.array([0, 1, 0, 1])
CLUSTER_SPREAD = 0.01
RING_RADIUS = 3.0


def four_clusters(
    n: int = 70, random_state: int | None = None, *, shares: Sequence[float] = (4, 4, 3, 3)
) -> Table:
    """Generate four tight clusters, two of which one feature separates (Synthetic-2).

    Nan 2018, appendix A.2.2 and figure 5.3: centers (1, 1), (-1, 1), (-1, -1) and (-1, -3),
    Gaussian noise of standard deviation 0.01, unit prices. Clusters 1 and 3 are class 0,
    clusters 2 and 4 class 1 (the classes are stated in Nan and Saligrama 2017).

    `feature_2` alone separates clusters 3 and 4 from each other and from the rest; clusters 1
    and 2 also need `feature_1`. So the cheapest predictor without error buys 2, 2, 1 and 1
    features in the four clusters. One that starts with `feature_1` buys 1, 2, 2 and 2.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of the noise.
    shares : four numbers
        Relative sizes of the clusters. The default gives the 20, 20, 15 and 15 rows of the
        thesis, for which the mean bills of the two predictors are 11/7 and 12/7. The figures 1.5
        and 1.75 in its text weigh the clusters equally: ``shares=(1, 1, 1, 1)``.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import four_clusters
    >>> table = four_clusters(random_state=0)
    >>> table
    Table(four_clusters: 70 rows, 2 features)
    >>> (table.X["feature_2"] > 0).sum()
    np.int64(40)
    """
    if len(shares) != 4 or min(shares) <= 0:
        raise DataError(f"shares is {tuple(shares)!r}; pass four positive numbers")
    check_rows(n, least=4)
    rng = np.random.default_rng(random_state)
    cluster = rng.permutation(np.repeat(np.arange(4), apportion(n, shares)))
    points = CLUSTER_CENTERS[cluster] + CLUSTER_SPREAD * rng.standard_normal((n, 2))
    return _table("four_clusters", points, CLUSTER_CLASSES[cluster], "prices of the thesis: 1 each")


def synthetic_1(n: int = 1000, random_state: int | None = 17) -> Table:
    """Generate two classes of two clusters each with ``make_classification`` (Synthetic-1).

    Nan 2018, appendix A.2.1 and figure 5.2; the default seed is the one of the thesis, so the
    default table is its table. The experiment there ignores feature costs; here all prices are 1.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of scikit-learn's generator.

    Returns
    -------
    Table

    Examples
    --------
    >>> from thrifty.data import synthetic_1
    >>> synthetic_1()
    Table(synthetic_1: 1000 rows, 2 features)
    """
    from sklearn.datasets import make_classification

    points, y = make_classification(
        n_samples=n,
        flip_y=0.01,
        n_features=2,
        n_redundant=0,
        n_informative=2,
        random_state=random_state,
        n_clusters_per_class=2,
    )
    return _table("synthetic_1", points, y, "no prices in the thesis: 1 each")


def ring(n: int = 600, random_state: int | None = None) -> Table:
    """Generate a Gaussian cloud inside a noisy circle: no line separates the classes.

    Xu 2014, section 4.5 and figure 4.2: class 0 (blue) is a Gaussian around the origin with
    variance 1, class 1 (red) a noisy circle around it. The thesis leaves radius, noise and class
    sizes open. Chosen here: half of the rows each, radius 3, Gaussian noise of variance 1 on the
    radius; an RBF SVM with C = 1 and sigma = 1 then keeps about 240 support vectors of 600 (248
    in the thesis). All prices are 1; the method there pays for kernel evaluations.

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
    >>> from thrifty.data import ring
    >>> table = ring(random_state=0)
    >>> table.y.sum()
    np.int64(300)
    """
    check_rows(n, least=2)
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.repeat([0, 1], apportion(n, (1, 1))))
    cloud = rng.standard_normal((n, 2))
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = RING_RADIUS + rng.standard_normal(n)
    circle = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.where(y[:, None] == 0, cloud, circle)
    return _table("ring", points, y, "no prices in the thesis: 1 each")


def _table(name: str, points: np.ndarray, y: np.ndarray, note: str) -> Table:
    columns = {"feature_1": points[:, 0], "feature_2": points[:, 1]}
    return Table(name, frame(columns), y, Prices(dict.fromkeys(columns, 1.0)), note=note)
