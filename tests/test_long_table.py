"""Tables in many files: which files, which columns, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import dask
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from thrifty import DataError, GreedyMiserClassifier, Table

FRAME = pd.DataFrame({
    "age": [63.0, 41.0, 50.0, 37.0], "sex": ["m", "f", None, "m"], "ill": [1, 0, 1, 0],
})  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two Parquet files and two CSV files of the same rows."""
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 2)
    for name, rows in (("a", FRAME[:3]), ("b", FRAME[3:])):
        rows.to_parquet(tmp_path / f"{name}.parquet")
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_files_of_a_folder_or_a_pattern_follow_each_other(folder) -> None:
    for table in (
        Table.parquet(folder, "ill"),
        Table.parquet(f"{folder}/*.parquet", "ill"),
        Table.csv(folder, "ill"),
    ):
        assert [path.stem for path in table.files] == ["a", "b"]
        assert (table.n_rows, table.features) == (4, ["age", "sex"])
        batches = list(table.batches())
        assert [(b.path.stem, b.first_row, len(b.frame)) for b in batches] == [
            ("a", 0, 2), ("a", 2, 1), ("b", 0, 1),
        ]  # fmt: skip
        ages = np.concatenate([batch.frame["age"] for batch in batches])
        assert ages.tolist() == FRAME["age"].tolist()
    assert repr(table) == "Table(2 files, 2 features)"


def test_one_file_is_a_table_and_columns_may_be_dropped(folder) -> None:
    table = Table.parquet(folder / "a.parquet", "ill", drop=["sex"])
    assert (table.n_rows, table.features) == (3, ["age"])


def test_text_stays_text_in_all_batches(folder) -> None:
    pd.DataFrame({"code": ["x", "y", "1", "2"], "ill": [0, 1, 0, 1]}).to_csv(
        folder / "codes.csv", index=False
    )
    table = Table.csv(folder / "codes.csv", "ill")
    assert table.text_columns == {"code"}
    assert [b.frame["code"].tolist() for b in table.batches()] == [["x", "y"], ["1", "2"]]


def test_numbers_stay_numbers_beside_what_is_none(folder) -> None:
    pd.DataFrame({"a": [1, 2, 3, "x"], "ill": 0}).to_csv(folder / "mixed.csv", index=False)
    batches = list(Table.csv(folder / "mixed.csv", "ill").batches())
    assert batches[1].frame["a"].tolist() == [3.0, "x"]


def test_a_csv_file_without_rows_has_no_text(folder) -> None:
    FRAME[:0].to_csv(folder / "none.csv", index=False)
    table = Table.csv(folder / "none.csv", "ill")
    assert (table.n_rows, table.text_columns) == (0, set())


def test_all_files_whose_columns_differ_are_named(folder) -> None:
    FRAME.drop(columns="age").to_parquet(folder / "c.parquet")
    FRAME.assign(age=["a", "b", "c", "d"]).to_parquet(folder / "d.parquet")
    FRAME.assign(extra=1).to_parquet(folder / "e.parquet")
    with pytest.raises(DataError) as caught:
        Table.parquet(folder, "ill")
    text = str(caught.value)
    assert "c.parquet: there is no column 'age'" in text
    assert "d.parquet: column 'age' holds text, but numbers in" in text
    assert "e.parquet: column 'extra' is not in" in text


def test_csv_files_whose_columns_differ_are_named(folder) -> None:
    FRAME.drop(columns="age").to_csv(folder / "c.csv", index=False)
    FRAME.assign(extra=1).to_csv(folder / "d.csv", index=False)
    with pytest.raises(DataError, match=r"(?s)c\.csv: there is no column 'age'.*d\.csv: .*'extra'"):
        Table.csv(folder, "ill")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_file_without_rows_adds_none(tmp_path, kind, dask_client) -> None:
    for name, rows in (("a", FRAME[:0]), ("b", FRAME[:3]), ("c", FRAME[:0]), ("d", FRAME[3:])):
        if kind == "parquet":
            # Without it, pandas 2 would write that no type is known.
            rows.to_parquet(tmp_path / f"{name}.parquet", schema=pa.Schema.from_pandas(FRAME))
        else:
            rows.to_csv(tmp_path / f"{name}.csv", index=False)
    table = getattr(Table, kind)(tmp_path, "ill")
    assert table.n_rows == 4 and table.text_columns == {"sex"}
    assert [(batch.path.stem, len(batch.frame)) for batch in table.batches()] == [
        ("b", 3),
        ("d", 1),
    ]
    X, y = table.to_dask()
    assert X.npartitions == 4 and y.compute().tolist() == FRAME["ill"].tolist()
    assert GreedyMiserClassifier(n_estimators=1).fit(table).classes_.tolist() == [0, 1]


def test_a_long_list_of_problems_is_shortened(folder) -> None:
    for k in range(15):
        FRAME.drop(columns="age").to_parquet(folder / f"c{k}.parquet")
    with pytest.raises(DataError, match=r"and 5 more$"):
        Table.parquet(folder, "ill")


def test_a_damaged_file_is_named(folder) -> None:
    (folder / "c.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match=r"c\.parquet: not a Parquet file"):
        Table.parquet(folder, "ill")


def test_a_wrong_target_has_a_remedy(folder) -> None:
    with pytest.raises(DataError, match="no column 'il'; did you mean 'ill'"):
        Table.parquet(folder, "il")


def test_a_weight_is_another_column_than_the_target(folder) -> None:
    assert Table.parquet(folder, "ill", weight="age").features == ["sex"]
    with pytest.raises(DataError, match="no column 'ag'; did you mean 'age'"):
        Table.csv(folder, "ill", weight="ag")
    with pytest.raises(DataError, match="'ill' is the target and the weight"):
        Table.parquet(folder, "ill", weight="ill")


def test_no_files_and_no_folder_are_refused(tmp_path) -> None:
    for where in (tmp_path, tmp_path / "none", f"{tmp_path}/*.parquet"):
        with pytest.raises(DataError, match="there is no .parquet or .pq file"):
            Table.parquet(where, "ill")


def test_an_unreadable_folder_is_named(folder, monkeypatch) -> None:
    def refuse(path: str) -> list[str]:
        raise PermissionError(13, os.strerror(13), path)

    monkeypatch.setattr(os, "listdir", refuse)
    # A pattern, or a name, seems to have no file there.
    for where in (folder, folder / "2025-*.parquet", folder / "sub" / "a.parquet"):
        with pytest.raises(DataError, match="the folder cannot be read: Permission denied"):
            Table.parquet(where, "ill")


def test_kinds_of_columns_are_told_apart(folder) -> None:
    frame = FRAME.assign(sex=FRAME["sex"].astype("category"), day=pd.Timestamp("2026-03-01"))
    frame.to_parquet(folder / "kinds.parquet")
    frame.assign(day="today").to_parquet(folder / "kinds2.parquet")
    with pytest.raises(DataError, match=r"'day' holds text, but timestamp"):
        Table.parquet(f"{folder}/kinds*.parquet", "ill")
    assert Table.parquet(folder / "kinds.parquet", "ill").text_columns == {"sex"}


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_dask_frame_has_a_partition_for_each_file(folder, kind, dask_client) -> None:
    X, y = getattr(Table, kind)(folder, target="ill").to_dask()
    assert X.npartitions == y.npartitions == 2
    found, target = dask.compute(X, y)
    assert found["age"].tolist() == FRAME["age"].tolist() and target.tolist() == [1, 0, 1, 0]
    assert found["sex"].fillna("").tolist() == ["m", "f", "", "m"]


def test_a_file_that_breaks_after_it_was_opened_is_named_by_its_worker(
    tmp_path, dask_client
) -> None:
    rows = pd.DataFrame({"age": np.arange(300.0) % 50, "ill": np.arange(300) % 50 > 20})
    for number in range(3):
        rows.to_parquet(tmp_path / f"{number}.parquet")
    X, y = Table.parquet(tmp_path, target="ill").to_dask()
    (tmp_path / "1.parquet").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"1\.parquet"):
        GreedyMiserClassifier(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_weights_are_a_series_of_the_dask_frame(folder, kind, dask_client) -> None:
    X, y, weight = getattr(Table, kind)(folder, target="ill", weight="age").to_dask()
    assert X.columns.tolist() == ["sex"] and y.name == "ill"
    assert weight.compute().tolist() == FRAME["age"].tolist()


def test_a_dask_frame_has_rows(tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    FRAME[:0].to_parquet(tmp_path / "empty" / "0.parquet")
    with pytest.raises(DataError, match="0.parquet: there are no rows"):
        Table.parquet(tmp_path / "empty", target="ill").to_dask()
