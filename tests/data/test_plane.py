"""Synthetic data sets with two features have the properties that the papers state."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from thrifty.data import Table, four_clusters, ring, synthetic_1
from thrifty.errors import DataError


def cells(table: Table) -> NDArray[np.int64]:
    """Coordinates as cluster centers: the noise is far smaller than the gaps."""
    return np.rint(table.X.to_numpy()).astype(np.int64)


def cheapest(X: NDArray[np.int64], y: NDArray[np.int64], first: Iterable[int] | None = None) -> int:
    """Fewest values bought in all by a tree that makes no error, over all trees (brute force)."""
    if len(set(y)) <= 1:
        return 0
    bills = []
    for feature in range(X.shape[1]) if first is None else first:
        values = set(X[:, feature])
        if first is None and len(values) == 1:
            continue
        parts = [X[:, feature] == value for value in values]
        bills.append(len(y) + sum(cheapest(X[part], y[part]) for part in parts))
    return min(bills)


def test_four_clusters_have_the_sizes_centers_and_noise_of_the_thesis() -> None:
    table = four_clusters(random_state=0)
    centers, sizes = np.unique(cells(table), axis=0, return_counts=True)
    assert dict(zip(map(tuple, centers.tolist()), sizes.tolist(), strict=True)) == {
        (1, 1): 20,
        (-1, 1): 20,
        (-1, -1): 15,
        (-1, -3): 15,
    }
    noise = table.X.to_numpy() - cells(table)
    assert 0.008 < noise.std() < 0.012


def test_four_clusters_neighbors_have_different_classes() -> None:
    table = four_clusters(random_state=0)
    labels = dict(zip(map(tuple, cells(table).tolist()), table.y.tolist(), strict=True))
    assert labels == {(1, 1): 0, (-1, 1): 1, (-1, -1): 0, (-1, -3): 1}


def test_four_equal_clusters_have_the_optimal_bill_of_one_and_a_half() -> None:
    table = four_clusters(n=60, random_state=1, shares=(1, 1, 1, 1))
    assert cheapest(cells(table), table.y) / 60 == 1.5
    assert cheapest(cells(table), table.y, first=[0]) / 60 == 1.75


def test_four_clusters_of_thesis_size_have_the_optimal_bill_of_eleven_sevenths() -> None:
    table = four_clusters(random_state=1)
    assert cheapest(cells(table), table.y) == 110
    assert cheapest(cells(table), table.y, first=[0]) == 120


def test_four_clusters_need_one_feature_below_zero_and_two_above() -> None:
    table = four_clusters(random_state=2)
    X, y = cells(table), table.y
    below = X[:, 1] < 0
    assert all(len(set(y[below & (X[:, 1] == value)])) == 1 for value in (-1, -3))
    assert set(y[~below]) == {0, 1}
    assert len(set(y[X[:, 0] == -1])) == 2


@pytest.mark.parametrize("shares", [(1, 1, 1), (1, 1, 1, 0), (1, 1, 1, -2)])
def test_shares_must_be_four_positive_numbers(shares: tuple[float, ...]) -> None:
    with pytest.raises(DataError, match="four positive numbers"):
        four_clusters(shares=shares)


def test_synthetic_1_is_the_table_of_the_thesis() -> None:
    X, y = make_classification(
        n_samples=1000,
        flip_y=0.01,
        n_features=2,
        n_redundant=0,
        n_informative=2,
        random_state=17,
        n_clusters_per_class=2,
    )
    table = synthetic_1()
    assert np.array_equal(table.X.to_numpy(), X)
    assert np.array_equal(table.y, y)


def test_the_ring_surrounds_a_standard_gaussian() -> None:
    table = ring(n=20_000, random_state=0)
    X = table.X.to_numpy()
    inside, outside = X[table.y == 0], X[table.y == 1]
    assert len(inside) == len(outside)
    assert np.allclose(inside.mean(axis=0), 0.0, atol=0.05)
    assert np.allclose(inside.var(axis=0), 1.0, atol=0.05)
    assert np.allclose(outside.mean(axis=0), 0.0, atol=0.1)
    assert np.linalg.norm(outside, axis=1).mean() == pytest.approx(3.0, abs=0.05)


def test_the_ring_keeps_about_as_many_support_vectors_as_the_thesis() -> None:
    table = ring(random_state=0)
    assert table.X.shape == (600, 2)
    svm = SVC(C=1.0, gamma=0.5).fit(table.X.to_numpy(), table.y)
    assert 220 <= len(svm.support_) <= 270
    assert SVC(kernel="linear").fit(table.X.to_numpy(), table.y).score(
        table.X.to_numpy(), table.y
    ) < svm.score(table.X.to_numpy(), table.y)
