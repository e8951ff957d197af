"""The package of data sets: light to import, reproducible generators."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thrifty.data
from thrifty.data import Table, four_clusters, noisy_xor, quadrants, ring, synthetic_1

GENERATORS = [four_clusters, noisy_xor, quadrants, ring, synthetic_1]


def test_importing_the_package_loads_no_heavy_library() -> None:
    heavy = {"pandas", "pyarrow", "sklearn"}
    code = f"import sys, thrifty.data; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_all_public_names_are_sorted_and_exist() -> None:
    assert thrifty.data.__all__ == sorted(thrifty.data.__all__)
    for name in thrifty.data.__all__:
        assert callable(getattr(thrifty.data, name))


@pytest.mark.parametrize("make", GENERATORS)
@settings(max_examples=15, deadline=None)
@given(n=st.integers(8, 200), seed=st.integers(0, 2**31))
def test_a_generator_returns_n_rows_and_the_same_ones_for_the_same_seed(
    make: Callable[..., Table], n: int, seed: int
) -> None:
    table, again = make(n=n, random_state=seed), make(n=n, random_state=seed)
    assert len(table.X) == len(table.y) == n
    assert table.name == make.__name__
    assert np.array_equal(table.X, again.X)
    assert np.array_equal(table.y, again.y)
    table.prices.bind(list(table.X.columns))


@pytest.mark.parametrize("make", [four_clusters, noisy_xor, ring, synthetic_1])
def test_rows_are_not_sorted_by_class(make: Callable[..., Table]) -> None:
    assert np.sum(np.diff(make(random_state=0).y) != 0) > 10


@pytest.mark.parametrize("make", GENERATORS)
def test_another_seed_gives_other_rows(make: Callable[..., Table]) -> None:
    assert not np.array_equal(make(random_state=0).X, make(random_state=1).X)
