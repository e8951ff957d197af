"""CSV output is safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest

from thrifty.cli.csv_output import to_safe_csv


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx"])
def test_text_that_looks_like_a_formula_gets_a_quote(text) -> None:
    rows = csv.reader(io.StringIO(to_safe_csv(pd.DataFrame({"id": [text]})), newline=""))
    assert list(rows) == [["id"], [f"'{text}"]]


@pytest.mark.parametrize("text", ["\r=1+1", "\n=1+1", "a\r=1+1", "a\r\n=1+1"])
def test_a_line_end_does_not_start_another_row(text) -> None:
    header, *rows = csv.reader(io.StringIO(to_safe_csv(pd.DataFrame({"id": [text]})), newline=""))
    assert header == ["id"] and len(rows) == 1
    assert rows[0][0] in ("'\n=1+1", "a\n=1+1")


@pytest.mark.parametrize("text", ["a=b", "", "x-1", "-7", "+49", "-1e-3"])
def test_other_text_and_numbers_stay_as_they_are(text) -> None:
    assert to_safe_csv(pd.DataFrame({"id": [text, "z"]})).splitlines()[1].strip('"') == text


def test_numbers_and_missing_values_stay_as_they_are() -> None:
    frame = pd.DataFrame({"a": [-1, 2], "b": [-0.5, None], "c": [True, False], "d": [None, "=x"]})
    assert to_safe_csv(frame) == "a,b,c,d\n-1,-0.5,True,\n2,,False,'=x\n"


def test_names_of_columns_are_safe_too() -> None:
    assert to_safe_csv(pd.DataFrame({"=x": [1]})) == "'=x\n1\n"
