"""Reading tables: what a file says is taken literally, and what it does not say is not guessed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, load
from thrifty.cli.inputs.tables import (
    read_feature_table,
    read_labeled_rows,
    read_table,
    read_training_table,
)

FIT = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "-o", "m.thrifty",
       "--budget", "20")  # fmt: skip


def test_a_training_table_is_split_into_features_target_queries_and_groups(table) -> None:
    table(q=np.repeat(np.arange(24), 10), family=np.arange(240) // 5)
    read = read_training_table(Path("table.csv"), "ill", "q", "family", ["sex"])
    assert list(read.X.columns) == ["age", "chol", "fbs"]
    assert set(read.y) == {"yes", "no"}
    assert read.qid.tolist() == np.repeat(np.arange(24), 10).tolist()
    assert read.groups.tolist() == (np.arange(240) // 5).tolist()


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


# --- files as people have them -----------------------------------------------


def european(frame: pd.DataFrame) -> bytes:
    """A table as a European spreadsheet saves it."""
    return frame.to_csv(index=False, sep=";", decimal=",").encode("cp1252")


def test_a_european_table_is_the_same_table(run, folder, frame) -> None:
    expected = run(*FIT, "--prices", "prices.csv")
    (folder / "table.csv").write_bytes(european(frame))
    (folder / "prices.csv").write_text("feature;price\nage;1,0\nchol;5,0\nfbs;3,0\nsex;0,5\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thrifty.cli.inputs.tables.click.echo", lambda *_, **__: None)
        read = read_table(Path("table.csv"))
    pd.testing.assert_frame_equal(read, frame)
    result = run(*FIT, "--prices", "prices.csv")
    assert result.exit_code == expected.exit_code == 0
    first, *progress = result.stderr.splitlines()
    assert first == "table.csv: cells separated by semicolons, decimal commas"
    assert all(line.startswith("training ") for line in progress)
    prediction = run("predict", "m.thrifty", "table.csv")
    assert prediction.exit_code == 0 and len(prediction.stdout.split()) == 241


@pytest.mark.parametrize("name", ["table.csv", "table.tsv"])
def test_tabs_and_utf_16_are_recognized(folder, frame, capsys, name) -> None:
    frame.to_csv(folder / name, index=False, sep="\t", encoding="utf-16")
    pd.testing.assert_frame_equal(read_table(Path(name)), frame)
    assert capsys.readouterr().err == f"{name}: cells separated by tabs, encoded as UTF-16\n"


def test_another_encoding_is_a_warning(folder) -> None:
    (folder / "t.csv").write_bytes("größe,ill\n1,yes\n".encode("cp1252"))
    with pytest.warns(UserWarning, match=r"t.csv: not UTF-8 text, read as Windows-1252"):
        assert list(read_table(Path("t.csv")).columns) == ["größe", "ill"]


def test_dates_are_refused_by_name_with_the_remedy(run, table, refused) -> None:
    days = pd.date_range("2024-01-01", periods=240)
    table(visit=days, birth=days.strftime("%d.%m.%Y"))
    refused(run(*FIT), "2 problems", "column 'visit' holds dates or times, '2024-01-01' in row 0",
            "column 'birth' holds dates", "days since a fixed day, or drop it")  # fmt: skip
    assert run(*FIT, "--drop", "visit", "--drop", "birth").exit_code == 0


def test_dates_of_a_parquet_file_are_refused_too(run, folder, frame, refused) -> None:
    frame.assign(visit=pd.date_range("2024", periods=240)).to_parquet(folder / "t.parquet")
    refused(run("fit", "t.parquet", *FIT[2:]), "column 'visit' holds dates or times; convert them")


def test_more_than_255_categories_are_a_warning(run, table, folder, frame) -> None:
    labels = np.array([f"c{i:03}" for i in range(600)])
    big = pd.concat([frame] * 5, ignore_index=True).assign(city=np.tile(labels, 2))
    big.to_csv(folder / "table.csv", index=False)
    result = run(*FIT)
    assert result.exit_code == 0, result.output
    assert "column 'city' has 600 categories: the 254 most frequent are kept" in result.stderr
    big.assign(city="never seen").to_csv(folder / "new.csv", index=False)
    assert run("predict", "m.thrifty", "new.csv").stderr == ""


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
        ("age,ill\n", ["there are no rows below the header"]),
        ("a;b,c\n1;2,3\n", ["separated by commas or semicolons; put names with such in quotes"]),
    ],
)
def test_a_file_that_is_not_a_table_is_reported(run, folder, text, words, refused) -> None:
    (folder / "table.csv").write_text(text)
    refused(run(*FIT), *words)


def test_a_file_in_no_known_encoding_is_reported(run, folder, refused) -> None:
    (folder / "table.csv").write_bytes(b"alter,gr\x81\xffe\n")
    refused(run(*FIT), "neither UTF-8 nor Windows-1252 text; save the file as UTF-8")


def test_another_kind_of_file_is_reported(run, folder, refused) -> None:
    (folder / "table.txt").write_text("x")
    refused(run("fit", "table.txt", *FIT[2:]), "a .csv, a .tsv or a .parquet file")


def test_a_damaged_parquet_file_is_reported(run, folder, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1 no")
    refused(run("fit", "t.parquet", *FIT[2:]), "t.parquet: not a Parquet file")


def test_parquet_without_pyarrow_names_the_remedy(run, folder, monkeypatch, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("fit", "t.parquet", *FIT[2:])
    refused(result, "needs pyarrow: pip install 'thrifty[parquet]'")
