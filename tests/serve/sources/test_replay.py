"""Recorded rows."""

from __future__ import annotations

import asyncio

import pandas as pd
import pytest

from thrifty.errors import DataError
from thrifty.serve import NotFoundError, Query, ReplaySource, UnsentError


def fetch(source, **context):
    return asyncio.run(source.fetch(Query(source.terms.features, context=context)))


def test_one_row_serves_all_cases():
    source = ReplaySource("row", {"age": 63, "chol": None}, ["age", "chol", "thal"])
    assert fetch(source) == {"age": 63, "chol": None}  # empty is delivered, absent is not


def test_a_row_is_found_by_its_identifier():
    source = ReplaySource("rows", {7: {"age": 63}}, ["age"], by="who")
    assert source.needs == ("who",)
    assert fetch(source, who=7) == {"age": 63}
    with pytest.raises(NotFoundError, match="no such row"):
        fetch(source, who=8)
    with pytest.raises(UnsentError, match="pass 'who'"):
        fetch(source)


@pytest.mark.parametrize("kind", [dict, pd.DataFrame])
def test_a_table_may_be_the_source(kind):
    table = kind({"who": ["ann", "bob"], "age": [63, 41], "chol": [233.0, 204.0]})
    source = ReplaySource.from_table("table", table, "who")
    assert fetch(source, who="bob") == {"age": 41, "chol": 204.0}
    assert ReplaySource.from_table("t", table, "who", ["age"]).terms.features == ("age",)
    with pytest.raises(DataError, match="no column 'id'"):
        ReplaySource.from_table("table", table, "id")


def test_a_csv_file_may_be_the_source(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("id,age,sex\n007,63,m\n8,,f\n")
    source = ReplaySource.from_csv("rows", file, "id")
    assert fetch(source, id="007") == {"age": 63.0, "sex": "m"}
    assert fetch(source, id=8) == {"age": None, "sex": "f"}


def test_a_csv_file_may_have_semicolons_and_decimal_commas(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("id;age;sex\n7;63,5;m\n")
    assert fetch(ReplaySource.from_csv("rows", file, "id"), id=7) == {"age": 63.5, "sex": "m"}


@pytest.mark.parametrize(
    ("text", "words"),
    [("id,age,age\n7,1,2\n", "two columns are named 'age'"),
     ("id,age\n7," + "x" * 140_000, "field larger than field limit")],
)  # fmt: skip
def test_a_csv_file_that_cannot_be_used_is_refused(tmp_path, text, words):
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(DataError, match=f"source 'rows': .*{words}"):
        ReplaySource.from_csv("rows", tmp_path / "rows.csv", "id")


def test_a_feature_without_a_column_is_refused(tmp_path):
    (tmp_path / "rows.csv").write_text("id,age\n7,63\n")
    with pytest.raises(DataError, match="source 'rows': the table has no column 'sex'"):
        ReplaySource.from_csv("rows", tmp_path / "rows.csv", "id", ["age", "sex"])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="No such file"):
        ReplaySource.from_csv("rows", tmp_path / "missing.csv", "id")
