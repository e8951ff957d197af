"""Reading tables: what a file says is taken literally, and what it does not say is not guessed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, load
from thrifty.cli.tables import (
    read_feature_table,
    read_labeled_rows,
    read_table,
    read_training_table,
)

FIT = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "-o", "m.thrifty",
       "--budget", "20")  # fmt: skip


def test_a_training_table_is_split_into_features_target_queries_and_groups(table) -> None:
    table(q=np.repeat(np.arange(24), 10), family=np.arange(240) // 5)
    X, y, qid, groups = read_training_table(Path("table.csv"), "ill", "q", "family", ["sex"])
    assert list(X.columns) == ["age", "chol", "fbs"]
    assert set(y) == {"yes", "no"}
    assert qid.tolist() == np.repeat(np.arange(24), 10).tolist()
    assert groups.tolist() == (np.arange(240) // 5).tolist()


def test_a_parquet_table_is_read(run, folder, frame) -> None:
    frame.to_parquet(folder / "table.parquet")
    pd.testing.assert_frame_equal(read_table(Path("table.parquet")), frame)
    assert run("fit", "table.parquet", *FIT[2:]).exit_code == 0


def test_text_columns_stay_text(folder) -> None:
    (folder / "t.csv").write_text("code,n\n01,1\n1,2\n")
    assert read_table(Path("t.csv"))["code"].tolist() == [1, 1]
    assert read_table(Path("t.csv"), text_columns=["code"])["code"].tolist() == ["01", "1"]


@pytest.mark.parametrize("labels", [(1, 2), (0.5, 1.5), (False, True), ("01", "1")])
def test_categories_get_the_labels_that_they_had_in_training(folder, labels) -> None:
    column = pd.Categorical.from_codes(np.arange(80) % 2, categories=list(labels))
    X = pd.DataFrame({"stage": column})
    model = GreedyMiserClassifier(n_estimators=2, min_samples_leaf=5).fit(X, np.arange(80) % 2)
    X.iloc[:2].to_csv(folder / "new.csv", index=False)
    cells = read_feature_table(model.predictor_.schema, Path("new.csv"))["stage"].tolist()
    assert cells == list(labels)
    assert [type(cell) for cell in cells] == [type(label) for label in labels]


def test_labeled_rows_keep_their_order_and_their_labels(model, frame) -> None:
    rows = read_labeled_rows(load(model), Path("table.csv"), "ill", None)
    assert rows.labels.tolist() == frame["ill"].tolist()
    assert rows.positions.tolist() == list(range(240)) and rows.query is None


# --- errors ------------------------------------------------------------------


def test_a_missing_target_is_reported_with_a_similar_name(run, folder, refused) -> None:
    result = run(*FIT, "--target", "il")
    refused(result, "no column 'il'", "did you mean 'ill'?")


def test_all_wrong_columns_are_reported_at_once(run, folder, refused) -> None:
    result = run(*FIT, "--drop", "sx", "--qid", "agge")
    refused(result, "'sx'", "did you mean 'sex'?", "'agge'", "did you mean 'age'?")


def test_missing_values_of_the_target_are_reported(run, table, refused) -> None:
    table(ill=[None, "no", "yes"] * 80)
    refused(run(*FIT, "--prices", "prices.csv"), "'ill' has no value in row 0 (80 such rows)")


def test_missing_values_in_several_columns_are_reported_at_once(run, table, refused) -> None:
    table(ill=[None, "no", "yes"] * 80, family=[1.0, np.nan, 2.0] * 80)
    result = run(*FIT, "--groups", "family")
    refused(result, "2 problems", "'ill' has no value in row 0", "'family' has no value in row 1")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the file is empty"]),
        ("age,ill\n1,yes,7\n", ["not a table"]),
        ("age,ill\n1,yes\n1,yes,7,8,9\n", ["not a table"]),
        ("age,age,ill\n1,2,yes\n", ["more than one column is named 'age'"]),
        (",age,ill\n0,1,yes\n", ["no name", "--drop 'Unnamed: 0'"]),
        ("age;ill\n1;yes\n", ["no column 'ill'", "not separated by commas"]),
    ],
)
def test_a_file_that_is_not_a_table_is_reported(run, folder, text, words, refused) -> None:
    (folder / "table.csv").write_text(text)
    refused(run(*FIT), *words)


def test_a_file_that_is_not_utf_8_is_reported(run, folder, refused) -> None:
    (folder / "table.csv").write_bytes("alter;größe\n".encode("latin-1"))
    refused(run(*FIT), "save the file as UTF-8")


def test_another_kind_of_file_is_reported(run, folder, refused) -> None:
    (folder / "table.txt").write_text("x")
    refused(run("fit", "table.txt", *FIT[2:]), "a .csv or a .parquet file")


def test_a_damaged_parquet_file_is_reported(run, folder, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1 no")
    refused(run("fit", "t.parquet", *FIT[2:]), "t.parquet: not a Parquet file")


def test_parquet_without_pyarrow_names_the_remedy(run, folder, monkeypatch, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("fit", "t.parquet", *FIT[2:])
    refused(result, "needs pyarrow: pip install 'thrifty[parquet]'")
