"""Bins are what a search in the edges gives, and edges divide the values fairly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from uncompiled import agree

from thrifty.kernels.binning import (
    FEW_BINS,
    FEW_ROWS,
    MANY_COLUMNS,
    MAX_BINS,
    MISSING,
    bin_table,
    fill_bins,
    find_edges,
    most_bins,
)
from thrifty.kernels.threads import threads

ANY = st.floats(allow_nan=False, allow_infinity=False)
# Numbers that lie close together, far apart, or hardly above zero.
DENORMAL = st.integers(-40, 40).map(lambda k: k * 5e-324)
HUGE = st.sampled_from([-1.7e308, -1e300, -1.0, 0.0, 1e-300, 1.0, 1e300, 1.7e308])
WHOLE = st.integers(-5, 5).map(float)


@st.composite
def neighbours(draw):
    """A float and some of the next ones."""
    x = draw(st.sampled_from([-1e300, -1.0, 0.0, 1.0, 3.7, 1e300]))
    for _ in range(draw(st.integers(0, 4))):
        x = np.nextafter(x, np.inf)
    return float(x)


NUMBERS = st.one_of(ANY, DENORMAL, HUGE, WHOLE, neighbours())
ONE_KIND = st.sampled_from([ANY, DENORMAL, HUGE, WHOLE, neighbours(), NUMBERS])
COLUMNS = ONE_KIND.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=60)).map(np.array)


def bins_of(column, edges):
    out = np.empty(len(column), dtype=np.uint8)
    fill_bins(np.asarray(column, dtype=np.float64), np.asarray(edges, dtype=np.float64), out)
    return out


def assert_searched(column, edges):
    missing = np.isnan(column)
    expected = np.where(missing, MISSING, np.searchsorted(edges, column, side="left"))
    np.testing.assert_array_equal(bins_of(column, edges), expected)


def quietly_find_edges(column):
    # The difference of two numbers may be too large for a float; the edges do not suffer from it.
    with np.errstate(over="ignore"):
        return find_edges(column)


@given(COLUMNS, COLUMNS)
def test_bins_equal_a_search_in_any_edges(edges, column):
    edges = np.unique(edges)
    assert_searched(np.concatenate([column, edges, [np.nan]]), edges)


@given(COLUMNS)
def test_bins_equal_a_search_in_the_edges_found(column):
    edges = quietly_find_edges(column)
    assert_searched(column, edges)


@pytest.mark.parametrize("seed", range(20))
def test_bins_equal_a_search_on_long_heavy_tailed_columns(seed):
    rng = np.random.default_rng(seed)
    column = [
        lambda: rng.normal(size=3000),
        lambda: rng.standard_cauchy(3000) * 10.0 ** rng.uniform(-300, 290),
        lambda: np.exp(rng.normal(scale=200, size=3000).clip(-700, 700)),
        lambda: rng.pareto(0.2, size=3000).clip(max=1e300),
        lambda: np.round(rng.normal(size=3000), 2),
    ][seed % 5]()
    column[rng.random(3000) < 0.05] = np.nan
    edges = find_edges(column)
    assert_searched(column, edges)
    assert_searched(np.concatenate([edges, np.nextafter(edges, np.inf), -edges]), edges)


@given(COLUMNS)
def test_a_few_distinct_values_get_a_bin_each(column):
    edges = quietly_find_edges(column)
    distinct, number = np.unique(column, return_inverse=True)
    np.testing.assert_array_equal(bins_of(column, edges), number)
    assert len(edges) == len(distinct) - 1
    assert np.all(np.isfinite(edges))


@pytest.mark.parametrize("count", [254, MAX_BINS])
def test_as_many_values_as_bins_still_get_a_bin_each(count):
    column = np.random.default_rng(0).permutation(np.repeat(np.arange(count) ** 2.0, 3))
    bins, edges = bin_table(column[:, np.newaxis], [False])
    assert len(edges[0]) == count - 1
    np.testing.assert_array_equal(bins[0], np.sqrt(column))
    assert bins.max() < MISSING


def test_more_values_than_bins_share_them_evenly():
    column = np.random.default_rng(0).standard_cauchy(10_000)
    bins, edges = bin_table(column[:, np.newaxis], [False])
    counts = np.bincount(bins[0], minlength=MAX_BINS)
    assert len(edges[0]) == MAX_BINS - 1
    assert len(counts) == MAX_BINS
    assert counts.min() >= 10_000 // MAX_BINS - 1
    assert counts.max() <= 10_000 // MAX_BINS + 2


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [
        (400, 5000, FEW_BINS),
        (FEW_ROWS, 5000, MAX_BINS),
        (400, MANY_COLUMNS, MAX_BINS),
    ],
)
def test_many_columns_of_few_rows_have_fewer_bins(n, d, expected):
    assert most_bins(n, d) == expected
    bins = np.unique(bins_of(np.arange(1000.0), find_edges(np.arange(1000.0), expected)))
    assert len(bins) == expected


def test_a_frequent_value_does_not_use_up_the_bins_of_the_others():
    rare = np.random.default_rng(0).normal(size=5_000)
    edges = find_edges(np.concatenate([np.zeros(5_000), rare]))
    counts = np.bincount(bins_of(rare, edges))
    assert len(counts) > 250
    assert counts.max() < 5_000 / 240


def test_many_frequent_values_leave_the_rare_ones_as_many_bins_as_there_are():
    rng = np.random.default_rng(0)
    frequent, rare = np.repeat(np.arange(80.0), 40), 100 + rng.permutation(600) / 600
    edges = find_edges(rng.permutation(np.concatenate([frequent, rare])))
    assert len(edges) == MAX_BINS - 1
    np.testing.assert_array_equal(bins_of(np.arange(80.0), edges), np.arange(80))
    assert np.bincount(bins_of(rare, edges))[80:].max() <= 4


@given(st.integers(256, 600), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_edges_increase_and_fit_into_a_byte(n, seed, repeated):
    rng = np.random.default_rng(seed)
    column = np.concatenate([rng.normal(size=n), rng.choice(rng.normal(size=5), 40 * repeated)])
    edges = find_edges(column)
    assert np.all(np.diff(edges) > 0)
    assert 0 < len(edges) < MAX_BINS
    # No edge coincides with a value's upper neighbour: a bin ends between two values.
    assert len(np.unique(bins_of(column, edges))) == len(edges) + 1


def test_the_widest_possible_column_is_binned_without_a_warning():
    assert find_edges(np.array([-1.7e308, 1.7e308])).tolist() == [0.0]


def test_a_constant_column_has_no_edge():
    bins, edges = bin_table(np.full((4, 1), 3.5), [False])
    assert len(edges[0]) == 0
    assert bins.tolist() == [[0, 0, 0, 0]]


def test_an_empty_column_has_no_edge_and_only_missing_values():
    bins, edges = bin_table(np.full((3, 1), np.nan), [False])
    assert len(edges[0]) == 0
    assert bins.tolist() == [[MISSING] * 3]


def test_missing_values_get_a_bin_of_their_own():
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    bins, _ = bin_table(X, [False, False])
    assert bins.tolist() == [[0, MISSING, 1], [MISSING, 0, 1]]


def test_codes_of_categories_are_their_own_bins():
    X = np.array([[0.0], [254.0], [np.nan], [7.0]])
    bins, edges = bin_table(X, [True])
    assert bins.tolist() == [[0, 254, MISSING, 7]]
    assert len(edges[0]) == 0


def test_given_edges_are_kept():
    X = np.array([[0.0, 9.0], [1.5, 2.0], [1.5000001, np.nan]])
    edges = [np.array([0.5, 1.5]), np.array([5.0])]
    bins, kept = bin_table(X, [False, False], edges=edges)
    assert bins.tolist() == [[0, 1, 2], [1, 0, MISSING]]
    assert kept is edges


def test_edges_come_from_the_sampled_rows_only():
    X = np.array([[0.0], [1.0], [2.0], [100.0]])
    bins, edges = bin_table(X, [False], sample=np.array([0, 2]))
    assert edges[0].tolist() == [1.0]
    assert bins.tolist() == [[0, 0, 1, 1]]


@given(arrays(np.float32, st.tuples(st.integers(1, 30), st.integers(1, 12)),
              elements=st.floats(-1e6, 1e6, width=32)))  # fmt: skip
def test_single_precision_gives_the_bins_of_the_same_numbers_in_double(X):
    flags = [False] * X.shape[1]
    single, edges = bin_table(X, flags)
    double, same = bin_table(X.astype(np.float64), flags)
    np.testing.assert_array_equal(single, double)
    for a, b in zip(edges, same, strict=True):
        assert a.dtype == np.float64
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("order", ["C", "F"])
def test_bins_do_not_depend_on_threads_or_memory_order(order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=(500, 37)), order=order)
    flags = np.arange(37) % 5 == 0
    X[:, flags] = rng.integers(0, 200, size=(500, flags.sum()))
    one, edges = bin_table(X, flags)
    with threads(3):
        three, same = bin_table(X, flags)
    np.testing.assert_array_equal(one, three)
    for a, b in zip(edges, same, strict=True):
        np.testing.assert_array_equal(a, b)


def test_bins_are_stored_feature_by_feature():
    bins, _ = bin_table(np.zeros((5, 2)), [False, False])
    assert bins.shape == (2, 5)
    assert bins.dtype == np.uint8
    assert bins.flags.c_contiguous


# Columns and edges with no edge, one, several to a cell, none to most cells, and an infinite span.
COLUMN = np.array([-9.0, 0.0, 0.5, 1.0, 1.5, 2.0, np.nan, 1e9, -1.7e308, 1.7e308])
EDGES = [[], [1.0], [0.0, 1.0], [0.0, 0.5, 1.0, 1e9], np.arange(254.0), [-1.7e308, 0.0, 1.7e308]]


@pytest.mark.parametrize("edges", EDGES)
def test_bins_are_the_same_compiled_and_uncompiled(edges):
    def run(module):
        out = np.full(len(COLUMN), 77, dtype=np.uint8)
        module.fill_bins(COLUMN, np.array(edges), out)
        return out

    with np.errstate(over="ignore", invalid="ignore"):
        agree("binning", run)


def test_codes_are_the_same_compiled_and_uncompiled():
    def run(module):
        out = np.full(40, 77, dtype=np.uint8)
        module.fill_codes(np.append(np.arange(39.0) * 6, np.nan), out)
        return out

    agree("binning", run)


def test_tables_are_binned_the_same_compiled_and_uncompiled():
    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:, 0] = np.arange(300) % 250
    X[:, 2] = np.nan
    agree("binning", lambda module: module.bin_table(X, [True, False, False]))
    agree("binning", lambda module: module.bin_table(X, [True, False, False], sample=[1, 2, 3]))
    edges = [np.empty(0), np.array([0.0, 1.0]), np.empty(0)]
    agree("binning", lambda module: module.bin_table(X, [True, False, False], edges=edges)[0])
