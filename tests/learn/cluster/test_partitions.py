"""Partitions go by their files, where Dask's tasks name them."""

from __future__ import annotations

from pathlib import Path

import dask.dataframe as dd
import pandas as pd
import pytest

from thrifty import DataError, GreedyMiserClassifier, Table
from thrifty.learn.cluster.partitions import partition_names

ROWS = pd.DataFrame({"age": [k % 50 for k in range(200)], "ill": [k % 50 > 20 for k in range(200)]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, of each kind."""
    for k in range(3):
        ROWS.to_parquet(tmp_path / f"{k}.parquet")
        ROWS.to_csv(tmp_path / f"{k}.csv", index=False)
    return tmp_path


def names_in(frame: dd.DataFrame) -> list[str]:
    """Return the names as a fit sees them: of some columns, joined with another one."""
    joined = frame[["age"]].map_partitions(
        lambda X, y: X.assign(y=y.to_numpy()), frame["ill"], align_dataframes=False,
        enforce_metadata=False,
    )  # fmt: skip
    return partition_names(joined.to_delayed())


def test_partitions_go_by_their_files(folder) -> None:
    for kind, read in (("parquet", dd.read_parquet), ("csv", dd.read_csv)):
        expected = [f"{folder}/{k}.{kind}" for k in range(3)]
        assert names_in(read(f"{folder}/*.{kind}")) == expected
    X, _ = Table.parquet(folder, "ill").to_dask()
    assert partition_names(X.to_delayed()) == [f"{folder}/{k}.parquet" for k in range(3)]


def test_several_files_of_a_partition_and_several_partitions_of_a_file_are_numbered(folder) -> None:
    halves = names_in(dd.read_csv(f"{folder}/0.csv").repartition(npartitions=2))
    assert halves == [f"partition {k} of 2 ({folder}/0.csv)" for k in range(2)]
    (joined,) = names_in(dd.read_csv(f"{folder}/*.csv").repartition(npartitions=1))
    assert joined == f"partition 0 of 1 ({folder}/0.csv, {folder}/1.csv, {folder}/2.csv)"
    four = dd.concat([dd.read_csv(f"{folder}/*.csv"), dd.read_parquet(f"{folder}/0.parquet")])
    (name,) = names_in(four.repartition(npartitions=1))
    assert name.endswith(" and 1 more)")


def test_rows_in_memory_are_numbered(folder) -> None:
    frame = dd.from_pandas(ROWS, npartitions=2).assign(note="a.csv")
    assert names_in(frame) == ["partition 0 of 2", "partition 1 of 2"]
    assert partition_names([]) == []


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_broken_file_of_a_plain_frame_is_named(folder, kind, dask_client) -> None:
    frame = getattr(dd, f"read_{kind}")(f"{folder}/*.{kind}")
    whole = (folder / f"1.{kind}").read_bytes()
    (folder / f"1.{kind}").write_bytes(whole[:60] if kind == "parquet" else whole + b"1,2,3,4\n")
    with pytest.raises(DataError, match=rf"table: {folder}/1\.{kind} cannot be read: "):
        GreedyMiserClassifier(n_estimators=1).fit(frame[["age"]], frame["ill"])


def test_a_missing_target_is_named_with_the_file(folder, dask_client) -> None:
    ROWS.assign(ill=ROWS["ill"].astype(object).where(ROWS.index != 7)).to_parquet(
        folder / "2.parquet"
    )
    X, y = Table.parquet(folder, "ill").to_dask()
    with pytest.raises(
        DataError, match=rf"{folder}/2\.parquet: target 'ill' has no value in row 7"
    ):
        GreedyMiserClassifier(n_estimators=1).fit(X, y)
