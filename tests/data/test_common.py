"""Row counts, DataFrames and optional packages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.data.common import apportion, check_rows, frame, require
from thrifty.errors import DataError


@given(
    n=st.integers(0, 10_000),
    shares=st.lists(st.floats(0.01, 100.0), min_size=1, max_size=8),
)
def test_all_rows_are_apportioned_within_one_row_of_the_exact_share(
    n: int, shares: list[float]
) -> None:
    sizes = apportion(n, shares)
    exact = n * np.array(shares) / sum(shares)
    assert sizes.sum() == n
    assert (np.abs(sizes - exact) < 1 + 1e-6).all()


def test_frame_keeps_names_and_order() -> None:
    table = frame({"b": np.array([1.0]), "a": np.array([2.0])})
    assert list(table.columns) == ["b", "a"]


def test_a_missing_package_is_reported_with_the_extra_that_installs_it() -> None:
    with pytest.raises(DataError, match=r"thrifty\[parquet\]") as caught:
        require("json", "no_such_package_at_all")
    assert "no_such_package_at_all" in str(caught.value)


def test_too_few_rows_are_refused() -> None:
    check_rows(4, least=4)
    with pytest.raises(DataError, match=r"n is 3.*at least 4"):
        check_rows(3, least=4)
