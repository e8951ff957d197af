"""Tables in files: columns, batches, and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest

from thrifty import DataError
from thrifty.table_files import read_batches, read_columns


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"id": [7, 8, None], "age": [63.0, 41.0, 50.0], "sex": list("mfm")})


@pytest.fixture
def paths(tmp_path: Path, frame: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 2)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    return [tmp_path / "t.csv", tmp_path / "t.parquet"]


def test_batches_are_the_rows_in_order(paths, frame) -> None:
    for path in paths:
        batches = list(read_batches(path, ["age", "id"]))
        assert [len(batch) for batch in batches] == [2, 1]
        found = pd.concat(batches, ignore_index=True)
        pd.testing.assert_frame_equal(found, frame[["age", "id"]])


def test_the_names_of_columns_are_read_without_rows(paths) -> None:
    for path in paths:
        assert read_columns(path) == ["id", "age", "sex"]


def test_exact_columns_of_parquet_keep_their_type(tmp_path) -> None:
    ids = pd.array([7, None], dtype="Int64")
    pd.DataFrame({"id": ids}).to_parquet(tmp_path / "t.parquet")
    (batch,) = read_batches(tmp_path / "t.parquet", ["id"], exact=["id"])
    assert batch["id"].dtype == "int64[pyarrow]"


def test_a_name_that_begins_like_another_is_one_column(tmp_path) -> None:
    pd.DataFrame({"a": [1], "a.b": [2]}).to_parquet(tmp_path / "t.parquet")
    (batch,) = read_batches(tmp_path / "t.parquet", ["a"])
    assert list(batch.columns) == ["a"]


@pytest.mark.parametrize("row", ["1,2,3,4", "1,2,3,4\n" * 3])
def test_too_many_cells_are_refused_in_any_batch(tmp_path, monkeypatch, row) -> None:
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 2)
    (tmp_path / "t.csv").write_text(
        "id,age,sex\n" + "1,2,3\n" * (3 if "\n" not in row else 0) + row
    )
    with pytest.raises(DataError, match=r"t\.csv: not a table"):
        list(read_batches(tmp_path / "t.csv", ["id"]))


def test_filters_of_warnings_are_left_to_the_caller(paths) -> None:
    batches = read_batches(paths[0], ["age"])
    next(batches)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inside = list(warnings.filters)
        next(batches)
        assert warnings.filters == inside
    assert warnings.filters == before


def test_an_error_of_the_system_stays_one(tmp_path) -> None:
    with pytest.raises(FileNotFoundError):
        next(read_batches(tmp_path / "none.parquet", ["a"]))
