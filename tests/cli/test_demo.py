"""`thrifty demo`: a tour of the commands that leaves a table, a model and a report behind."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from thrifty import load
from thrifty.cli.demo import demo


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """What the tour printed, and the folder that it wrote."""
    from click.testing import CliRunner

    from thrifty.cli import main

    folder = tmp_path_factory.mktemp("demo") / "tour" / "here"
    result = CliRunner().invoke(main, ["demo", "-o", str(folder)])
    assert result.exit_code == 0, result.output
    return result.stdout, folder


def test_every_command_of_the_tour_is_shown_and_run(tour) -> None:
    printed, folder = tour
    shown = re.findall(r"^\$ thrifty (\w+)", printed, re.MULTILINE)
    assert shown == ["check", "fit", "curve", "predict", "ask"]
    names = {path.name for path in folder.iterdir()}
    assert names == {"heart.csv", "prices.csv", "new.csv", "model.thrifty", "report.html",
                     "curve.svg", "predictions.csv"}  # fmt: skip
    assert load(folder / "model.thrifty").provenance["budget"] == 30
    assert "Turney (1995)" in printed and "CC BY 4.0" in printed


def test_the_walk_asks_several_questions_and_ends_with_a_receipt(tour) -> None:
    printed, folder = tour
    talk = printed[printed.index("$ thrifty ask") :]
    assert len(re.findall(r"^> \S", talk, re.MULTILINE)) >= 4
    assert re.search(r"^total +CAD [\d.]+", talk, re.MULTILINE)
    predicted = re.search(r"^prediction: (\w+)", talk, re.MULTILINE)[1]
    line = int(re.search(r"line (\d+) of", printed)[1])
    assert pd.read_csv(folder / "predictions.csv")["prediction"][line - 2] == predicted
    assert re.search(r"record says: disease (yes|no)", talk)


def test_what_the_tour_writes_is_ignored_by_git() -> None:
    (option,) = (each for each in demo.params if each.name == "output")
    root = Path(__file__).resolve().parents[2]
    assert f"/{option.default}/" in (root / ".gitignore").read_text().splitlines()


def test_new_patients_are_not_in_the_table(tour) -> None:
    _, folder = tour
    table, new = pd.read_csv(folder / "heart.csv"), pd.read_csv(folder / "new.csv")
    assert (len(table), len(new)) == (910, 10) and "disease" not in new
    features = list(new.columns)
    assert not set(map(tuple, new.fillna(-1).to_numpy())) & set(
        map(tuple, table[features].fillna(-1).to_numpy())
    )


def test_a_folder_that_is_a_file_exits_with_2(run, folder) -> None:
    result = run("demo", "-o", "table.csv")
    assert result.exit_code == 2
    assert "table.csv" in result.stderr


def test_a_command_that_fails_ends_the_tour(run, folder, monkeypatch) -> None:
    files = {"heart.csv": "age,disease\n" + "1,no\n" * 20, "heart-prices.csv": "feature\n"}
    monkeypatch.setattr("thrifty.data.heart_files", lambda: files)
    result = run("demo", "-o", "tour")
    assert result.exit_code == 3
    assert "$ thrifty check" in result.stdout and "$ thrifty fit" not in result.stdout
