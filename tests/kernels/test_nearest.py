"""The K-th least distance is that of a sorted copy; `test_neighbors` tests the whole search."""

from __future__ import annotations

import numpy as np
import pytest
from uncompiled import agree

from thrifty.kernels.nearest import kth_least


def draw(n):
    return np.random.default_rng(0).integers(0, 9, n).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 1000])
def test_the_kth_value_is_that_of_a_sorted_copy(n):
    values = draw(n)
    for rank in range(n):
        assert kth_least(values.copy(), rank) == np.sort(values)[rank]


def test_the_kth_value_is_the_same_compiled_and_uncompiled():
    def run(module):
        found = []
        for rank in range(30):
            values = draw(30)
            found.append((module.kth_least(values, rank), values))
        return found

    agree("nearest", run)
