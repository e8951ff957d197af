"""Batches of a file to score, and the parts of the output."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, GreedyMiserRegressor, load
from thrifty.cli.batches import TableFile, csv_or_parquet


def test_only_columns_that_the_model_reads_are_read(model, frame) -> None:
    predictor = load(model)
    frame.assign(customer=range(240)).to_parquet("new.parquet")
    reads = {str(name) for name in np.array(predictor.schema.names)[predictor.reads]}
    (batch,) = TableFile(Path("new.parquet"), "customer").batches(predictor)
    assert set(batch.columns) == {*reads, "customer"}


def test_a_model_without_names_reads_by_position(folder, frame) -> None:
    numbers = frame[["age", "chol"]]
    model = GreedyMiserRegressor(n_estimators=2).fit(numbers.to_numpy(), frame["fbs"])
    numbers.to_csv("new.csv", index=False)
    (batch,) = TableFile(Path("new.csv"), None).batches(model.predictor_)
    assert list(batch.columns) == ["age", "chol"]


def test_numbers_among_text_stay_numbers(folder, frame) -> None:
    model = GreedyMiserRegressor(n_estimators=2).fit(frame[["chol"]], frame["fbs"])
    Path("new.csv").write_text("chol\n1\nabc\n\n2.5\nNA\n")
    (batch,) = TableFile(Path("new.csv"), None).batches(model.predictor_)
    assert batch["chol"].tolist()[:3] == [1.0, "abc", 2.5]
    assert batch["chol"].isna().tolist() == [False, False, False, True]


def test_the_format_of_a_csv_file_is_said_once(model, frame, capsys) -> None:
    frame.to_csv("new.csv", index=False, sep=";", decimal=",")
    (batch,) = TableFile(Path("new.csv"), None).batches(load(model))
    assert batch["chol"].tolist() == frame["chol"].tolist()
    assert capsys.readouterr().err.count("semicolons, decimal commas") == 1


def test_what_is_no_table_is_refused(folder) -> None:
    Path("new.txt").write_text("a\n1\n")
    with pytest.raises(DataError, match="a table is a .csv"):
        TableFile(Path("new.txt"), None)


def test_parts_make_a_file() -> None:
    frames = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [3]})]
    assert b"".join(csv_or_parquet(None, frames)) == b"a\n1\n2\n3\n"
    data = b"".join(csv_or_parquet(Path("out.parquet"), frames))
    assert pd.read_parquet(io.BytesIO(data))["a"].tolist() == [1, 2, 3]
