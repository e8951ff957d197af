"""Tables in folders, patterns and long files on the command line."""

from __future__ import annotations

import json
import re
import tempfile

import numpy as np
import pandas as pd
import pytest

import thrifty.cli.inputs.long_tables as module
from thrifty import load
from thrifty.cli.inputs.long_tables import is_long, open_table
from thrifty.errors import DataError

FIT = ("--target", "ill", "--budget", "20", "--learner", "greedy-miser", "-o", "m.thrifty")


@pytest.fixture
def parts(folder, frame, monkeypatch):
    """A folder of two Parquet files, of which 150 rows are drawn."""
    monkeypatch.setattr("thrifty.learn.long_training_set.SAMPLE", 150)
    (folder / "parts").mkdir()
    weights = np.where(np.arange(len(frame)) % 2, 1.0, 2.0)
    for name, rows in (("0", slice(0, 140)), ("1", slice(140, None))):
        frame[rows].assign(w=weights[rows]).to_parquet(folder / "parts" / f"{name}.parquet")
    return folder / "parts"


@pytest.mark.parametrize("where", ["parts", "parts/*.parquet"])
def test_a_folder_or_a_pattern_is_trained_on(run, parts, where) -> None:
    result = run("fit", where, *FIT, "--drop", "w", "--prices", "prices.csv")
    assert result.exit_code == 0, result.output
    steps = [line.split(" ... ")[0] for line in result.stderr.splitlines()]
    assert [steps[0], steps[2]] == ["reading files", "training on all rows"]
    text = " ".join(result.stdout.split())
    assert "150 of 240 rows were drawn to compare models and to test one." in text
    assert re.search(
        r"trained on 180 rows: all but those that models were compared or tested", text
    )
    assert load("m.thrifty").provenance["refit_rows"] == 180


def test_weights_costs_and_groups_of_features(run, parts) -> None:
    (parts.parent / "costs.csv").write_text("true,predicted,cost\nyes,no,50\nno,yes,10\n")
    options = ("--weight-column", "w", "--costs", "costs.csv", "--by", "sex", "--json")
    result = run("fit", "parts", *FIT, *options)
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert facts["settings"]["features"] == 4 and facts["total"] is not None


def test_a_long_file_is_drawn_from(run, parts, frame, monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_VALUES", 200)
    frame.to_parquet("long.parquet")
    for name in ("long.parquet", "table.csv"):
        result = run("fit", name, *FIT)
        assert result.exit_code == 0, result.output
        assert result.stderr.startswith("reading files")


def test_which_tables_are_long(folder, frame, monkeypatch) -> None:
    table = folder / "table.csv"
    frame.to_parquet(folder / "table.parquet")
    assert not is_long(table) and not is_long(folder / "table.parquet")
    monkeypatch.setattr(module, "MAX_VALUES", 1199)  # 240 rows of five columns
    assert is_long(table) and is_long(folder / "table.parquet")
    monkeypatch.setattr(module, "MAX_VALUES", 1300)
    assert not is_long(table) and not is_long(folder / "table.parquet")
    assert is_long(folder) and is_long(folder / "*.csv")


def test_two_kinds_of_files_and_none_are_refused(folder, frame) -> None:
    frame.to_parquet(folder / "table.parquet")
    with pytest.raises(DataError, match="both Parquet and CSV files; name those"):
        open_table(folder, "ill", [])
    (folder / "empty").mkdir()
    with pytest.raises(DataError, match="no Parquet and no CSV file; check the path"):
        open_table(folder / "empty", "ill", [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--groups", "sex"), "--groups: the rows of a long table are not kept together"),
        (("--task", "ranking"), "a ranking needs its rows in memory"),
        (("--by", "w", "--drop", "w"), "column 'w' is no feature"),
        (("--drop", "w", "--scoring", "nonsense"), "nonsense"),
        (("--drop", "w", "--drop", "ill", "--costs", "costs.csv", "--target", "chol"),
         "regression has no classes"),
    ],
)  # fmt: skip
def test_what_a_long_table_cannot_do_is_refused(run, parts, files, options, words) -> None:
    (parts.parent / "costs.csv").write_text("true,predicted,cost\nyes,no,50\n")
    before = files()
    result = run("fit", "parts", *FIT, *options)
    assert result.exit_code == 3, result.output
    assert words in result.stderr and "Traceback" not in result.stderr
    assert files() == before


def test_a_pattern_without_files_is_a_usage_error(run, folder) -> None:
    result = run("fit", "nothing/*.csv", *FIT)
    assert result.exit_code == 2 and "No file matches 'nothing/*.csv'" in result.stderr


def test_bad_rows_are_named_and_nothing_is_left(run, parts, frame, files, tmp_path) -> None:
    before = files()
    bad = frame[140:].assign(w=1.0)
    bad["ill"] = bad["ill"].where(np.arange(len(bad)) != 5)
    bad.to_parquet(parts / "1.parquet")
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code == 3 and "Traceback" not in result.stderr
    assert "1.parquet: target 'ill' has no value in row 5; drop such rows" in result.stderr
    pd.DataFrame({"age": ["x"], "ill": ["no"]}).to_parquet(parts / "2.parquet")
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code == 3
    assert "2.parquet: column 'age' holds text, but numbers in" in result.stderr
    assert files() == before


def test_files_that_cannot_be_used_are_named(run, parts, frame, files, monkeypatch) -> None:
    before = files()
    frame.drop(columns="age").assign(w=1.0).to_parquet(parts / "2.parquet")
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code == 3
    assert "parts/2.parquet: there is no column 'age', as in parts/0.parquet" in result.stderr
    (parts / "2.parquet").write_bytes((parts / "1.parquet").read_bytes()[:-9])
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code == 3 and "parts/2.parquet: not a Parquet file" in result.stderr

    def refuse(path: str) -> list[str]:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("os.listdir", refuse)
    for where in ("parts", "parts/2025-*.parquet"):
        result = run("fit", where, *FIT)
        assert result.exit_code == 3
        assert f"{where}: the folder cannot be read: Permission denied" in result.stderr
    monkeypatch.undo()
    assert files() == before


def test_too_little_room_for_all_rows_is_found_before_training(run, parts, monkeypatch) -> None:
    usage = type("Usage", (), {"free": 10})
    monkeypatch.setattr("thrifty.learn.long_training_set.shutil.disk_usage", lambda folder: usage)
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code == 1 and "no room for 1 MB of the table" in result.stderr
    assert "training" not in result.stderr


def test_a_full_disk_while_bins_are_written(run, parts, files, monkeypatch, tmp_path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    before = files()

    def full(file, part, folder) -> None:
        raise OSError(28, "no room for 1 MB of bins of the table", folder)

    monkeypatch.setattr("thrifty.learn.long_training_set.append_part", full)
    result = run("fit", "parts", *FIT, "--drop", "w")
    assert result.exit_code != 0 and "no room for" in result.stderr
    assert "Traceback" not in result.stderr
    assert files() == before and not list(temporary.iterdir())
