"""Fixed-point sums lose nothing, or next to nothing, and add up in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from uncompiled import agree

from thrifty.kernels.fixed_point import SUM_BITS, WIDE_BITS, quantize
from thrifty.kernels.growth import Blocks
from thrifty.kernels.histogram import (
    add_partial,
    add_rows,
    add_values,
    clear,
    node_sums,
    subtract,
)
from thrifty.kernels.splits import COUNT_BITS, unpack


def unpacked(quanta):
    """Target and weight of each row in quanta."""
    if len(quanta) == 2:
        return quanta[0], quanta[1]
    return quanta[0] >> COUNT_BITS, quanta[0] & ((1 << COUNT_BITS) - 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_no_sum_of_rows_leaves_its_bits(weighted, sign):
    # Just below a power of two, where the scale is tightest, and many rows that round away from 0.
    n = 100_000
    target = sign * np.full(n, np.nextafter(2.0, 0.0) / n)
    quanta, units = quantize(target, np.ones(n) if weighted else None)
    exact = sum(unpacked(quanta)[0].tolist())
    hist, rows = np.zeros((1, len(quanta), 1, 256), dtype=np.int64), np.arange(n, dtype=np.uint32)
    bins, one = np.zeros((1, n), dtype=np.uint8), np.arange(1)
    add_rows(bins, rows, quanta, 0, n, one, 0, 1, hist, 0)
    sums = exact, sum(unpacked(quanta)[1].tolist())
    assert tuple(unpack(hist, 0, 0, 0).values()) == sums
    assert abs(exact) < 2 ** (WIDE_BITS + 1 if weighted else SUM_BITS + 1)
    assert exact * units[0] == pytest.approx(sign * 2.0, rel=1e-6)


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(0, 4)), min_size=1, max_size=80))
def test_histograms_add_up_exactly_in_any_order(rows):
    target = np.array([t for t, _ in rows])
    bins = np.array([[b for _, b in rows]], dtype=np.uint8)
    for weight in (None, np.linspace(0.5, 3.0, len(rows))):
        quanta, _ = quantize(target, weight)
        order = np.random.default_rng(0).permutation(len(rows)).astype(np.uint32)
        hist = np.full((1, len(quanta), 1, 256), 7, dtype=np.int64)
        ordered = np.ascontiguousarray(quanta[:, order])
        clear(hist, 0, np.arange(1), 0, 1, np.array([255]))
        add_rows(bins, order, ordered, 0, len(order), np.arange(1), 0, 1, hist, 0)
        here, heft = unpacked(quanta)
        for b in range(5):
            inside = bins[0] == b
            sums = sum(here[inside].tolist()), sum(heft[inside].tolist())
            assert tuple(unpack(hist, 0, 0, b).values()) == sums


def test_histograms_of_blocks_add_up_to_that_of_all_rows():
    rng = np.random.default_rng(1)
    bins = rng.integers(0, 5, size=(3, 40)).astype(np.uint8)
    bins[:, ::6] = 255
    quanta, _ = quantize(rng.normal(size=40))
    rows, features, width = np.arange(40, dtype=np.uint32), np.arange(3), np.full(3, 5)
    whole, partial = np.zeros((2, 1, 1, 3, 256), dtype=np.int64)
    total = np.zeros((2, 2, 3, 256), dtype=np.int64)
    add_rows(bins, rows, quanta, 0, 40, features, 0, 3, whole, 0)
    for first, last in ((0, 13), (13, 14), (14, 40)):
        clear(partial, 0, features, 0, 3, width)
        add_rows(bins, rows, quanta, first, last, features, 0, 3, partial, 0)
        add_partial(partial, total, 1, features, 0, 3, width)
    for feature in range(3):
        for b in (0, 1, 2, 3, 4, 255):
            assert unpack(total, 1, feature, b) == unpack(whole, 0, feature, b)
    assert not total[0].any()


def grown_tree(kernels=Blocks, cut=5):
    """A root with leaf 1 (rows 0, 4) and split 2, whose leaves 3 and 4 have rows 2 and 1, 3.

    The rows are in blocks, and in parts of the table, up to row `cut` and from there on.
    """
    nodes = [[0, 1, 2, 3, 4], [0, 4], [1, 2, 3], [2], [1, 3]]
    left = np.array([1, -1, 3, -1, -1], dtype=np.int32)
    count = np.array([len(rows) for rows in nodes])
    begin, base = (np.array([0, 5]), np.zeros(1, np.int64))
    if cut < 5:
        begin, base = np.array([0, cut, 5]), np.array([0, cut])
    order = [i for b in range(len(base)) for node in (1, 3, 4) for i in nodes[node]
             if begin[b] <= i < begin[b + 1]]  # fmt: skip
    bounds = np.zeros((2, len(base), 5), np.int64)
    for b in range(len(base)):
        for node, rows in enumerate(nodes):
            places = [k for k, i in enumerate(order) if i in rows and begin[b] <= i < begin[b + 1]]
            bounds[:, b, node] = (places[0], places[-1] + 1) if places else (0, 0)
    rows = np.array([i - base[np.searchsorted(begin, i, "right") - 1] for i in order], np.uint32)
    blocks = kernels(begin, np.arange(len(base)), base, *bounds, rows, np.empty(6, np.uint32),
                     np.empty((0, 1, 1, 256), np.int64))  # fmt: skip
    return blocks, left, count


def test_a_sibling_is_the_parent_minus_the_child():
    rng = np.random.default_rng(0)
    bins = rng.integers(0, 5, size=(6, 30)).astype(np.uint8)
    bins[:, ::7] = 255
    features, width = np.arange(6), np.full(6, 5)
    for weight in (None, rng.uniform(0.5, 2.0, 30)):
        quanta, _ = quantize(rng.normal(size=30), weight)
        hist = np.zeros((3, len(quanta), 6, 256), dtype=np.int64)
        for slot, part in enumerate([range(10), range(30), range(10, 30)]):
            rows = np.array(part, dtype=np.uint32)
            ordered = np.ascontiguousarray(quanta[:, rows])
            add_rows(bins, rows, ordered, 0, len(rows), features, 0, 6, hist, slot)
        subtract(hist, 0, 1, features, 0, 6, width)
        np.testing.assert_array_equal(hist[1], hist[2])


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_node_sums_add_up_from_the_rows_of_the_leaves(cut):
    gradient, hessian = np.arange(5.0), np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    units = np.array([0.25, 1.0])
    sums = node_sums(*grown_tree(cut=cut), gradient, hessian, units)
    assert sums.tolist() == [[40, 31], [16, 17], [24, 14], [8, 4], [16, 10]]
    counted = node_sums(*grown_tree(cut=cut), gradient, np.empty(0), units)
    assert counted[:, 1].tolist() == [5, 2, 3, 1, 2]


@pytest.mark.parametrize("cut", [1, 3, 5])
def test_values_of_leaves_are_added_to_their_rows(cut):
    out = np.full(5, 100.0)
    blocks, left, _ = grown_tree(cut=cut)
    add_values(blocks, left, np.array([9.0, 1.0, 9.0, 2.0, 3.0]), out)
    assert out.tolist() == [101, 103, 102, 103, 101]


@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_and_uncompiled_histograms_agree(weighted):
    def run(kernels):
        rng = np.random.default_rng(3)
        bins = rng.integers(0, 9, size=(6, 40)).astype(np.uint8)
        bins[:, ::5] = 255
        weight = rng.uniform(0.5, 2.0, 40) if weighted else None
        quanta, units = quantize(rng.normal(size=40), weight)
        hist = np.zeros((2, len(quanta), 6, 256), dtype=np.int64)
        features, width = np.array([5, 0, 1, 2, 4]), np.full(6, 9)
        rows = rng.permutation(40).astype(np.uint32)
        ordered = np.ascontiguousarray(quanta[:, rows])
        hist[1] = 5
        kernels.clear(hist, 1, features, 0, 5, width)
        kernels.add_rows(bins, rows, ordered, 0, 40, features, 0, 5, hist, 0)
        kernels.add_rows(bins, rows, ordered, 3, 17, features, 0, 5, hist, 1)
        kernels.subtract(hist, 1, 0, features, 0, 5, width)
        total = np.zeros((1, 2, 6, 256), dtype=np.int64)
        if not weighted:
            kernels.add_partial(hist, total, 0, features, 0, 5, width)
        return quanta, units, hist, total

    agree("histogram", run)


def test_compiled_and_uncompiled_sums_of_nodes_agree():
    def run(kernels):
        rng = np.random.default_rng(4)
        tree = grown_tree(getattr(kernels, "Blocks", Blocks), cut=2)
        gradient, hessian, out = rng.normal(size=5), rng.random(5), rng.normal(size=5)
        kernels.add_values(*tree[:2], gradient, out)
        units = np.array([2.0**-50, 2.0**-45])
        counted = kernels.node_sums(*tree, gradient, np.empty(0), units)
        return kernels.node_sums(*tree, gradient, hessian, units), counted, out

    agree("histogram", run)
