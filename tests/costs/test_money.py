"""Amounts as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs.money import money


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0.00"),
        (15.5, "15.50"),
        (7.27 - 5.17, "2.10"),
        (0.001, "0.001"),
        (1 / 3, "0.333333"),
        (12345.678, "12345.68"),
        (1e-9, "1e-09"),
        (1e30, "1e+30"),
    ],
)
def test_an_amount_is_written_as_short_as_it_can_be(amount, text):
    assert money(amount) == text
    assert money(amount, "CAD") == f"CAD {text}"


@given(st.floats(0, 1e100))
def test_the_text_is_the_amount_to_six_digits(amount):
    assert math.isclose(float(money(amount)), amount, rel_tol=1e-5)
