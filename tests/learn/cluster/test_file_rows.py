"""Rows of files on a cluster: those that are binned in one place, in the same bins."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import Table
from thrifty.learn.cluster.file_rows import share_files, workers_see
from thrifty.learn.cluster.training_set import join_rows
from thrifty.learn.sampled_training_set import SampledTrainingSet

RNG = np.random.default_rng(0)
ROWS = pd.DataFrame({"b": RNG.normal(size=90), "a": RNG.integers(0, 9, 90)})
ROWS["s"] = np.where(np.arange(90) < 80, RNG.choice(["x", "y"], 90), "rare")
ROWS["y"] = np.where(np.arange(90) < 85, RNG.choice(["ill", "well"], 90), "other")
ROWS["w"] = np.where(np.arange(90) % 7 == 0, 0.0, RNG.uniform(0.5, 2.0, 90))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files; a category and a class are in the last one only."""
    for k, rows in enumerate((slice(0, 40), slice(40, 70), slice(70, 90))):
        ROWS[rows].to_parquet(tmp_path / f"{k}.parquet")
        ROWS[rows].to_csv(tmp_path / f"{k}.csv", index=False)
    return tmp_path


def first_rows(whole: SampledTrainingSet, n: int) -> SampledTrainingSet:
    """Keep the first rows; forget categories and classes that none of them has."""
    part = whole.take(np.flatnonzero(whole.numbers < n))
    schema = whole.schema.present_in(part.X)
    part = replace(part, schema=schema, X=schema.recode(part.X, whole.schema))
    if whole.classes is None:
        return part
    kept, codes = np.unique(part.y, return_inverse=True)
    return replace(part, y=codes, classes=whole.classes[kept])


@pytest.mark.filterwarnings("ignore:table. .* rows of class")
@pytest.mark.parametrize(
    ("kind", "target", "columns"),
    [
        ("parquet", "y", {"drop": ["w"]}),
        ("csv", "y", {"weight": "w"}),
        ("parquet", "b", {"drop": ["y"], "weight": "w"}),
    ],
)
def test_rows_and_bins_are_those_of_one_place(folder, kind, target, columns, dask_client):
    table = getattr(Table, kind)(folder, target, **columns)
    task = "classification" if target == "y" else "regression"
    whole = SampledTrainingSet.draw(task, table, None, np.random.RandomState(0))
    train = first_rows(whole, 60)
    held_out = np.array([3, 50])
    expected, found = train.all_rows(held_out), share_files(train, held_out, dask_client)
    bins, codes, weight = join_rows(dask_client.gather(found.rows), None)
    np.testing.assert_array_equal(bins, expected.binned.bins[0])
    np.testing.assert_array_equal(codes, expected.y)
    assert len(found) == len(expected) and found.binned.n_rows == expected.binned.n_rows
    if weight is None:
        assert expected.weight is None and not found.is_weighted
    else:
        np.testing.assert_array_equal(weight, expected.weight)
    if task == "classification":
        np.testing.assert_array_equal(found.class_counts, np.bincount(expected.y))
        for k, (low, high) in enumerate(found.weight_range):
            own = expected.weights[expected.y == k]
            assert (low, high) == (own.min(), own.max())


def test_files_that_workers_do_not_see_are_found_out(folder, dask_client):
    table = Table.parquet(folder, "y")
    assert workers_see(dask_client, table)
    (folder / "1.parquet").unlink()
    assert not workers_see(dask_client, table)
