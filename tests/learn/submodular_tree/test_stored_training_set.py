"""Rows in a memory map: those of the same table in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd

from thrifty import Table
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.submodular_tree.stored_training_set import StoredTrainingSet


def test_it_is_the_training_set_of_the_same_rows(tmp_path):
    rows = pd.DataFrame({"b": [1.0, np.nan, 3.0], "a": ["x", "y", "x"], "y": [1.5, 2.5, 0.5]})
    rows[:2].to_parquet(tmp_path / "0.parquet")
    rows[2:].to_parquet(tmp_path / "1.parquet")
    table = Table.parquet(tmp_path, target="y")
    found = StoredTrainingSet.read_files("regression", table, None, np.random.RandomState(0))
    expected = TrainingSet.read("regression", rows[["b", "a"]], rows["y"])
    assert isinstance(found.X, np.memmap) and found.schema == expected.schema
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.value_ranges() == expected.value_ranges()
