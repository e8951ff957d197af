"""The cells of a column become numbers or codes; what is neither is refused with a remedy."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty.bundle import Column, Schema
from thrifty.bundle.columns import LOCAL, is_label, is_missing, read_column, to_codes, to_number
from thrifty.errors import DataError


def refusal(act, *arguments) -> str:
    with pytest.raises(DataError) as caught:
        act(*arguments)
    return str(caught.value)


# --- one value ---------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [None, math.nan, np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT, np.datetime64("NaT")],
)
def test_a_missing_value_has_many_forms(value):
    assert is_missing(value)
    assert math.isnan(to_number(value))


@pytest.mark.parametrize("value", [0, "", False, math.inf, Decimal(0), np.float32(0)])
def test_a_value_that_is_there_is_not_missing(value):
    assert not is_missing(value)


def test_a_label_is_text_or_a_finite_number():
    assert all(map(is_label, ["a", 1, True, 0.5]))
    assert not any(map(is_label, [None, math.inf, math.nan, (1, 2), b"a"]))


def test_values_without_a_code_are_returned_in_the_order_of_their_rows():
    cells = np.array(["z", "b", None, "y", "z", 3], dtype=object)
    codes, unknown = to_codes(cells, {"a": 0.0, "b": 1.0})
    np.testing.assert_array_equal(codes, [np.nan, 1, np.nan, np.nan, np.nan, np.nan])
    assert unknown == ("z", "y", 3)


def test_a_cell_that_cannot_be_a_category_is_reported_with_its_row():
    cells = np.empty(3, dtype=object)
    cells[:] = ["a", "b", ("c", [])]
    message = refusal(to_codes, cells, {"a": 0.0})
    assert "holds ('c', []) in row 2, which is not a category" in message


# --- one column --------------------------------------------------------------


def test_a_list_of_numbers_is_an_array_and_a_mixed_one_keeps_its_values():
    cells, declared = read_column([1, 2.5, True])
    assert cells.dtype == np.float64 and declared is None
    cells, _ = read_column([1, "a", None])
    assert cells.tolist() == [1, "a", None]


def test_a_column_has_one_dimension():
    assert "column 'x' has 2 dimensions" in refusal(Schema.of, {"x": [[1, 2], [3, 4]]})


def test_booleans_are_numbers():
    table = {
        "a": [True, False],
        "b": np.array([True, False]),
        "c": pd.array([True, None], dtype="boolean"),
        "d": pl.Series([True, None]),
        "e": [True, 2.5],
    }
    schema = Schema.of(table)
    assert all(column.categories is None for column in schema.columns)
    expected = [[1, 1, 1, 1, 1], [0, 0, np.nan, np.nan, 2.5]]
    np.testing.assert_array_equal(schema.encode(table), expected)


def test_declared_categories_keep_their_order_and_only_those_seen():
    sizes = pd.Categorical(["big", "small", None], categories=["small", "mid", "big"], ordered=True)
    assert Schema.of({"size": pd.Series(sizes)}).columns[0].categories == ("small", "big")
    enum = pl.Series(["big", "small"], dtype=pl.Enum(["small", "mid", "big"]))
    assert Schema.of({"size": enum}).columns[0].categories == ("small", "big")


@pytest.mark.parametrize("labels", [[3, 1], [2.5, 0.5], [True, False]])
def test_declared_categories_may_be_numbers(labels):
    table = pd.DataFrame({"x": pd.Categorical([*labels, None])})
    schema = Schema.of(table)
    assert schema.columns[0].categories == tuple(sorted(labels))
    np.testing.assert_array_equal(schema.encode(table)[:, 0], [1, 0, np.nan])
    assert Schema.build(schema.plain()) == schema


def test_an_object_array_may_hold_categories():
    table = np.array([[1, "b"], [2, "a"]], dtype=object)
    schema = Schema.of(table)
    assert schema.columns == (Column(0), Column(1, ("a", "b")))
    assert schema.encode(table).tolist() == [[1, 1], [2, 0]]
    assert Schema.of([[1, "b"], [2, "a"]]) == schema


def test_numbers_as_objects_are_numbers():
    table = np.array([[1, np.float32(2.5), Decimal("0.5")], [None, True, np.int8(3)]], dtype=object)
    np.testing.assert_array_equal(Schema.of(table).encode(table), [[1, 2.5, 0.5], [np.nan, 1, 3]])


def test_masked_values_are_missing():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(Schema.of(masked).encode(masked), [[1, np.nan], [3, 4]])
    words = np.ma.array(["a", "b"], mask=[True, False])
    assert Schema.of({"x": words}).columns[0].categories == ("b",)


# --- what is refused ---------------------------------------------------------

DATES = "holds dates or times; convert them to numbers, e.g. days since a fixed day, or drop it"
REFUSED = [
    ("looks numeric but holds 'abc' in row 2", [1, 2, "abc"]),
    ("looks numeric but holds '?' in row 1", ["63", "?", "41", None]),
    ("holds numbers as text, '63' in row 1", [None, "63", "41"]),
    ("mixes text, 'a' in row 0, and numbers, 3 in row 2", ["a", "b", 3]),
    (DATES, [datetime.date(2024, 1, 1)]),
    (
        DATES,
        np.array(["2024-01-01"], dtype="datetime64[D]"),
    ),
    (DATES, pd.to_timedelta([1], unit="D")),
    (
        DATES,
        pd.Series(pd.period_range("2024", periods=1)),
    ),
    (DATES, pd.date_range("2024", periods=1, tz="UTC")),
    (DATES, pl.Series([datetime.time(1)])),
    ("holds [1] in row 0, neither number nor text", [[1], None]),
    ("holds b'x' in row 0, neither", np.array([b"x"])),
    ("holds 1j in row 0, neither", [1j]),
    ("holds inf in row 1", [1.0, math.inf]),
    ("holds -inf in row 0", pl.Series([-math.inf])),
    ("holds inf in row 0", [10**400]),
    ("has no value at all; drop it", [None, math.nan]),
    ("has no value at all; drop it", pd.Series([None], dtype="str")),
    ("has no value at all; drop it", pl.Series([None])),
    ("has no value at all; drop it", pd.Series(pd.Categorical([None], categories=["a"]))),
    ("holds dates or times, '2024-01-31' in row 0; convert them", ["2024-01-31", "2024-02-01"]),
    ("looks numeric but holds 'none' in row 2", ["1,5", "2,5", "none"]),
    ("holds numbers as text, '1,234.5' in row 0", ["1,234.5", "12", None]),
    ("has Interval", pd.Series(pd.cut([1, 5], 2))),
]


@pytest.mark.parametrize("message, column", REFUSED, ids=range(len(REFUSED)))
def test_a_bad_column_is_refused_with_its_name(message, column):
    assert f"column 'x' {message}" in refusal(Schema.of, {"x": column})


@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_bad_columns_of_an_array_are_refused(dtype):
    X = np.array([[1.0, np.nan, np.nan], [2.0, np.inf, np.nan]], dtype=dtype)
    message = refusal(Schema.of, X)
    assert "column 1 holds inf in row 1" in message
    assert "column 2 has no value at all" in message


@pytest.mark.parametrize(
    "text",
    ["2024-01-31", "2024/1/31", "31.01.2024", "1/31/24", "31-01-2024", "2024-01-31T12:30:05Z",
     "2024-01-31 12:30:05.123+02:00", "12:30", "9:05 pm", "31 Jan 2024", "January 5, 2024",
     "05-Mar-24", " 2024-01-31 "],
)  # fmt: skip
def test_text_that_is_a_date_or_a_time_is_refused(text):
    assert "column 'x' holds dates or times, " in refusal(Schema.of, {"x": [None, text, text, "?"]})


@pytest.mark.parametrize("text", ["1.2.3", "10.0.0.1", "a-b-c", "mar", "12-34", "1:2:3:4", "5/6"])
def test_text_that_only_resembles_a_date_is_a_category(text):
    assert Schema.of({"x": [text, "b"]}).columns[0].categories == tuple(sorted([text, "b"]))


def test_dates_that_are_declared_categories_are_categories():
    column = pd.Series(pd.Categorical(["2024-01-31", "2024-02-01"]))
    assert Schema.of({"x": column}).columns[0].categories == ("2024-01-31", "2024-02-01")


def test_a_number_with_a_comma_is_refused_with_the_remedy():
    message = refusal(Schema.of, {"x": ["1,5", "2,75"]})
    assert "'1,5' in row 0" in message and message.endswith("; " + LOCAL.strip("; "))


# --- many categories ---------------------------------------------------------

MANY = [f"c{i:03}" for i in range(300)]


def test_255_categories_fit():
    assert Schema.of({"x": MANY[:255]}).columns[0] == Column("x", tuple(MANY[:255]))


def test_of_more_the_most_frequent_are_kept_and_the_others_are_one_with_a_warning():
    cells = [*MANY, *MANY[46:]]  # the first 46 are rare
    with pytest.warns(UserWarning) as caught:
        column = Schema.of({"x": cells, "y": cells}).columns[0]
    assert [str(warning.message) for warning in caught] == [
        f"table: column '{name}' has 300 categories: the 254 most frequent are kept, all others "
        "(8.3% of the rows) become '(other)'" for name in "xy"
    ]  # fmt: skip
    assert column == Column("x", (*MANY[46:], "(other)"), "(other)")


def test_of_equally_frequent_categories_the_order_of_the_rows_decides_nothing():
    schemas = []
    for cells in (MANY, MANY[::-1]):
        with pytest.warns(UserWarning, match="it may be an identifier: drop it|15.3%"):
            schemas.append(Schema.of({"x": cells}))
    assert schemas[0] == schemas[1]


def test_a_column_that_is_mostly_rare_categories_may_be_an_identifier():
    with pytest.warns(UserWarning, match=r"\(57.7% of the rows\) .* an identifier: drop it"):
        Schema.of({"x": [f"c{i}" for i in range(600)]})


def test_a_rare_and_an_unseen_category_are_the_same_everywhere():
    with pytest.warns(UserWarning):
        schema = Schema.of({"x": [*MANY, *MANY[46:]]})
    table = {"x": ["c000", "new", None, "c299"]}
    expected = [254, 254, np.nan, 253]
    np.testing.assert_array_equal(schema.encode(table)[:, 0], expected)
    found = [schema.encode_value(0, value) for value in table["x"]]
    np.testing.assert_array_equal(found, expected)
    assert Schema.build(schema.plain()) == schema
    assert schema.plain()["columns"][0]["other"] == "(other)"


def test_a_label_named_like_the_joined_one_is_kept_apart():
    with pytest.warns(UserWarning, match=re.escape("become '(other)*'")):
        column = Schema.of({"x": [*MANY, "(other)", "(other)"]}).columns[0]
    assert column.other == "(other)*" and "(other)" in column.categories


def test_rows_of_a_joined_column_keep_their_codes_in_a_part_of_the_table():
    with pytest.warns(UserWarning):
        schema = Schema.of({"x": [*MANY, *MANY[46:]]})
    X = schema.encode({"x": ["c000", "c299", "c298"]})
    part = schema.present_in(X[:2])
    assert part.columns[0] == Column("x", ("c299", "(other)"), "(other)")
    assert part.recode(X, schema)[:, 0].tolist() == [1, 0, 1]  # c298 is another one here
    none = schema.present_in(X[1:])
    assert none.columns[0] == Column("x", ("c298", "c299"))
    with pytest.warns(UserWarning, match=re.escape("never seen in training")):
        assert np.isnan(none.recode(X, schema)[0, 0])
