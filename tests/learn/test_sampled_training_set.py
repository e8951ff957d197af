"""Rows drawn from files: which they are, and what all others become."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty.learn.long_training_set as module
from thrifty import Table
from thrifty.learn.sampled_training_set import SampledTrainingSet

N = 300
RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=N), "s": RNG.choice(["x", "y", "z"], N)})
Y = np.where(X["a"] > 0, "yes", "no")
W = np.where(np.arange(N) % 10 == 3, 0.0, 1.5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files, of which 100 rows are drawn."""
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 70)
    monkeypatch.setattr(module, "SAMPLE", 100)
    for name, rows in (("0", slice(0, 180)), ("1", slice(180, N))):
        X[rows].assign(y=Y[rows], w=W[rows]).to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def draw(folder: Path, report=None, **columns) -> SampledTrainingSet:
    table = Table.parquet(folder, "y", **columns)
    return SampledTrainingSet.draw(
        "classification", table, {"a": 2.0, "s": 1.0}, np.random.RandomState(1), report
    )


def test_rows_are_drawn_by_their_numbers(folder) -> None:
    shares: list[float] = []
    train = draw(folder, shares.append, drop=["w"])
    assert len(train) == 100 and train.has_others
    np.testing.assert_array_equal(train.X[:, 0], X["a"].to_numpy()[train.numbers])
    np.testing.assert_array_equal(train.labels, Y[train.numbers])
    assert shares == sorted(shares) and shares[-1] == 1.0
    X.assign(y=Y, w=W).to_parquet(folder / "0.parquet")  # one file instead of two
    (folder / "1.parquet").unlink()
    np.testing.assert_array_equal(draw(folder, drop=["w"]).numbers, train.numbers)


def test_a_part_of_the_rows_keeps_their_numbers(folder) -> None:
    train = draw(folder, drop=["w"])
    some = train.sample(np.arange(0, 100, 2))
    np.testing.assert_array_equal(some.numbers, train.numbers[::2])
    np.testing.assert_array_equal(some.drawn, train.numbers)


def test_all_rows_but_those_held_out_are_binned(folder) -> None:
    train = draw(folder, weight="w")
    assert not (train.numbers % 10 == 3).any()
    held_out = train.numbers[:30]
    rows = train.all_rows(held_out)
    expected = np.setdiff1d(np.flatnonzero(W), held_out)
    assert len(rows) == len(expected) == 240
    np.testing.assert_array_equal(rows.labels, Y[expected])
    np.testing.assert_array_equal(rows.weight, W[expected])
    own = rows.binned.bins_of(train.schema.encode(X.iloc[expected]))
    np.testing.assert_array_equal(rows.binned.bins[0, :, :240], own)


def test_classes_and_categories_that_were_not_drawn(folder) -> None:
    train = draw(folder, drop=["w"])
    absent = int(np.setdiff1d(np.arange(N), train.numbers)[0])
    labels, cells = Y.astype(object), X.copy()
    labels[absent] = "rare"
    cells.loc[absent + 1, "s"] = "new"
    cells.assign(y=labels, w=W).to_parquet(folder / "0.parquet")
    (folder / "1.parquet").unlink()
    train = draw(folder, drop=["w"])
    assert list(train.classes) == ["no", "yes"]
    with pytest.warns(UserWarning, match=r"1 rows of class \['rare'\] are left out"):
        rows = train.all_rows(train.numbers[:0])
    assert len(rows) == N - 1
    place = list(train.schema.names).index("s")
    assert rows.binned.bins[0, place, absent] == 255  # as a model reads an unknown category


def test_a_short_table_has_no_others(folder, monkeypatch) -> None:
    monkeypatch.setattr(module, "SAMPLE", 1000)
    train = draw(folder, drop=["w"])
    assert len(train) == N and not train.has_others
