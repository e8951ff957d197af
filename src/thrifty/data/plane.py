"""Synthetic sets in the plane: two features, shapes one can draw.

The sets of the papers on adaptive approximation and on compressed kernel machines.
Where a paper leaves something open, the docstring says what was chosen.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thrifty.costs import Prices
from thrifty.data.making import at_least, counts, frame
from thrifty.data.table import Table
from thrifty.errors import DataError

__all__ = ["four_clusters", "ring", "synthetic_1"]

CENTERS = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (-1.0, -3.0)])
CLUSTER_CLASSES = np.array([0, 1, 0, 1])
CLUSTER_SPREAD = 0.01
RING_RADIUS = 3.0


def four_clusters(
    n: int = 70, random_state: int | None = None, *, shares: Sequence[float] = (4, 4, 3, 3)
) -> Table:
    """Four tight clusters, two of which one feature tells apart (Synthetic-2).

    Nan's thesis, appendix A.2.2 and figure 5.3: centers (1, 1), (-1, 1), (-1, -1) and (-1, -3),
    Gaussian noise of standard deviation 0.01, unit prices. Clusters 1 and 3 are class 0,
    clusters 2 and 4 class 1 (the classes are named in the paper version of that chapter).

    `feature_2` alone tells clusters 3 and 4 from each other and from the rest; clusters 1 and 2
    also need `feature_1`. So the cheapest predictor without error buys 2, 2, 1 and 1 features in
    the four clusters. One that starts with `feature_1` buys 1, 2, 2 and 2.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of the noise.
    shares : four numbers
        Relative sizes of the clusters. The default gives the thesis' 20, 20, 15 and 15 rows, for
        which the mean bills of the two predictors are 11/7 and 12/7. The figures 1.5 and 1.75 of
        the text weigh the clusters equally: ``shares=(1, 1, 1, 1)``.

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
        raise DataError(f"shares is {tuple(shares)!r}: give four positive numbers")
    rng = np.random.default_rng(random_state)
    cluster = rng.permutation(np.repeat(np.arange(4), counts(at_least(4, n), shares)))
    points = CENTERS[cluster] + CLUSTER_SPREAD * rng.standard_normal((n, 2))
    return _plane("four_clusters", points, CLUSTER_CLASSES[cluster], "thesis prices: one each")


def synthetic_1(n: int = 1000, random_state: int | None = 17) -> Table:
    """Two classes of two clusters each from ``make_classification`` (Synthetic-1).

    Nan's thesis, appendix A.2.1 and figure 5.2; the default seed is the thesis' own, so the
    default table is the thesis' table. The experiment there has feature costs turned off; the
    prices here are one each.

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
    return _plane("synthetic_1", points, y, "no prices in the thesis: one each")


def ring(n: int = 600, random_state: int | None = None) -> Table:
    """A Gaussian cloud inside a noisy circle: no line parts them.

    Xu's thesis, section 4.5 and figure 4.2: class 0 (blue) is a Gaussian around the origin with
    variance 1, class 1 (red) a noisy circle around it. The thesis leaves radius, noise and class
    sizes open. Chosen here: half the rows each, radius 3, Gaussian noise of variance 1 on the
    radius; an RBF machine with C = 1 and sigma = 1 then keeps about 240 support vectors of 600
    (the thesis has 248). Prices are one each; the method there pays for kernel evaluations.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int or None
        Seed of the draw.

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
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.repeat([0, 1], counts(at_least(2, n), (1, 1))))
    cloud = rng.standard_normal((n, 2))
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = RING_RADIUS + rng.standard_normal(n)
    circle = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.where(y[:, None] == 0, cloud, circle)
    return _plane("ring", points, y, "no prices in the thesis: one each")


def _plane(name: str, points: np.ndarray, y: np.ndarray, note: str) -> Table:
    columns = {"feature_1": points[:, 0], "feature_2": points[:, 1]}
    return Table(name, frame(columns), y, Prices(dict.fromkeys(columns, 1.0)), note=note)
