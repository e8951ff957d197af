from __future__ import annotations

import math

import numpy as np
import pytest

from thrifty.checks.tables import UNSEEN, Column, available, build, fillers, render

COLUMNS = [
    Column("a"),
    Column("b", "int"),
    Column("c", "bool"),
    Column("d", "category", ("u", "v", "w")),
    Column("e", "text", ("u", "v", "w")),
]


@pytest.mark.parametrize("form", ["pandas", "polars"])
def test_every_filler_fits_its_column(form) -> None:
    rows = np.array([fillers(column) for column in COLUMNS], dtype=object).T
    table = build(form, COLUMNS, rows)
    assert table.shape == (4, 5)
    assert available(form) and available("float64")
    assert math.isnan(rows[0, 0])


def test_numbers_become_values_of_the_kind_of_the_column() -> None:
    z = np.array([-2.0, 0.1, 2.0])
    values = [render(column, z) for column in COLUMNS]
    assert values[0] == [-2.0, float(np.float32(0.1)), 2.0]
    assert values[1:3] == [[-6, 0, 6], [False, True, True]]
    assert values[3] == values[4] == ["u", "v", "v"]  # the last level is never drawn


@pytest.mark.parametrize("form", ["float64", "float32"])
def test_an_array_has_the_type_that_was_asked_for(form) -> None:
    table = build(form, COLUMNS[:2], np.array([[1.5, 2], [None, 3]], dtype=object))
    assert table.dtype == form
    np.testing.assert_array_equal(table, [[1.5, 2.0], [math.nan, 3.0]])


def test_a_frame_declares_its_levels_and_keeps_unknown_ones() -> None:
    frame = build("pandas", COLUMNS[3:4], np.array([["u"], [UNSEEN], [None]], dtype=object))
    assert frame["d"].cat.categories.tolist() == ["u", "v", "w", UNSEEN]
    assert frame["d"].isna().tolist() == [False, False, True]
