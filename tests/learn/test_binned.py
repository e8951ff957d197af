"""Binned tables: edges from a seeded sample, and what each bin holds."""

from __future__ import annotations

import numpy as np

from thrifty.costs import Prices
from thrifty.learn import binned as binned_module
from thrifty.learn.binned import Binned


def draw(seed=0, n=400, d=8, missing=0.1, dtype=np.float64):
    """A table of long, short, categorical and gappy columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = rng.integers(0, 6, size=n)
    X[:, 2] = np.round(X[:, 2], 1)
    X[:, 3] = rng.standard_cauchy(n)
    signal = np.where(X[:, 1] % 2, X[:, 0], X[:, 4]) + 0.5 * np.sign(X[:, 3]) * X[:, 5]
    X[rng.random((n, d)) < missing] = np.nan
    return X.astype(dtype), signal + rng.normal(scale=0.1, size=n), np.arange(d) == 1


PRICES = Prices([1, 2, 1, 0, 3, 1, 1, 1], groups={"lab": [4, 5, 6]}, shared={"lab": 2.0})


def test_the_edges_of_a_long_table_come_from_a_seeded_sample(monkeypatch):
    X, _, categorical = draw(n=3000, missing=0.0)

    def edges(seed):
        binned = Binned.of(X, categorical, np.random.RandomState(seed))
        return np.concatenate(binned.edges)

    whole = edges(0)
    np.testing.assert_array_equal(whole, edges(1))
    monkeypatch.setattr(binned_module, "SAMPLE", 300)
    np.testing.assert_array_equal(edges(0), edges(0))
    assert not np.array_equal(edges(0), edges(1))
    assert not np.array_equal(edges(0), whole)


def test_bins_tell_the_largest_value_they_hold():
    X, _, categorical = draw()
    binned = Binned.of(X, categorical, np.random.RandomState(0))
    for j in np.flatnonzero(~categorical):
        known = ~np.isnan(X[:, j])
        assert binned.width[j] == len(binned.edges[j]) + 1
        bins = binned.bins[j, known]
        upper = binned.uppers[j]
        assert np.all(X[known, j] <= upper[bins])
        assert np.all(X[known, j] > np.where(bins > 0, upper[bins - 1], -np.inf))
