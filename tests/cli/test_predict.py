"""`thrifty predict`: the predictions of the model, with bills, in the order of the rows."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor, load, load_points, unpack_used


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 50)


def test_predictions_are_those_of_the_model(run, model, frame) -> None:
    result = run("predict", model, "table.csv", "--proba", "--bill")
    assert result.exit_code == 0, result.stderr
    exact = dict.fromkeys(["proba_no", "proba_yes", "bill"], float)  # pandas 2 rounds otherwise
    found = pd.read_csv(io.StringIO(result.stdout), converters=exact)
    predictor = load(model)
    assert list(found.columns) == ["prediction", "proba_no", "proba_yes", "bill"]
    assert found["prediction"].tolist() == predictor.predict(frame).tolist()
    assert np.array_equal(found["bill"], predictor.bill(frame))
    assert np.array_equal(found[["proba_no", "proba_yes"]], predictor.predict_proba(frame))


def test_a_file_is_written_and_summarized(run, model, folder, frame) -> None:
    result = run("predict", model, "table.csv", "-o", "out.csv")
    assert result.exit_code == 0
    mean = load(model).bill(frame).mean()
    assert result.stdout.startswith("240 predictions, mean bill CAD ")
    assert f"{mean:.2f}" in result.stdout
    assert list(pd.read_csv(folder / "out.csv").columns) == ["prediction"]
    assert not list(folder.glob(".*"))


def test_json_has_predictions_and_bills(run, model, frame) -> None:
    found = json.loads(run("predict", model, "table.csv", "--bill", "--json").stdout)
    assert found["rows"] == 240 and found["unit"] == "CAD"
    assert found["prediction"] == load(model).predict(frame).tolist()
    assert np.mean(found["bill"]) == pytest.approx(found["mean_bill"])
    short = json.loads(run("predict", model, "table.csv", "-o", "out.csv", "--json").stdout)
    assert short["output"] == "out.csv" and "prediction" not in short


def test_other_columns_and_another_order_do_not_matter(run, model, folder, frame) -> None:
    frame[["sex", "ill", "fbs", "age", "chol"]].to_csv(folder / "other.csv", index=True)
    a, b = (run("predict", model, name).stdout for name in ("table.csv", "other.csv"))
    assert a == b


def test_labels_that_look_like_numbers_stay_labels(run, folder) -> None:
    code = np.array(["01", "1", "x", "y"])[np.arange(120) % 4]
    X = pd.DataFrame({"code": code})
    GreedyMiserClassifier(n_estimators=5, min_samples_leaf=5).fit(X, code == "01").save("m.thrifty")
    X.iloc[[0, 1]].to_csv(folder / "new.csv", index=False)  # no letter is left in the column
    result = run("predict", "m.thrifty", "new.csv")
    assert result.stderr == ""
    assert result.stdout.split() == ["prediction", "True", "False"]


@pytest.mark.parametrize("labels", [(1, 2), (0.5, 1.5), (False, True)])
def test_labels_that_are_not_text_are_matched(run, folder, labels) -> None:
    column = pd.Categorical.from_codes(np.arange(80) % 2, categories=list(labels))
    X = pd.DataFrame({"stage": column})
    y = np.where(np.arange(80) % 2, "late", "early")
    GreedyMiserClassifier(n_estimators=5, min_samples_leaf=5).fit(X, y).save("m.thrifty")
    X.iloc[:2].to_csv(folder / "new.csv", index=False)
    result = run("predict", "m.thrifty", "new.csv")
    assert result.stderr == ""
    assert result.stdout.split() == ["prediction", "early", "late"]


def test_an_unknown_category_is_one_warning(run, folder, frame, small_batches) -> None:
    X = frame[["sex"]]
    GreedyMiserClassifier(n_estimators=5).fit(X, X["sex"] == "male").save("m.thrifty")
    X.assign(sex=[f"other {i}" for i in range(240)]).to_csv(folder / "new.csv", index=False)
    result = run("predict", "m.thrifty", "new.csv")
    assert result.exit_code == 0
    assert result.stderr.count("Warning: categories never seen") == 1


def test_the_number_of_batches_changes_nothing(run, model, folder, frame, monkeypatch) -> None:
    frame.assign(customer=range(240)).to_parquet(folder / "new.parquet")
    frame.assign(customer=range(240)).to_csv(folder / "new.csv", index=False)
    options = ["--proba", "--bill", "--used", "--id", "customer"]
    whole = run("predict", model, "new.csv", *options)
    assert whole.exit_code == 0, whole.stderr
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 7)
    for name in ("new.csv", "new.parquet"):
        assert run("predict", model, name, *options).stdout == whole.stdout


def test_parquet_is_written(run, model, folder, frame, small_batches) -> None:
    ids = pd.array([None, *range(239)], dtype="Int64")
    frame.assign(customer=ids).to_parquet(folder / "new.parquet")
    result = run("predict", model, "new.parquet", "--id", "customer", "--used", "-o", "out.parquet")
    assert result.exit_code == 0, result.stderr
    found = pd.read_parquet(folder / "out.parquet", dtype_backend="pyarrow")
    predictor = load(model)
    assert found["customer"].dtype == "int64[pyarrow]"  # although one is missing
    assert found["customer"].isna().tolist() == [True] + [False] * 239
    assert found["prediction"].tolist() == predictor.predict(frame).tolist()
    assert np.array_equal(unpack_used(found["used"], 4), predictor.used(frame))


def test_a_bad_row_is_named_and_nothing_is_left(run, model, files, frame, small_batches) -> None:
    frame["chol"] = frame["chol"].astype(str).mask(frame.index == 123, "abc")
    frame.to_csv("new.csv", index=False)
    before = files()
    result = run("predict", model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 3
    assert "new.csv: column 'chol' is numeric but holds 'abc' in row 123" in result.stderr
    assert files() == before


def test_a_damaged_table_leaves_nothing(run, model, files, frame, small_batches) -> None:
    Path("new.csv").write_text(frame.to_csv(index=False) + '1,2,"3,4,5\n')
    data = bytearray(frame.to_parquet())
    data[4:2000] = bytes(1996)  # the data, not the footer
    Path("new.parquet").write_bytes(data)
    before = files()
    for name in ("new.csv", "new.parquet"):
        result = run("predict", model, name, "-o", "out.csv")
        assert result.exit_code == 3, result.output
        assert f"Error: {name}: not a" in result.stderr
        assert files() == before


def test_a_table_without_rows_is_refused(run, model, frame, files) -> None:
    frame.iloc[:0].to_csv("new.csv", index=False)
    frame.iloc[:0].to_parquet("new.parquet")
    before = files()
    for name in ("new.csv", "new.parquet"):
        result = run("predict", model, name, "-o", "out.csv")
        assert result.exit_code == 3 and "there are no rows" in result.stderr
        assert files() == before


def test_a_model_that_reads_nothing_predicts_every_row(run, folder, frame) -> None:
    X = frame[["age"]]
    GreedyMiserRegressor(n_estimators=1, penalty=1e9).fit(X, frame["fbs"]).save("m.thrifty")
    frame[["chol"]].to_parquet("new.parquet")
    result = run("predict", "m.thrifty", "new.parquet", "--json")
    assert json.loads(result.stdout)["rows"] == 240


def test_only_the_columns_that_the_model_reads_are_needed(run, folder, frame) -> None:
    model = "cheap.thrifty"
    fitted = run(
        "fit", "table.csv", "--target", "ill", "--budget", "10", "--prices", "prices.csv",
        "--learner", "greedy-miser", "-o", model,
    )  # fmt: skip
    assert fitted.exit_code == 0, fitted.stderr
    predictor = load(folder / model)
    reads = [
        name for name, read in zip(predictor.schema.names, predictor.reads, strict=True) if read
    ]
    assert len(reads) < 4
    frame[reads].to_csv(folder / "new.csv", index=False)
    result = run("predict", model, "new.csv", "--bill")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == run("predict", model, "table.csv", "--bill").stdout
    report = run("report", model, "new.csv", "--target", "ill", "-o", "r.html")
    assert "no column 'ill'" in report.stderr


def test_identifiers_are_copied_as_they_are(run, model, folder, frame) -> None:
    ids = [f"{i:03}" for i in range(238)] + ["=1+1", "@x"]
    frame.assign(customer=ids).to_csv(folder / "new.csv", index=False)
    result = run("predict", model, "new.csv", "--id", "customer", "--bill")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "customer,prediction,bill"
    assert [line.split(",")[0] for line in lines[1:]] == [*ids[:238], "'=1+1", "'@x"]
    found = json.loads(run("predict", model, "new.csv", "--id", "customer", "--json").stdout)
    assert found["customer"] == ids  # nobody opens JSON in a spreadsheet


def test_a_feature_may_be_the_identifier(run, model, frame) -> None:
    result = run("predict", model, "table.csv", "--id", "age", "--json")
    assert json.loads(result.stdout)["age"] == frame["age"].tolist()


def test_identifiers_of_any_type_are_written(run, model, folder, frame) -> None:
    days = pd.date_range("2024-01-01", periods=240).to_series(index=frame.index)
    frame.assign(day=days.where(frame.index > 0)).to_parquet(folder / "new.parquet")
    found = json.loads(run("predict", model, "new.parquet", "--id", "day", "--json").stdout)
    assert found["day"][:2] == [None, "2024-01-02 00:00:00"]


def test_a_wrong_identifier_is_reported(run, model, folder, frame) -> None:
    result = run("predict", model, "table.csv", "--id", "sexx", "-o", "out.csv")
    assert result.exit_code == 3 and "did you mean 'sex'?" in result.stderr
    frame.assign(prediction=1).to_csv(folder / "new.csv", index=False)
    result = run("predict", model, "new.csv", "--id", "prediction", "-o", "out.csv")
    assert result.exit_code == 2 and "has a column 'prediction' already" in result.stderr
    assert not (folder / "out.csv").exists()


def test_missing_columns_are_reported_with_similar_names(run, model, folder, frame) -> None:
    frame.rename(columns={"chol": "cholesterol", "age": "agee"}).to_csv("new.csv", index=False)
    result = run("predict", model, "new.csv", "-o", "out.csv")
    assert result.exit_code == 3
    assert "'chol'" in result.stderr and "did you mean 'agee'?" in result.stderr
    assert not (folder / "out.csv").exists()


def test_text_in_a_numeric_column_is_reported(run, model, frame) -> None:
    frame["chol"] = ["abc", *map(str, range(239))]
    frame.to_csv("new.csv", index=False)
    result = run("predict", model, "new.csv")
    assert result.exit_code == 3
    assert "'chol'" in result.stderr and "'abc' in row 0" in result.stderr


def test_a_regression_has_no_probabilities(run, folder, frame) -> None:
    X = frame[["age", "chol"]]
    GreedyMiserRegressor(n_estimators=5).fit(X, frame["fbs"]).save("m.thrifty")
    assert run("predict", "m.thrifty", "table.csv").exit_code == 0
    result = run("predict", "m.thrifty", "table.csv", "--proba")
    assert result.exit_code == 2
    assert "no classes" in result.stderr


def test_inputs_are_not_overwritten(run, model) -> None:
    before = model.read_bytes()
    result = run("predict", model, "table.csv", "-o", model)
    assert result.exit_code == 2
    assert model.read_bytes() == before


def test_a_damaged_model_exits_with_1(run, model) -> None:
    model.write_bytes(model.read_bytes()[:100])
    result = run("predict", model, "table.csv")
    assert result.exit_code == 1
    assert "model.thrifty" in result.stderr and "Traceback" not in result.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_device_is_written_to_and_not_replaced(run, model) -> None:
    result = run("predict", model, "table.csv", "-o", "/dev/full")
    assert result.exit_code == 1
    assert result.stderr == "Error: cannot write: No space left on device: /dev/full\n"
    assert not os.path.isfile("/dev/full")


def test_a_budget_chooses_another_point_of_the_file(run, model) -> None:
    points = load_points(model)
    free = json.loads(run("predict", model, "table.csv", "--budget", 0, "--json").stdout)
    assert points.bills[0] == free["mean_bill"] == 0
    most = run("predict", model, "table.csv", "--budget", 1000, "--json")
    assert json.loads(most.stdout)["mean_bill"] > 0


def test_a_budget_below_the_only_point_is_refused(run, model) -> None:
    points = load_points(model)
    dear = points.predictors[-1]
    dear.replace(provenance={"held_out": {"bill": 5.0, "quality": 0.9}}).save(model)
    result = run("predict", model, "table.csv", "--budget", 1)
    assert result.exit_code == 4
    assert "the cheapest one costs CAD 5.00" in result.stderr
