"""A schema: what is learned from a training table, and how any table is encoded by it."""

from __future__ import annotations

import datetime
import math
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Column, Schema
from thrifty.errors import BundleError, DataError

AGES = [63, 41, None]
SEXES = ["m", "f", None]
FRAMES = {
    "mapping": {"age": AGES, "sex": SEXES},
    "pandas": pd.DataFrame({"age": AGES, "sex": SEXES}),
    "pandas object": pd.DataFrame({"age": AGES, "sex": SEXES}, dtype=object),
    "pandas nullable": pd.DataFrame(
        {"age": pd.array(AGES, dtype="Int64"), "sex": pd.array(SEXES, dtype="string")}
    ),
    "pandas arrow": pd.DataFrame(
        {
            "age": pd.array(AGES, dtype="int64[pyarrow]"),
            "sex": pd.array(SEXES, dtype="string[pyarrow]"),
        }
    ),
    "pandas category": pd.DataFrame({"age": AGES, "sex": pd.Categorical(SEXES)}),
    "mapping of series": {"age": pl.Series(AGES), "sex": pd.Series(SEXES)},
    "polars": pl.DataFrame({"age": AGES, "sex": SEXES}),
    "polars category": pl.DataFrame(
        {"age": pl.Series(AGES, dtype=pl.Float32), "sex": pl.Series(SEXES, dtype=pl.Categorical)}
    ),
    "polars enum": pl.DataFrame(
        {"age": AGES, "sex": pl.Series(SEXES, dtype=pl.Enum(["f", "m", "x"]))}
    ),
    "polars decimal": pl.DataFrame({"age": pl.Series(AGES).cast(pl.Decimal(10, 2)), "sex": SEXES}),
}
ENCODED = np.array([[63.0, 1.0], [41.0, 0.0], [np.nan, np.nan]])


def refusal(act, *arguments) -> str:
    with pytest.raises(DataError) as caught:
        act(*arguments)
    return str(caught.value)


# --- what is learned ---------------------------------------------------------


@pytest.mark.parametrize("table", FRAMES.values(), ids=FRAMES)
def test_every_kind_of_frame_is_read_alike(table):
    schema = Schema.of(table)
    assert schema.columns == (Column("age", None), Column("sex", ("f", "m")))
    assert schema.named
    encoded = schema.encode(table)
    assert encoded.dtype == np.float64 and encoded.flags.c_contiguous
    np.testing.assert_array_equal(encoded, ENCODED)


@pytest.mark.parametrize("table", FRAMES.values(), ids=FRAMES)
def test_a_schema_reads_every_other_kind_of_frame(table):
    np.testing.assert_array_equal(Schema.of(FRAMES["pandas"]).encode(table), ENCODED)


@pytest.mark.parametrize(
    "table", [[[1, 2], [3, 4]], np.array([[1, 2], [3, 4]]), np.eye(2), pd.DataFrame(np.eye(2))]
)
def test_arrays_and_lists_are_nameless(table):
    schema = Schema.of(table)
    assert schema.columns == (Column(0), Column(1))
    assert not schema.named
    assert schema.encode(table).tolist() == np.asarray(table, dtype=float).tolist()


# --- encoding a table --------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_that_is_ready_is_not_copied(dtype):
    X = np.ones((4, 2), dtype=dtype)
    assert Schema.of(X).encode(X) is X


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.bool_, np.uint64, ">f8"])
def test_other_arrays_become_float64(dtype):
    X = np.ones((4, 2), dtype=dtype)
    encoded = Schema.of(X).encode(X)
    assert encoded.dtype == np.float64
    assert encoded.tolist() == X.tolist()


def test_a_transposed_array_becomes_c_ordered():
    X = np.arange(6.0, dtype=np.float32).reshape(2, 3).T
    encoded = Schema.of(X).encode(X)
    assert encoded.flags.c_contiguous and encoded.dtype == np.float32
    np.testing.assert_array_equal(encoded, X)


def test_columns_are_found_by_name_in_any_order_among_others():
    schema = Schema.of({"a": [1, 2], "b": [3, 4]})
    table = pd.DataFrame({"date": [datetime.date.today()], "b": [5], "a": [6]})
    assert schema.encode(table).tolist() == [[6, 5]]


def test_the_columns_of_an_array_are_found_by_position():
    schema = Schema.of({"a": [1, 2], "b": ["x", "y"]})
    assert schema.encode([[7, "y"]]).tolist() == [[7, 1]]
    assert Schema.of(np.eye(2)).encode(pd.DataFrame({"b": [1], "a": [2]})).tolist() == [[1, 2]]


def test_many_rows_keep_their_places():
    n = 5000
    table = pd.DataFrame({"a": np.arange(n), "b": np.arange(n) * 0.5})
    np.testing.assert_array_equal(Schema.of(table).encode(table), table.to_numpy())


def test_new_categories_are_missing_with_one_warning():
    schema = Schema.of({"sex": ["m", "f"], "job": ["cook", "tailor"], "age": [1, 2]})
    table = {"sex": ["x", "m", None], "job": ["judge", "cook", 3], "age": [1, 2, 3]}
    with pytest.warns(UserWarning) as caught:
        encoded = schema.encode(table)
    assert len(caught) == 1
    assert "'sex': 'x'; 'job': 'judge', 3" in str(caught[0].message)
    np.testing.assert_array_equal(encoded, [[np.nan, np.nan, 1], [1, 0, 2], [np.nan, np.nan, 3]])


def test_a_warning_lists_a_few_of_many_new_categories():
    schema = Schema.of({"x": ["a"]})
    with pytest.warns(UserWarning, match=r"'b', 'c', 'd', 'e', 'f' and 20 more\)"):
        schema.encode({"x": [chr(code) for code in range(ord("b"), ord("z") + 1)]})


def test_missing_values_do_not_warn():
    schema = Schema.of({"x": ["a", "b"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        missing = [None, math.nan, pd.NA, pd.NaT, np.float32("nan"), np.datetime64("NaT")]
        assert np.isnan(schema.encode({"x": missing})).all()


# --- what is refused ---------------------------------------------------------


def test_all_problems_of_a_training_table_are_reported_at_once():
    table = {"a": [None, None], "b": [1, math.inf], "c": [1, 2], "d": ["x", 2]}
    message = refusal(Schema.of, table)
    assert "3 problems" in message
    assert all(f"column {name!r}" in message for name in "abd")


def test_all_problems_of_a_table_are_reported_at_once():
    schema = Schema.of({"age": [1, 2], "chol": [3, 4], "ca": [5, 6], "sex": ["m", "f"]})
    table = {"Age": [1, 2], "chol": [1, "low"], "ca": [1, math.inf], "sex": ["m", []]}
    message = refusal(schema.encode, table)
    assert "4 problems" in message
    assert "column 'age' is missing from the table; did you mean 'Age'?" in message
    assert "column 'chol' is numeric but holds 'low' in row 1" in message
    assert "column 'ca' holds inf in row 1" in message
    assert "column 'sex' holds [] in row 1, which is not a category" in message


def test_an_infinite_value_is_reported_with_its_column_and_row():
    schema = Schema.of(np.eye(3))
    X = np.zeros((4, 3))
    X[2, 1] = X[3, 1] = -np.inf
    X[3, 2] = np.inf
    message = refusal(schema.encode, X)
    assert "column 1 holds -inf in row 2" in message
    assert "column 2 holds inf in row 3" in message


@pytest.mark.parametrize("table", [np.eye(2), {"a": [1], "b": [2]}, [["x", "y"]]])
def test_a_wrong_number_of_columns_is_refused(table):
    schema = Schema.of(np.eye(3))
    assert "X has 2 features, but Thrifty is expecting 3" in refusal(schema.encode, table)


# --- one value ---------------------------------------------------------------


def test_one_value_is_encoded_by_the_same_rules():
    schema = Schema.of({"age": [63, 41], "sex": ["m", "f"]})
    assert [schema.encode_value(0, value) for value in (1, 2.5, True, np.int8(3))] == [1, 2.5, 1, 3]
    assert schema.encode_value(1, "m") == 1.0
    for value in (None, math.nan, pd.NA, pd.NaT, Decimal("nan")):
        assert math.isnan(schema.encode_value(0, value))
        assert math.isnan(schema.encode_value(1, value))
    with pytest.warns(UserWarning, match="'sex': 'x'"):
        assert math.isnan(schema.encode_value(1, "x"))


@pytest.mark.parametrize("value", ["63", "", math.inf, -math.inf, 10**400, [1], 1j, b"1"])
def test_one_value_that_is_not_a_number_is_refused(value):
    schema = Schema.of({"age": [63, 41]})
    assert "'age' is" in refusal(schema.encode_value, 0, value)


def test_one_value_that_is_not_a_category_is_refused():
    assert "not a category" in refusal(Schema.of({"x": ["a"]}).encode_value, 0, ["a"])


def test_all_problems_of_values_are_reported_at_once():
    schema = Schema.of({"age": [1, 2], "chol": [3, 4]})
    message = refusal(schema.encode_values, {"agee": 1, "chol": "low", "age": 3})
    assert "2 problems" in message
    assert "there is no feature 'agee'; did you mean 'age'?" in message
    assert "'chol' is numeric; 'low' is not a number" in message


def test_features_are_found_by_name_or_else_by_position():
    named, nameless = Schema.of({"age": [1], "chol": [2]}), Schema.of(np.eye(2))
    assert (named.index("chol"), named.name(1), named.names) == (1, "chol", ("age", "chol"))
    assert (nameless.index(1), nameless.name(1), len(nameless)) == (1, 1, 2)
    assert "did you mean 'chol'?" in refusal(named.index, "coal")
    assert "no feature 1" in refusal(named.index, 1)
    assert "numbered from 0 to 1" in refusal(nameless.index, 2)
    assert "no feature ['age']" in refusal(named.index, ["age"])


value = st.one_of(
    st.none(),
    st.floats(allow_infinity=False, width=32),
    st.integers(-(2**40), 2**40),
    st.booleans(),
    st.floats(allow_infinity=False).map(np.float64),
)


@given(st.lists(st.tuples(value, st.sampled_from(["m", "f", None])), min_size=1))
def test_value_by_value_is_the_same_as_the_table(rows):
    schema = Schema((Column("x"), Column("sex", ("f", "m"))), named=True)
    table = {"x": [x for x, _ in rows], "sex": [sex for _, sex in rows]}
    encoded = [[schema.encode_value(j, value) for j, value in enumerate(row)] for row in rows]
    np.testing.assert_array_equal(schema.encode(table), encoded)
    np.testing.assert_array_equal(schema.encode(pd.DataFrame(table, dtype=object)), encoded)


# --- some rows of a table ----------------------------------------------------

LABELS = ["a", "b", "c", "d", None]
mixed_rows = st.lists(
    st.tuples(value, st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=8
)


def frame_of(rows):
    """A number column, a text column and a column whose categories are declared, unsorted."""
    x, word, declared = (list(column) for column in zip(*rows, strict=True))
    declared = pd.Categorical(declared, categories=["d", "b", "a", "c"])
    return pd.DataFrame({"x": pd.Series(x, dtype=object), "word": word, "declared": declared})


def outcome(act, *arguments):
    """What a call returns, with its warnings, or the message of its DataError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            returned = act(*arguments)
        except DataError as error:
            return str(error)
    return returned, [str(warning.message) for warning in caught]


@given(mixed_rows, st.data())
def test_present_in_is_the_schema_of_these_rows(rows, data):
    table = frame_of([*rows, (1.0, "a", "d")])
    subset = data.draw(st.lists(st.integers(0, len(rows)), max_size=len(rows), unique=True))
    schema = Schema.of(table)
    assert outcome(schema.present_in, schema.encode(table)[subset]) == outcome(
        Schema.of, table.iloc[subset]
    )


@given(mixed_rows, mixed_rows)
def test_recode_equals_encoding_the_raw_rows(rows, others):
    rows = [*rows, (1.0, "a", "d")]
    table, whole = frame_of(rows), frame_of([*rows, *others])
    schema, source = Schema.of(table), Schema.of(whole)
    recoded, warned = outcome(schema.recode, source.encode(whole), source)
    encoded, expected = outcome(schema.encode, whole)
    assert warned == expected
    assert recoded.dtype == encoded.dtype and recoded.flags.c_contiguous
    np.testing.assert_array_equal(recoded, encoded)


def test_present_in_names_all_columns_without_a_value():
    table = {"a": [1, None], "b": ["x", None], "c": [1, 2]}
    schema = Schema.of(table)
    message = refusal(schema.present_in, schema.encode(table)[1:])
    assert message == refusal(Schema.of, {name: column[1:] for name, column in table.items()})
    assert "column 'a' has no value at all; drop it" in message
    assert "column 'b' has no value at all; drop it" in message
    assert "2 problems" in message


def test_recode_by_the_same_schema_copies_nothing():
    schema = Schema.of({"x": [1, 2], "sex": ["m", "f"]})
    X = schema.encode({"x": [3, 4], "sex": ["f", "m"]})
    assert Schema.build(schema.plain()).recode(X, schema) is X


def test_recode_reads_a_column_of_another_kind_again():
    numbers = Schema.of({"x": [1.0, 2.0]})
    grades = {"x": pd.Series(pd.Categorical([3, 1, None]))}
    words = {"x": ["low", "high"]}
    by_grade, by_word = Schema.of(grades), Schema.of(words)
    recoded = numbers.recode(by_grade.encode(grades), by_grade)
    np.testing.assert_array_equal(recoded, numbers.encode(grades))
    recoded = by_grade.recode(numbers.encode({"x": [1.0, 3.0, None]}), numbers)
    np.testing.assert_array_equal(recoded, [[0], [1], [np.nan]])
    message = refusal(numbers.recode, by_word.encode(words), by_word)
    assert "column 'x' is numeric but holds 'low' in row 0" in message


def test_recode_refuses_other_columns():
    schema, source = Schema.of({"a": [1]}), Schema.of({"b": [1]})
    assert "different columns" in refusal(schema.recode, np.ones((1, 1)), source)


# --- its plain form ----------------------------------------------------------


def test_a_schema_survives_its_plain_form():
    for table in (*FRAMES.values(), np.eye(3)):
        schema = Schema.of(table)
        again = Schema.build(schema.plain())
        assert again == schema and hash(again) == hash(schema)
        assert repr(again) == repr(schema)
    assert schema != Schema.of(np.eye(2)) and schema != "schema"


COLUMN = {"name": "a", "categories": None}
INVALID = [
    None,
    [],
    {},
    {"named": True, "columns": []},
    {"named": 1, "columns": [COLUMN]},
    {"named": True, "columns": [COLUMN], "more": 1},
    {"named": True, "columns": {"a": None}},
    {"named": True, "columns": [COLUMN, COLUMN]},
    {"named": False, "columns": [COLUMN]},
    {"named": False, "columns": [{"name": 1, "categories": None}]},
    {"named": True, "columns": [{"name": 0, "categories": None}]},
    {"named": True, "columns": [{"name": ["a"], "categories": None}]},
    {"named": True, "columns": [{"name": "a"}]},
    {"named": True, "columns": ["a"]},
    {"named": True, "columns": [COLUMN | {"categories": []}]},
    {"named": True, "columns": [COLUMN | {"categories": "ab"}]},
    {"named": True, "columns": [COLUMN | {"categories": ["b", "b"]}]},
    {"named": True, "columns": [COLUMN | {"categories": [1, True]}]},
    {"named": True, "columns": [COLUMN | {"categories": [None]}]},
    {"named": True, "columns": [COLUMN | {"categories": [["b"]]}]},
    {"named": True, "columns": [COLUMN | {"categories": [math.inf]}]},
    {"named": True, "columns": [COLUMN | {"categories": list(range(256))}]},
    {"named": True, "columns": [COLUMN | {"other": "b"}]},
    {"named": True, "columns": [COLUMN | {"categories": ["b"], "other": "c"}]},
    {"named": True, "columns": [COLUMN | {"categories": ["b"], "other": None}]},
    {"named": True, "columns": [COLUMN | {"categories": ["b"], "other": ["b"]}]},
    {"named": True, "columns": [COLUMN | {"categories": ["b"], "others": "b"}]},
]


@pytest.mark.parametrize("plain", INVALID, ids=range(len(INVALID)))
def test_an_invalid_plain_form_is_refused(plain):
    with pytest.raises(BundleError):
        Schema.build(plain)


def test_a_column_that_stands_for_a_call_is_in_no_table():
    named = Schema((Column("a"), Column("call", is_call=True)), named=True)
    np.testing.assert_array_equal(named.encode({"a": [1, 2]}), [[1.0, np.nan], [2.0, np.nan]])
    unnamed = Schema((Column(0), Column(1, is_call=True)), named=False)
    np.testing.assert_array_equal(unnamed.encode(np.array([[3.0]])), [[3.0, np.nan]])
    with pytest.raises(DataError, match="2 features, but Thrifty is expecting 1"):
        unnamed.encode(np.zeros((1, 2)))
    assert Schema.build(named.plain()) == named and named.calls == {1}
    assert named.present_in(named.encode({"a": [1, 2]})) == named
    for damage in ({"call": False}, {"call": 1}, {"call": None}, {"categories": ["x"]}):
        plain = named.plain()
        plain["columns"][1].update(damage)
        with pytest.raises(BundleError, match="'call'"):
            Schema.build(plain)


def test_a_sorted_schema_reads_arrays_in_the_order_of_the_training_table():
    schema = Schema.of({"b": [1.0, 2.0], "c": [3.0, 4.0], "a": [5.0, 6.0]}).sort()
    assert schema.names == ("a", "b", "c") and schema.table_names == ("b", "c", "a")
    by_name = schema.encode({"c": [3.0], "a": [5.0], "b": [1.0]})
    for table in ([[1.0, 3.0, 5.0]], np.array([[1.0, 3.0, 5.0]], dtype=np.float32)):
        np.testing.assert_array_equal(schema.encode(table), by_name)
    np.testing.assert_array_equal(schema.to_table_order(by_name), [[1.0, 3.0, 5.0]])


def test_columns_are_sorted_only_if_they_have_names():
    assert Schema.of(np.zeros((2, 12))).sort().names == tuple(range(12))
    assert Schema.of({"a": [1.0], "b": [2.0]}).sort().plain().keys() == {"named", "columns"}


def test_a_sorted_schema_survives_its_plain_form():
    schema = Schema.of({"b": [1.0, 2.0], "c": ["x", "y"], "a": [5.0, 6.0]}).sort()
    again = Schema.build(schema.plain())
    assert again == schema and again.table_names == ("b", "c", "a")
    part = again.present_in(np.array([[5.0, 1.0, 0.0]]))
    assert part.columns[2].categories == ("x",) and part.table_names == ("b", "c", "a")


@pytest.mark.parametrize("order", [[0], [0, 0], [1, 2], [True, False], "ab", None, [0.0, 1.0]])
def test_an_order_that_is_no_permutation_is_refused(order):
    plain = Schema.of({"a": [1.0], "b": [2.0]}).plain() | {"order": order}
    with pytest.raises(BundleError, match="each of its columns once"):
        Schema.build(plain)


def test_a_schema_without_names_has_no_order():
    plain = Schema.of(np.zeros((2, 2))).plain() | {"order": [1, 0]}
    with pytest.raises(BundleError, match="each of its columns once"):
        Schema.build(plain)
