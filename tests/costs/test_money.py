"""One amount: read from anything, checked, and printed."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.costs.money import MAX_PRICE, as_float, money, price_fault, with_unit


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


@pytest.mark.parametrize("value", [2, 2.0, np.int8(2), np.float32(2), Decimal(2), Fraction(4, 2)])
def test_a_number_of_any_type_becomes_a_float(value):
    number = as_float(value)
    assert number == 2.0 and type(number) is float
    assert price_fault(value) is None


@pytest.mark.parametrize("value", [True, "2", None, [2.0], Decimal("sNaN"), 10**400])
def test_anything_else_stays_as_it_is_and_is_not_a_price(value):
    assert as_float(value) is value
    assert price_fault(value)


def test_a_negative_zero_becomes_zero():
    assert math.copysign(1.0, as_float(-0.0)) == 1.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -1e-300, 2 * MAX_PRICE])
def test_a_price_is_finite_not_negative_and_not_huge(value):
    assert str(value) in price_fault(value)
    assert ";" in price_fault(value)  # the remedy


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("", "3.20"), ("CAD", "CAD 3.20"), ("EUR", "EUR 3.20"), ("$", "$3.20"), ("€", "€3.20"),
        ("US$", "US$3.20"), ("min", "3.20 min"), ("minutes", "3.20 minutes"), ("MRI", "3.20 MRI"),
        ("$US", "$US 3.20"), ("x", "3.20 x"),
    ],
)  # fmt: skip
def test_currencies_come_before_the_number_and_other_units_after_it(unit, text) -> None:
    assert with_unit("3.20", unit) == money(3.2, unit) == text
