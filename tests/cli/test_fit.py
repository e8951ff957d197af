"""`thrifty fit`: a model file or a clear refusal, and nothing in between."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from thrifty import load

# One learner, for speed; one test lets all race.
BARE = ("fit", "table.csv", "--target", "ill", "--learner", "greedy-miser", "-o", "m.thrifty")
FIT = (*BARE, "--budget", "20")


def test_a_model_is_learnt_and_told(run, folder) -> None:
    result = run(*FIT, "--prices", "prices.csv", "--unit", "CAD")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert "classification (guessed): 4 features, CAD 11.50 for all" in result.stdout
    assert "% of the price" in result.stdout and "model: m.thrifty" in result.stdout
    predictor = load("m.thrifty")
    assert predictor.schema.names == ("age", "chol", "fbs", "sex")
    assert predictor.prices.unit == "CAD"


def test_the_savings_are_told_against_doing_without_prices(run, folder) -> None:
    told = run(*BARE, "--budget", "8", "--prices", "prices.csv").stdout
    savings, frontier = told.split("the points that no other beats")
    (chosen,) = re.findall(r"chosen: greedy-miser +[\d.]+ +0\.\d{4} +([\d.]+) %", savings)
    assert float(chosen) > 0
    assert re.search(r"all features fetched +11\.50 +0\.\d{4} +0\.0 %", savings)
    assert "plain boosting" in savings and "greedy-miser *" in frontier


def test_without_a_name_all_learners_race(run, folder) -> None:
    told = json.loads(run(*BARE[:4], *BARE[6:], "--budget", "8", "--json").stdout)
    assert [lap["learner"] for lap in told["laps"]] == ["greedy-miser", "budget-forest", "ladder"]


def test_a_learner_that_had_no_time_is_told(run, folder) -> None:
    names = ("--learner", "budget-forest", "--time-limit", "1e-9")
    result = run(*FIT, *names)
    assert "budget-forest did not run: no time left" in result.stdout


def test_a_quality_is_reached_by_the_cheapest(run, folder) -> None:
    told = json.loads(run(*BARE, "--quality", "0.7", "--json").stdout)
    chosen = told["chosen"]["validation"]
    assert chosen["quality"] >= 0.7
    cheaper = [p for p in told["points"] if p["bill"] < chosen["bill"]]
    assert cheaper and all(point["quality"] < 0.7 for point in cheaper)
    asked = told["asked"]
    assert (asked["quality"], asked["budget"], asked["confidence"]) == (0.7, None, None)
    assert told["title"] == "ill at a quality"


def test_no_example_costs_more_than_the_cap(run, folder, frame) -> None:
    assert run(*FIT, "--cap", "6.5", "--prices", "prices.csv").exit_code == 0
    predictor = load("m.thrifty")
    assert predictor.ceiling <= 6.5 and 0 < predictor.bill(frame).max() <= 6.5


def test_the_promise_is_the_one_that_was_asked_for(run, folder) -> None:
    def asked(*options):
        told = json.loads(run(*FIT, *options, "--json").stdout)
        return told["asked"]["confidence"]

    assert asked() == 0.95
    assert asked("--confidence", "0.8") == 0.8
    assert asked("--no-promise") is None


def test_the_scoring_is_that_which_was_asked_for(run, folder) -> None:
    told = json.loads(run(*FIT, "--scoring", "roc_auc", "--json").stdout)
    assert told["asked"]["metric"] == "roc_auc"
    assert load("m.thrifty").provenance["metric"] == "roc_auc"


def test_rows_of_a_group_stay_together_and_their_column_is_no_feature(run, table) -> None:
    table(family=np.arange(240) // 10)
    told = json.loads(run(*FIT, "--groups", "family", "--json").stdout)
    assert "family" not in load("m.thrifty").schema.names
    assert all(size % 10 == 0 for size in told["asked"]["rows"].values())


def test_json_is_all_that_is_printed(run, folder) -> None:
    result = run(*FIT, "--prices", "prices.csv", "--json", "--report", "r.html")
    told = json.loads(result.stdout)
    assert result.stderr == ""
    assert told["model"] == "m.thrifty" and told["report"] == "r.html"
    assert told["asked"]["task"] == "classification"
    assert told["chosen"]["validation"]["bill"] <= 20


def test_a_report_is_written(run, folder) -> None:
    assert run(*FIT, "--report", "r.html").exit_code == 0
    html = (folder / "r.html").read_text()
    assert "ill under a budget" in html and "Every feature was priced at 1." in html


def test_the_seed_decides_the_file(run, folder) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(*FIT, "-o", name, "--seed", seed)
    a, b, c = ((folder / name).read_bytes() for name in "abc")
    assert a == b != c


def test_columns_are_dropped(run, folder) -> None:
    assert run(*FIT, "--drop", "sex", "--drop", "age").exit_code == 0
    assert load("m.thrifty").schema.names == ("chol", "fbs")


def test_values_are_learnt(run, table) -> None:
    table(ill=np.linspace(0, 1, 240))
    told = json.loads(run(*FIT, "--json").stdout)
    assert (told["asked"]["task"], told["asked"]["guessed"]) == ("regression", True)
    assert load("m.thrifty").classes is None


def test_queries_are_ranked(run, table) -> None:
    table(ill=np.arange(240) % 3, q=np.repeat(np.arange(24), 10))
    told = json.loads(run(*FIT, "--qid", "q", "--json").stdout)
    assert told["asked"]["task"] == "ranking"
    assert "q" not in load("m.thrifty").schema.names


def test_a_parquet_table_is_read(run, folder, frame) -> None:
    frame.to_parquet(folder / "table.parquet")
    assert run("fit", "table.parquet", *FIT[2:]).exit_code == 0


def test_a_toml_list_tells_its_unit(run, folder) -> None:
    prices = "unit = 'ms'\n[prices]\nage = 1\nchol = 2\nfbs = 3\nsex = 4\n"
    (folder / "prices.toml").write_text(prices)
    assert run(*FIT, "--prices", "prices.toml").exit_code == 0
    assert load("m.thrifty").prices.unit == "ms"


def test_a_budget_that_buys_nothing_says_so(run, folder) -> None:
    result = run(*BARE, "--budget", "0.1")
    assert result.exit_code == 0
    assert "nothing is bought" in result.stdout


# --- 2: usage ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--budget", "-1"), "not in the range"),
        (("--budget", "nan"), "not a finite number"),
        (("--budget", "inf"), "not a finite number"),
        (("--budget", "ten"), "not a valid float"),
        (("--quality", "0.9"), "Give either --budget or --quality"),
        (("--confidence", "0.9", "--no-promise"), "Give either --confidence or --no-promise"),
        (("--confidence", "1"), "not in the range"),
        (("--cap", "-1"), "not in the range"),
        (("--time-limit", "0"), "not in the range"),
        (("--drop", "ill"), "'ill' is named by --target and by --drop"),
        (("--groups", "ill"), "'ill' is named by --target and by --groups"),
        (("--task", "clustering"), "clustering"),
        (("--prices", "absent.csv"), "does not exist"),
        (("-o", "absent/m.thrifty"), "There is no folder 'absent'; make it first"),
        (("-o", "."), "is a directory"),
        (("--report", "absent/r.html"), "There is no folder"),
        (("-o", "table.csv"), "'table.csv' is named twice"),
        (("-o", "x", "--report", "x"), "'x' is named twice"),
    ],
)
def test_a_wrong_option_is_told_before_any_work(run, folder, arguments, words, files) -> None:
    before = files()
    result = run(*FIT, *arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert files() == before


def test_neither_budget_nor_quality_is_told(run, folder, refused) -> None:
    refused(run(*BARE), "Give either --budget or --quality", code=2)


def test_a_promise_without_a_budget_is_told(run, folder, refused) -> None:
    result = run(*BARE, "--quality", "0.7", "--confidence", "0.9")
    refused(result, "go with --budget", code=2)


def test_a_folder_that_may_not_be_written_to_is_told_before_any_work(
    run, folder, monkeypatch
) -> None:
    monkeypatch.setattr("thrifty.cli.outputs.os.access", lambda path, mode: False)
    result = run(*FIT)
    assert result.exit_code == 2
    assert "is not writable" in result.stderr


# --- 3: bad data or prices ---------------------------------------------------


def test_a_missing_target_is_told_with_the_one_that_was_meant(run, folder, refused) -> None:
    result = run(*FIT, "--target", "il")
    refused(result, "no column 'il'", "did you mean 'ill'?")


def test_all_wrong_columns_are_told_at_once(run, folder, refused) -> None:
    result = run(*FIT, "--drop", "sx", "--qid", "agge")
    refused(result, "'sx'", "did you mean 'sex'?", "'agge'", "did you mean 'age'?")


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"chol": np.nan}, ["'chol' has no value at all"]),
        ({"ill": "yes"}, ["only one class, 'yes'"]),
        ({"chol": ["abc", *range(239)]}, ["'chol'", "'abc' in row 0"]),
        ({"chol": [1.0, np.inf] * 120}, ["'chol' holds inf in row 1"]),
        ({"ill": [None, "no", "yes"] * 80}, ["'ill' has no value in row 0 (80 such rows)"]),
        ({"chol": np.nan, "age": [np.inf] * 240}, ["2 problems", "'chol'", "'age'"]),
        ({"name": [f"n{i} x" for i in range(240)], "ill": ["no", "yes"] * 120}, ["'name'"]),
    ],
    ids=["all-nan", "one-class", "text", "infinite", "gap", "two", "price"],
)
def test_a_table_that_cannot_be_used_is_told(run, folder, table, columns, words, refused) -> None:
    table(**columns)
    refused(run(*FIT, "--prices", "prices.csv"), *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["the file is empty"]),
        ("age,ill\n", ["0 sample(s)"]),
        ("ill\nyes\nno\n", ["0 feature(s)"]),
        ("age,ill\n1,yes\n2,no\n", ["too few rows"]),
        ("age,ill\n1,yes,7\n", ["not a table"]),
        ("age,ill\n1,yes\n1,yes,7,8,9\n", ["not a table"]),
        ("age,age,ill\n1,2,yes\n", ["more than one column is named 'age'"]),
        (",age,ill\n0,1,yes\n", ["no name", "--drop 'Unnamed: 0'"]),
        ("age;ill\n1;yes\n", ["no column 'ill'", "not separated by commas"]),
    ],
)
def test_a_file_that_is_no_table_is_told(run, folder, text, words, refused) -> None:
    (folder / "table.csv").write_text(text)
    refused(run(*FIT), *words)


def test_a_file_that_is_not_utf_8_is_told(run, folder, refused) -> None:
    (folder / "table.csv").write_bytes("alter;größe\n".encode("latin-1"))
    refused(run(*FIT), "save the file as UTF-8")


def test_another_kind_of_file_is_told(run, folder, refused) -> None:
    (folder / "table.txt").write_text("x")
    refused(run("fit", "table.txt", *FIT[2:]), "a .csv or a .parquet file")


def test_a_damaged_parquet_file_is_told(run, folder, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1 no")
    refused(run("fit", "t.parquet", *FIT[2:]), "t.parquet: not a Parquet file")


def test_parquet_without_pyarrow_names_the_remedy(run, folder, monkeypatch, refused) -> None:
    (folder / "t.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = run("fit", "t.parquet", *FIT[2:])
    refused(result, "needs pyarrow: pip install 'thrifty[parquet]'")


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ("feature,price\nage,1\n", ["no price for 'chol'"]),
        ("feature,price\nage,-1\nchol,x\n", ["line 2", "negative", "line 3", "not a number"]),
        ("feature,price\nagee,1\n", ["did you mean 'age'?"]),
        ("feature,cost\n", ["unknown column 'cost'"]),
    ],
)
def test_prices_that_cannot_be_used_are_told(run, folder, prices, words, refused) -> None:
    (folder / "prices.csv").write_text(prices)
    refused(run(*FIT, "--prices", "prices.csv"), *words)


def test_a_ranking_without_queries_is_told(run, folder, refused) -> None:
    refused(run(*FIT, "--task", "ranking"), "ranking needs the query of each row")


def test_queries_for_another_task_are_told(run, table, refused) -> None:
    table(q=np.repeat(np.arange(24), 10))
    result = run(*FIT, "--qid", "q", "--task", "classification")
    refused(result, "classification has no queries", "--groups")


def test_all_that_is_wrong_is_told_at_once(run, folder, table, refused) -> None:
    table(chol=np.inf, ill="yes")
    (folder / "prices.csv").write_text("feature,price\nage,-1\nchol,x\n")
    result = run(*FIT, "--prices", "prices.csv", "--scoring", "acuracy", "--learner", "oracle")
    refused(result, "5 problems", "'chol' holds inf", "only one class", "line 2", "line 3",
            "did you mean 'accuracy'", "['oracle'] are not for classification")  # fmt: skip


def test_wrong_columns_and_wrong_prices_are_told_at_once(run, folder, refused) -> None:
    (folder / "prices.csv").write_text("feature,cost\n")
    result = run(*FIT, "--drop", "sx", "--prices", "prices.csv")
    refused(result, "2 problems", "did you mean 'sex'?", "unknown column 'cost'")


def test_gaps_in_several_columns_are_told_at_once(run, table, refused) -> None:
    table(ill=[None, "no", "yes"] * 80, family=[1.0, np.nan, 2.0] * 80)
    result = run(*FIT, "--groups", "family")
    refused(result, "2 problems", "'ill' has no value in row 0", "'family' has no value in row 1")


# --- 4 and 1 -----------------------------------------------------------------


def test_no_model_within_the_budget_is_4(run, folder, monkeypatch, refused) -> None:
    from thrifty import GreedyMiserClassifier

    path = GreedyMiserClassifier.path

    def dear(self, *args, **kwargs):
        return (point for point in path(self, *args, **kwargs) if point.bill > 0)

    monkeypatch.setattr(GreedyMiserClassifier, "path", dear)
    result = run(*BARE, "--budget", "0.5")
    refused(result, "the cheapest", "costs 1.00", code=4)


def test_a_quality_that_nothing_reaches_is_4(run, folder, refused) -> None:
    refused(run(*BARE, "--quality", "1.5"), "no point reaches accuracy 1.5; the best", code=4)


def test_a_model_that_cannot_be_written_leaves_the_old_one(run, folder, monkeypatch, files) -> None:
    (folder / "m.thrifty").write_bytes(b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thrifty.bundle.file.os.replace", full)
    result = run(*FIT)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr and "m.thrifty" in result.stderr
    assert (folder / "m.thrifty").read_bytes() == b"old"
    assert files() == {"table.csv", "prices.csv", "m.thrifty"}


def test_a_report_that_cannot_be_made_leaves_no_model(run, folder, monkeypatch, refused) -> None:
    def fail(told):
        raise RuntimeError("no ink")

    monkeypatch.setattr("thrifty.report.page", fail)
    refused(run(*FIT, "--report", "r.html"), "no ink", code=1)


# --- the real thing ----------------------------------------------------------


def test_a_fresh_interpreter_fits_and_fails_alike(folder, fresh) -> None:
    command = [sys.executable, "-W", "error", "-m", "thrifty.cli", *FIT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=fresh)
    assert (done.returncode, done.stderr) == (0, "")
    assert "model: m.thrifty" in done.stdout
    pd.DataFrame({"age": [1.0], "ill": ["yes"]}).to_csv("table.csv", index=False)
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=fresh)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Error: ")
