"""Binned tables: edges from a seeded sample, and what each bin holds."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.kernels.binning import MISSING
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


# --- fewer bins --------------------------------------------------------------


@pytest.mark.parametrize("most", [2, 5, 16, 64])
def test_fewer_bins_keep_the_order_and_the_missing_values(most):
    X, _, categorical = draw()
    fine = Binned.of(X, categorical, np.random.RandomState(0))
    coarse = fine.coarsen(most)
    for j in np.flatnonzero(~categorical):
        missing = np.isnan(X[:, j])
        assert (coarse.bins[j, missing] == MISSING).all()
        order = np.argsort(X[~missing, j], kind="stable")
        bins = coarse.bins[j, ~missing][order].astype(int)
        assert np.all(np.diff(bins) >= 0)
        # About as many bins as asked for, and no number is left out.
        assert np.unique(bins).tolist() == list(range(bins.max() + 1))
        assert bins.max() + 1 == coarse.width[j] <= most + 1
        # Each of them is made of whole bins.
        pairs = {*zip(fine.bins[j].tolist(), coarse.bins[j].tolist(), strict=True)}
        assert len(pairs) == len(np.unique(fine.bins[j]))
        assert set(coarse.edges[j]) <= set(fine.edges[j])


@pytest.mark.parametrize("most", [2, 16, 300])
def test_other_rows_fall_into_the_same_coarse_bins(most):
    X, _, categorical = draw()
    coarse = Binned.of(X, categorical, np.random.RandomState(0)).coarsen(most)
    np.testing.assert_array_equal(coarse.bins_of(X), coarse.bins)


def test_coarse_bins_hold_about_as_many_rows_and_a_full_one_stays_alone():
    X = np.append(np.linspace(1.0, 2.0, 300), np.zeros(300))[:, np.newaxis]
    binned = Binned.of(X, np.array([False]), np.random.RandomState(0)).coarsen(10)
    counts = np.bincount(binned.bins[0])
    assert counts[0] == 300  # the zeros
    assert counts[1:].min() > 0.5 * 60 and counts[1:].max() < 2 * 60


def test_categories_and_columns_with_few_bins_stay_as_they_are():
    X, _, categorical = draw()
    fine = Binned.of(X, categorical, np.random.RandomState(0))
    coarse = fine.coarsen(16)
    assert categorical.tolist() == coarse.categorical.tolist()
    np.testing.assert_array_equal(coarse.bins[1], fine.bins[1])
    same = fine.coarsen(300)
    np.testing.assert_array_equal(same.bins, fine.bins)
    assert all(np.array_equal(a, b) for a, b in zip(same.edges, fine.edges, strict=True))
