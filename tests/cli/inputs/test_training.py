"""Training data: read once, checked before any learner starts, all problems at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty.cli.inputs.training import read_training_data
from thrifty.cli.options import TrainingOptions
from thrifty.errors import DataError, PriceError

FIT = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "-o", "m.thrifty",
       "--budget", "20")  # fmt: skip


def options(**given) -> TrainingOptions:
    default = {"table": Path("table.csv"), "target": "ill", "prices": None, "unit": None,
               "task": None, "qid": None, "groups": None, "drop": (), "scoring": None,
               "learners": ("greedy-miser",), "seed": 0}  # fmt: skip
    return TrainingOptions(**{**default, **given})


def test_the_data_are_read_and_the_learners_know_the_prices(folder, frame) -> None:
    data = read_training_data(options(prices=Path("prices.csv"), unit="CAD"))
    assert data.table.schema.names == ("age", "chol", "fbs", "sex")
    assert data.table.labels.tolist() == frame["ill"].tolist()
    assert (data.table.task, data.table.query, data.groups) == ("classification", None, None)
    assert data.table.prices.full == 11.5
    assert list(data.learners) == ["greedy-miser"]
    assert data.learners["greedy-miser"].prices is data.prices
    assert data.prices.unit == "CAD"


def test_a_single_problem_keeps_its_own_error(folder) -> None:
    (folder / "prices.csv").write_text("feature,price\nage,-1\n")
    with pytest.raises(PriceError, match="prices.csv"):
        read_training_data(options(prices=Path("prices.csv")))


def test_several_problems_become_one_error(folder) -> None:
    with pytest.raises(DataError, match="inputs: 2 problems"):
        read_training_data(options(scoring="acuracy", learners=("oracle",)))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"chol": np.nan}, ["'chol' has no value at all"]),
        ({"ill": "yes"}, ["only one class, 'yes'"]),
        ({"chol": ["abc", *range(239)]}, ["'chol'", "'abc' in row 0"]),
        ({"chol": [1.0, np.inf] * 120}, ["'chol' holds inf in row 1"]),
        ({"chol": np.nan, "age": [np.inf] * 240}, ["2 problems", "'chol'", "'age'"]),
        ({"name": [f"n{i} x" for i in range(240)], "ill": ["no", "yes"] * 120}, ["'name'"]),
    ],
    ids=["all-nan", "one-class", "text", "infinite", "two", "price"],
)
def test_an_unusable_table_is_reported(run, folder, table, columns, words, refused) -> None:
    table(**columns)
    refused(run(*FIT, "--prices", "prices.csv"), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("age,ill\n", ["there are no rows"]),
        ("ill\nyes\nno\n", ["there are no columns of features"]),
        ("age,ill\n1,yes\n2,no\n", ["too few rows"]),
    ],
)
def test_a_table_that_is_too_small_is_reported(run, folder, text, words, refused) -> None:
    (folder / "table.csv").write_text(text)
    refused(run(*FIT), *words)


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ("feature,price\nage,1\n", ["no price for 'chol'"]),
        ("feature,price\nage,-1\nchol,x\n", ["line 2", "negative", "line 3", "not a number"]),
        ("feature,price\nagee,1\n", ["did you mean 'age'?"]),
        ("feature,cost\n", ["unknown column 'cost'"]),
    ],
)
def test_unusable_prices_are_reported(run, folder, prices, words, refused) -> None:
    (folder / "prices.csv").write_text(prices)
    refused(run(*FIT, "--prices", "prices.csv"), *words)


def test_a_ranking_without_queries_is_reported(run, folder, refused) -> None:
    refused(run(*FIT, "--task", "ranking"), "ranking needs the query of each row")


def test_queries_for_another_task_are_reported(run, table, refused) -> None:
    table(q=np.repeat(np.arange(24), 10))
    result = run(*FIT, "--qid", "q", "--task", "classification")
    refused(result, "classification has no queries", "--groups")


def test_all_problems_are_reported_at_once(run, folder, table, refused) -> None:
    table(chol=np.inf, ill="yes")
    result = run(*FIT, "--prices", "prices.csv", "--scoring", "acuracy", "--learner", "oracle")
    refused(result, "4 problems", "'chol' holds inf", "only one class",
            "did you mean 'accuracy'", "['oracle'] are not for classification")  # fmt: skip


@pytest.mark.parametrize("prices", ["feature,price\nage,-1\n", "feature,price\nage,1\n"])
def test_wrong_prices_and_columns_are_reported_before_anything_slow_is_imported(
    folder, fresh, prices
) -> None:
    (folder / "prices.csv").write_text(prices)
    code = (
        "import sys; from click.testing import CliRunner; from thrifty.cli import main\n"
        f"result = CliRunner().invoke(main, {[*FIT, '--prices', 'prices.csv']!r})\n"
        "assert result.exit_code == 3 and 'prices' in result.stderr, result.output\n"
        "print(sorted({'pandas', 'sklearn', 'scipy', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=fresh, capture_output=True, text=True, cwd=folder
    )
    assert done.stdout == "[]\n", done.stderr


def test_a_dropped_column_may_be_in_the_price_list(folder) -> None:
    data = read_training_data(options(prices=Path("prices.csv"), drop=("chol", "fbs")))
    assert data.table.schema.names == ("age", "sex")
    assert data.table.prices.full == 1.5 and data.table.prices.group_names == ()


def test_a_price_list_that_covers_more_is_a_warning(run, folder) -> None:
    with open(folder / "prices.csv", "a") as file:
        file.write("weight,3,,\n")
    result = run(*FIT, "--prices", "prices.csv", "--drop", "sex")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("Warning: ") == 1
    assert "the table has no such column: 'weight'" in result.stderr


def test_suspicious_columns_are_warned_of_by_name(run, table) -> None:
    ill = np.where(np.arange(240) % 3, "yes", "no")
    table(ill=ill, row=np.arange(240), therapy=np.where(ill == "yes", "drug", "none"))
    result = run(*FIT)
    assert result.exit_code == 0, result.output
    assert "table.csv: column 'row' looks like an identifier" in result.stderr
    assert "table.csv: column 'therapy' alone predicts the target perfectly" in result.stderr
    quiet = run(*FIT, "--drop", "row", "--drop", "therapy")
    assert quiet.stderr.startswith("training ") and quiet.stderr.count("\n") == 2


def test_wrong_columns_and_wrong_prices_are_reported_at_once(run, folder, refused) -> None:
    (folder / "prices.csv").write_text("feature,cost\n")
    result = run(*FIT, "--drop", "sx", "--prices", "prices.csv")
    refused(result, "2 problems", "did you mean 'sex'?", "unknown column 'cost'")


@pytest.mark.parametrize("table", ["table.csv", "t.parquet"])
def test_a_wrong_target_does_not_hide_a_missing_price(run, folder, frame, refused, table) -> None:
    frame.to_parquet(folder / "t.parquet")
    (folder / "prices.csv").write_text("feature,price\nage,1\nfbs,1\nsex,1\n")
    wrong = ("fit", table, *FIT[2:], "--target", "il", "--prices", "prices.csv")
    result = run(*wrong, "--by", "sexx")
    refused(result, "did you mean 'ill'?", "did you mean 'sex'?", "no price for 'chol'")
    assert "no price for 'ill'" not in result.stderr  # it is what --target means


def test_a_header_with_mistakes_does_not_hide_a_missing_price(run, folder, refused) -> None:
    (folder / "table.csv").write_text(",age,age,chol,ill\n0,1,1,2,yes\n1,2,2,3,no\n")
    (folder / "prices.csv").write_text("feature,price\nage,1\n")
    refused(run(*FIT, "--prices", "prices.csv"), "a column has no name",
            "more than one column is named 'age'", "no price for 'chol'")  # fmt: skip


def test_a_table_is_read_once(run, folder, frame, monkeypatch) -> None:
    frame.assign(w=np.where(frame["ill"] == "yes", 2.0, 1.0)).to_csv("table.csv", index=False)
    reads = []

    def read_csv(path, *arguments, **settings):
        reads.append(str(path))
        return original(path, *arguments, **settings)

    original = pd.read_csv
    monkeypatch.setattr(pd, "read_csv", read_csv)
    result = run(*FIT, "--weight-column", "w", "--by", "sex")
    assert result.exit_code == 0, result.output
    assert reads == ["table.csv"]
    reads.clear()
    report = ("report", "m.thrifty", "table.csv", "--target", "ill", "-o", "p.html", "--by", "sex")
    assert run(*report).exit_code == 0
    assert reads == ["table.csv"]
