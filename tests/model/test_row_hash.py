"""Hashes of rows depend on values and seed alone, and look random."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from thrifty.model.row_hash import hash_rows, splitmix64, uniform_hash


def test_splitmix64_gives_the_published_stream():
    # The first outputs of the generator of Steele, Lea and Flood from seed 0; each state is the
    # one before plus the increment.
    states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert splitmix64(states).tolist() == expected


def test_a_hash_has_64_bits_for_each_row_and_is_the_seed_without_columns():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    hashes = hash_rows(X, 5)
    assert hashes.dtype == np.uint64 and len(np.unique(hashes)) == 1000
    bits = np.unpackbits(hashes.view(np.uint8)).reshape(1000, 64)
    assert (abs(bits.mean(axis=0) - 0.5) < 0.08).all()
    assert hash_rows(X[:2, :0], 5).tolist() == [5, 5]


def test_a_hash_depends_on_the_order_of_values_but_not_of_rows():
    X = np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_array_equal(hash_rows(X[::-1], 1), hash_rows(X, 1)[::-1])
    assert not np.any(hash_rows(X[:, ::-1], 1) == hash_rows(X, 1))


def test_uniform_hashes_are_evenly_distributed():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    counts, _ = np.histogram(uniform_hash(X, 3), bins=10, range=(0.0, 1.0))
    assert counts.sum() == 20_000 and (abs(counts - 2000) < 200).all()


def test_hashes_of_neighboring_seeds_and_columns_are_independent():
    X = np.random.default_rng(0).integers(0, 50, size=(20_000, 2)).astype(float)
    X = np.unique(X, axis=0)
    one, other, turned = uniform_hash(X, 0), uniform_hash(X, 1), uniform_hash(X[:, ::-1], 0)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.05
    off = X[:, 0] != X[:, 1]
    assert abs(np.corrcoef(one[off], turned[off])[0, 1]) < 0.05
    assert len(np.unique(one)) == len(X)


def test_equal_values_have_equal_hashes():
    nan = np.array([0xFFF8000000000001], dtype=np.uint64).view(np.float64)[0]
    X = np.array([[0.0, np.nan], [-0.0, nan]])
    hashes = uniform_hash(X, 3)
    assert hashes[0] == hashes[1]
    narrow = np.array([[0.1, 7.0]], dtype=np.float32)
    assert uniform_hash(narrow, 3)[0] == uniform_hash(narrow.astype(np.float64), 3)[0]


def hash_of(row, seed):
    """Hash one row with Python integers, step by step."""

    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    state = (seed + 0x9E3779B97F4A7C15) % 2**64
    for value in row:
        state = mix(state) ^ int.from_bytes(struct.pack("<d", value), "little")
    return (mix(mix(state)) >> 11) / 2**53


@pytest.mark.parametrize("seed", [0, 42, 2**63 - 1])
def test_hashes_are_those_of_the_plain_computation(seed):
    rows = [[1.5, -2.0], [math.nan, 0.0], [1e300, 0.1]]
    assert uniform_hash(np.array(rows), seed).tolist() == [hash_of(row, seed) for row in rows]


def test_hashes_do_not_change_from_release_to_release():
    assert uniform_hash(np.array([[1.5, -2.0]]), 42).tolist() == [0.04610860233365588]
