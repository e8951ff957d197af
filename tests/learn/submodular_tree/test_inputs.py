"""Rows in files: encoded when they are read, with the same trees as rows in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import DataError, SubmodularTreeClassifier, SubmodularTreeRegressor, Table
from thrifty.bundle import Schema
from thrifty.learn.encoding import standardize_blockwise
from thrifty.learn.submodular_tree import inputs as module
from thrifty.learn.submodular_tree.inputs import StoredInputs, apply_by_rows, select_inputs

N = 700
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 4)).round(2), columns=list("dcba"))
X["s"] = RNG.choice(["x", "y", "zz"], N)
X.loc[::7, "d"] = np.nan
SCORE = (X["a"] + (X["s"] == "x") + X["a"].where(X["a"] > 0, 0) * X["b"]).to_numpy()
LABELS = np.array(["ill", "unsure", "well"])[np.searchsorted([-0.5, 0.5], SCORE)]
PRICES = {"a": 1, "b": 2, "c": 1, "d": 1, "s": 1}
CASES = {
    "two classes": (SubmodularTreeClassifier, np.where(SCORE > 0, "ill", "well"), {}),
    "three classes": (SubmodularTreeClassifier, LABELS, {"class_weight": "balanced"}),
    "soft": (SubmodularTreeClassifier, LABELS, {"routing": "soft"}),
    "numbers": (SubmodularTreeRegressor, SCORE, {}),
}
SETTINGS = {"prices": PRICES, "node_budget": 2.0, "max_depth": 3, "min_samples_leaf": 20}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make small batches and blocks, and a folder of its own for temporary files."""
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 77)
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 64)
    monkeypatch.setattr("thrifty.learn.submodular_tree.grower.MAX_CALIBRATION_ROWS", 100)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def write(folder: Path, target: np.ndarray) -> Table:
    """Write the rows and a target into two files."""
    for number, rows in enumerate((slice(None, 300), slice(300, None))):
        X[rows].assign(y=target[rows]).to_parquet(folder / f"{number}.parquet")
    return Table.parquet(folder, target="y")


def outputs(model) -> np.ndarray:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


@pytest.mark.parametrize("case", CASES)
def test_a_tree_from_files_is_that_of_the_same_rows_in_memory(case, tmp_path):
    estimator, target, settings = CASES[case]
    table = write(tmp_path, target)
    from_files = estimator(**SETTINGS, **settings).fit(table)
    in_memory = estimator(**SETTINGS, **settings).fit(X, target)
    assert len(in_memory.model_.left) > 1
    np.testing.assert_allclose(outputs(from_files), outputs(in_memory), rtol=1e-10)
    np.testing.assert_array_equal(from_files.used(X), in_memory.used(X))
    np.testing.assert_allclose(from_files.model_.weights, in_memory.model_.weights, rtol=1e-10)
    assert from_files.predictor_.provenance == in_memory.predictor_.provenance
    np.testing.assert_array_equal(from_files.purchase_rates_, in_memory.purchase_rates_)


def test_a_path_from_files_is_that_of_the_same_rows_in_memory(tmp_path):
    estimator, target, _ = CASES["two classes"]
    table = write(tmp_path, target)
    model = estimator(PRICES, max_depth=2, min_samples_leaf=20)
    from_files = list(model.path(table, validation=(X, target)))
    in_memory = list(model.path(X, target, validation=(X, target)))
    assert len(in_memory) > 3
    assert [point.knob for point in from_files] == [point.knob for point in in_memory]
    np.testing.assert_allclose([p.bill for p in from_files], [p.bill for p in in_memory])


def test_the_temporary_file_is_gone_at_once(tmp_path):
    table = write(tmp_path, CASES["numbers"][1])
    SubmodularTreeRegressor(**SETTINGS).fit(table)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path, monkeypatch):
    table = write(tmp_path, CASES["numbers"][1])
    usage = type("Usage", (), {"free": 100})()
    monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match="no room for 1 MB of the table"):
        SubmodularTreeRegressor(**SETTINGS).fit(table)


def test_a_table_of_one_row_is_refused(tmp_path):
    X[:1].assign(y=1.0).to_parquet(tmp_path / "0.parquet")
    with pytest.raises(DataError, match="1 rows in 1 files; give at least 2 rows"):
        SubmodularTreeRegressor().fit(Table.parquet(tmp_path, target="y"))


def test_stored_inputs_are_those_of_a_matrix():
    rows = RNG.normal(size=(200, 3))
    encoding = standardize_blockwise(Schema.of(rows), rows, None)
    stored, matrix = StoredInputs(rows, encoding), encoding.apply(rows)
    some, columns = np.arange(5, 190, 2), np.array([0, 2])
    assert stored.shape == matrix.shape
    for these in (None, some):
        part, expected = (select_inputs(Z, these, columns) for Z in (stored, matrix))
        assert isinstance(part, StoredInputs)
        np.testing.assert_array_equal(part[3:7], expected[3:7])
        np.testing.assert_array_equal(part[np.array([9, 2])], expected[[9, 2]])
        summed = [apply_by_rows(lambda z: z.sum(axis=1), Z) for Z in (part, expected)]
        np.testing.assert_array_equal(*summed)
