"""Values at the border."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Schema
from thrifty.errors import LedgerError
from thrifty.serve.sources.values import check_values, dump_values, is_unicode, load_values

SCHEMA = Schema.of({"age": [63, 41], "sex": ["m", "f"]})


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (63, 63), (63.5, 63.5), (True, True), (Decimal("1.5"), 1.5), (np.int64(3), 3),
        (np.float32(0.5), 0.5), (None, None), (np.nan, None), (pd.NA, None), (pd.NaT, None),
        (Decimal("nan"), None),
    ],
)  # fmt: skip
def test_a_number_becomes_a_plain_one(value, plain):
    good, problems = check_values(SCHEMA, {"age": value})
    assert good == {"age": plain} and type(good["age"]) is type(plain) and not problems


@pytest.mark.parametrize(
    "value", ["63", "", np.inf, 10**400, Decimal("inf"), [1], {}, b"1", 1j, pd.Timestamp(0)]
)
def test_what_is_no_number_is_a_problem(value):
    good, problems = check_values(SCHEMA, {"age": value})
    assert not good and "age" in problems


def test_a_category_may_be_any_text_or_number_that_can_be_stored():
    assert check_values(SCHEMA, {"sex": "unheard of"}) == ({"sex": "unheard of"}, {})
    assert "too long" in check_values(SCHEMA, {"sex": "x" * 10_001})[1]["sex"]
    assert "surrogate" in check_values(SCHEMA, {"sex": "\ud800"})[1]["sex"]
    assert is_unicode("🜚") and not is_unicode("\udfff")


PLAIN = st.one_of(st.none(), st.booleans(), st.integers(), st.text(),
                  st.floats(allow_nan=False, allow_infinity=False))  # fmt: skip


@given(values=st.dictionaries(st.one_of(st.text(), st.integers()), PLAIN))
def test_what_was_dumped_is_loaded(values):
    assert load_values(dump_values(values)) == values


@pytest.mark.parametrize(
    "text",
    ["", "{}", "5", '[["age"]]', '[["age", [1]]]', '[[null, 1]]', '[["age", NaN]]', "[[1, 2]",
     '[["age", 1, 2]]', '[["age", 1e999]]', "[" * 100 + "]" * 100],
)  # fmt: skip
def test_damaged_values_are_refused(text):
    with pytest.raises(LedgerError, match="ledger"):
        load_values(text)
