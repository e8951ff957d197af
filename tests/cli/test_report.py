"""`thrifty report`: a page about a saved model on labeled rows."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, load


@pytest.fixture
def report(run, model):
    def call(*arguments):
        return run("report", "model.thrifty", "table.csv", "--target", "ill", *arguments)

    return call


def test_the_page_is_written_and_summarized(report, folder) -> None:
    result = report("-o", "p.html")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert re.search(r"On 240 rows: CAD [\d.]+ .*per example, accuracy [\d.]+% \[", result.stdout)
    assert "report: p.html" in result.stdout
    html = (folder / "p.html").read_text()
    assert "<h1>ill, predicted by model.thrifty</h1>" in html and "table.csv" in html


def test_a_report_on_the_training_table_says_so_first(report, run, folder, frame) -> None:
    result = report("-o", "p.html")
    first = "This is the table that the model was trained on, apart from a test set."
    assert result.stdout.startswith(first)
    assert '<p class="warn">' + first in (folder / "p.html").read_text()
    frame.sample(frac=1.0, random_state=0).iloc[:200].to_csv("table.csv", index=False)
    assert report("-o", "p.html").stdout.startswith("On 200 rows: ")


@pytest.mark.parametrize("task", ["classification", "regression", "ranking"])
def test_the_training_table_is_recognized_for_every_task(run, folder, frame, task) -> None:
    target = {"classification": frame["ill"] == "yes", "regression": frame["chol"] * 10}
    y = target.get(task, (frame["chol"] > 0) + (frame["fbs"] > 0))
    table = frame.assign(ill=y, flag=frame["age"] > 50, q=np.arange(240) // 10)
    table.loc[3, ["age", "sex"]] = None
    table.to_csv("table.csv", index=False)
    qid = ("--qid", "q") if task == "ranking" else ("--drop", "q")
    fit = ("fit", "table.csv", "--target", "ill", "--task", task, *qid, "--budget", "9",
           "--learner", "greedy-miser", "-o", "m.thrifty")  # fmt: skip
    fitted = run(*fit)
    assert fitted.exit_code == 0, fitted.output
    columns = qid if task == "ranking" else ()
    found = run("report", "m.thrifty", "table.csv", "--target", "ill", *columns, "-o", "p.html")
    assert found.stdout.startswith("This is the table that the model was trained on"), found.output


def test_the_figures_are_those_of_the_model(report, frame) -> None:
    facts = json.loads(report("-o", "p.html", "--json").stdout)
    predictor = load("model.thrifty")
    assert facts["report"] == "p.html"
    assert facts["settings"]["rows"] == {"test": 240}
    assert facts["bills"]["mean"] == predictor.bill(frame).mean()
    right = (predictor.predict(frame) == frame["ill"]).sum()
    assert np.trace(facts["confusion"]["rows"]) == right


def test_labels_are_read_as_the_model_has_them(run, folder, frame) -> None:
    # A CSV file cannot tell text from numbers and booleans; the model can.
    X = frame[["chol", "fbs"]]
    for labels in (["01", "02"], [False, True], [1, 2], [1.0, 2.0]):
        y = np.where(X["chol"] > 0, labels[1], labels[0])
        GreedyMiserClassifier(n_estimators=5).fit(X, y).save("m.thrifty")
        X.assign(y=y).to_csv("rows.csv", index=False)
        result = run("report", "m.thrifty", "rows.csv", "--target", "y", "-o", "p.html", "--json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert json.loads(result.stdout)["confusion"]["classes"] == labels
        assert np.sum(json.loads(result.stdout)["confusion"]["rows"]) == 240


def test_a_regression_is_reported(run, folder, frame) -> None:
    X = frame[["chol", "fbs"]]
    GreedyMiserRegressor(n_estimators=20).fit(X, X["chol"]).save("m.thrifty")
    result = run("report", "m.thrifty", "table.csv", "--target", "chol", "-o", "p.html")
    assert result.exit_code == 0, result.stderr
    assert "r2 " in result.stdout


def test_a_ranking_needs_the_queries(run, table) -> None:
    table(ill=np.arange(240) % 3, q=np.repeat(np.arange(24), 10))
    run("fit", "table.csv", "--target", "ill", "--qid", "q", "--budget", "9", "-o", "m.thrifty")
    command = ("report", "m.thrifty", "table.csv", "--target", "ill", "-o", "p.html")
    assert "ndcg@5" in run(*command, "--qid", "q").stdout
    result = run(*command[:-1], "other.html")
    assert result.exit_code == 3
    assert "--qid: ranking needs the query of each row" in result.stderr


def test_a_ranker_that_was_saved_by_itself_is_recognized(run, table, frame) -> None:
    grade, query = np.arange(240) % 3, np.repeat(np.arange(24), 10)
    table(ill=grade, q=query)
    X = frame[["age", "chol"]]
    GreedyMiserRanker(n_estimators=3).fit(X, grade, qid=query).save("m.thrifty")
    command = ("report", "m.thrifty", "table.csv", "--target", "ill", "--qid", "q")
    result = run(*command, "-o", "p.html")
    assert result.exit_code == 0, result.stderr
    assert "ndcg@5" in result.stdout


# --- errors ------------------------------------------------------------------


def test_unknown_labels_are_a_warning(report, table) -> None:
    table(ill=["yes", "no", "maybe"] * 80)
    result = report("-o", "p.html")
    assert result.exit_code == 0
    assert "Warning: " in result.stderr and "does not know ['maybe']" in result.stderr


@pytest.mark.parametrize(
    ("columns", "arguments", "words"),
    [
        ({}, ("--target", "il"), ["no column 'il'", "did you mean 'ill'?"]),
        ({}, ("--target", "il", "--qid", "agee"), ["2 problems", "'il'", "did you mean 'age'?"]),
        ({}, ("--qid", "age"), ["--qid: the model is not a ranker; omit it"]),
        ({"ill": [None, "yes"] * 120}, (), ["'ill' has no value in row 0 (120 such rows)"]),
        ({"ill": "7"}, (), ["'ill' has none of the model's classes ['no', 'yes']"]),
        ({"chol": "high"}, (), ["'chol'", "'high'"]),
    ],
    ids=["target", "two", "qid", "gap", "classes", "text"],
)
def test_unusable_rows_are_reported(report, table, folder, columns, arguments, words) -> None:
    table(**columns)
    result = report("-o", "p.html", *arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    for word in words:
        assert word in result.stderr
    assert not (folder / "p.html").exists()


def test_an_empty_table_is_rejected(report, folder) -> None:
    (folder / "table.csv").write_text("age,chol,fbs,sex,ill\n")
    result = report("-o", "p.html")
    assert result.exit_code == 3 and not (folder / "p.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing option '-o'"),
        (("-o", "model.thrifty"), "'model.thrifty' is named twice"),
        (("-o", "absent/p.html"), "There is no folder"),
    ],
)
def test_a_wrong_option_is_reported_before_any_work(report, files, arguments, words) -> None:
    before = files()
    result = report(*arguments)
    assert result.exit_code == 2 and words in result.stderr
    assert files() == before


def test_a_file_that_is_not_a_model_exits_with_1(run, folder) -> None:
    (folder / "odd.thrifty").write_bytes(b"no model")
    result = run("report", "odd.thrifty", "table.csv", "--target", "ill", "-o", "p.html")
    assert result.exit_code == 1 and not (folder / "p.html").exists()
