"""What a new user does in the first hour, through the command line and public names only.

Each test is a stumble that a new user once met. They import nothing but what a user would, so that
they can be run against any version.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import thrifty
from thrifty.cli import main

PRICES = "feature,price\nage,1\nchol,5\nfbs,3\n"


def run(*arguments: object, input: str | None = None):
    return CliRunner().invoke(main, [str(each) for each in arguments], input=input)


def rare_illness(seed: int, n: int = 600) -> pd.DataFrame:
    """A tenth of the rows are ill; the features say who is at risk, but nobody is beyond a half."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(3)
    ill = rng.random(n) < 1 / (1 + np.exp(2.6 - 0.8 * x[:, 0] - 0.5 * x[:, 1]))
    frame = pd.DataFrame(x, columns=["age", "chol", "fbs"])
    return frame.assign(state=np.where(ill, "ill", "well"))


def common_illness(seed: int = 0, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)).round(3)
    ill = x[:, 0] + x[:, 1] + 0.7 * rng.normal(size=n) > 0
    frame = pd.DataFrame(x, columns=["age", "chol", "fbs"])
    return frame.assign(state=np.where(ill, "ill", "well"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a table and its prices."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    common_illness().to_csv("table.csv", index=False)
    Path("prices.csv").write_text(PRICES)
    return tmp_path


FIT = ("fit", "table.csv", "--target", "state", "--budget", "8", "--prices", "prices.csv",
       "--learner", "greedy-miser", "-o", "m.thrifty")  # fmt: skip


@pytest.fixture
def model(folder: Path) -> Path:
    X = common_illness().drop(columns="state")
    prices = thrifty.Prices({"age": 1.0, "chol": 5.0, "fbs": 3.0}, unit="min")
    learner = thrifty.GreedyMiserClassifier(prices=prices, penalty=0.02, n_estimators=20)
    learner.fit(X, common_illness()["state"]).save("m.thrifty")
    return folder / "m.thrifty"


# --- what is bought ----------------------------------------------------------


@pytest.fixture(scope="module", params=[1, 2])
def bought(request, tmp_path_factory):
    """What a ladder buys where no feature changes the answer: output, folder, page."""
    folder = tmp_path_factory.mktemp("rare")
    table, prices, page = (str(folder / name) for name in ("t.csv", "p.csv", "r.html"))
    rare_illness(request.param).to_csv(table, index=False)
    Path(prices).write_text(PRICES)
    arguments = ("--budget", "8", "--prices", prices, "-o", str(folder / "m.thrifty"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        result = run("fit", table, "--target", "state", *arguments, "--report", page)
    assert result.exit_code == 0, result.output
    return result.stdout, folder, Path(page).read_text()


def test_a_constant_is_not_sold(bought) -> None:
    _, folder, _ = bought
    found = run("predict", folder / "m.thrifty", folder / "t.csv", "--bill", "--json")
    rows = json.loads(found.stdout)
    assert len(set(rows["prediction"])) > 1 or rows["mean_bill"] == 0


def test_no_point_of_the_printed_frontier_beats_another(bought) -> None:
    printed = bought[0].split("Pareto frontier")[1]
    lines = [line for line in printed.splitlines() if line.startswith(" ladder")]
    numbers = [[float(number) for number in re.findall(r" (\d+\.\d+)\b", line)] for line in lines]
    points = [(bill, quality) for bill, quality, *_ in numbers]
    assert points and sorted(set(points)) == points
    assert [quality for _, quality in points] == sorted({quality for _, quality in points})


def test_a_fit_whose_answer_is_a_constant_says_so_first(bought) -> None:
    assert bought[0].startswith("The model is a constant")


def test_the_chart_of_the_report_is_of_the_test_set(bought) -> None:
    label = re.search(r'aria-label="(accuracy against mean bill[^"]*)"', bought[2])
    assert label and "test set" in label[1]


def test_every_test_figure_has_an_interval_and_the_constant_is_listed(folder) -> None:
    printed = run(*FIT).stdout
    test_set = printed.split("Pareto frontier")[0]
    lines = [line for line in test_set.splitlines() if re.match(r" (chosen|plain|constant)", line)]
    assert len(lines) >= 4 and "constant" in lines[-1]
    for line in lines:
        assert re.search(r"\[[\d.]+, [\d.]+\]", line), line


def test_a_quality_that_only_luck_reaches_is_refused(folder) -> None:
    facts = json.loads(run(*FIT, "--json").stdout)
    target = max(point["quality"] for point in facts["points"])
    arguments = [*FIT[:4], "--quality", target, *FIT[6:-1], "lucky.thrifty"]
    result = run(*arguments)
    assert result.exit_code == 4, result.output
    assert not Path("lucky.thrifty").exists()


def test_plain_boosting_is_no_weak_baseline(folder) -> None:
    """A checkerboard: many leaves are needed, as for the wilderness areas of covertype."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 6, size=(3000, 2))
    label = np.where((X[:, 0].astype(int) + X[:, 1].astype(int)) % 2, "ill", "well")
    frame = pd.DataFrame(X, columns=["age", "chol"]).assign(fbs=rng.normal(size=3000), state=label)
    frame.to_csv("table.csv", index=False)
    facts = json.loads(run(*FIT, "--json").stdout)
    boosting = [each for each in facts["baselines"] if each["name"].startswith("plain boosting")]
    assert max(each["quality"] for each in boosting) > 0.9


# --- gates and predictions ---------------------------------------------------


def test_a_gate_with_a_price_can_be_used_after_it_was_saved(model) -> None:
    gate = ("gate", "table.csv", "--target", "state", "--expensive", model, "--price", "9")
    made = run(*gate, "--share", "0.4", "-o", "gate.thrifty")
    assert made.exit_code == 0, made.output
    for command, *options in (
        ("predict", "--bill"),
        ("report", "--target", "state", "-o", "r.html"),
    ):
        result = run(command, "gate.thrifty", "table.csv", *options)
        assert result.exit_code == 0, result.output
    assert re.match(r"The gate (saves|does not pay)", made.stdout)


def test_predict_needs_only_what_the_model_reads(folder) -> None:
    frame = common_illness()
    learner = thrifty.GreedyMiserClassifier(n_estimators=5).fit(
        frame[["age", "chol"]].assign(noise=0.0), frame["state"]
    )
    learner.save("m.thrifty")
    whole = frame.assign(noise=0.0)
    whole.to_csv("whole.csv", index=False)
    frame[["chol", "age"]].to_csv("new.csv", index=False)
    result = run("predict", "m.thrifty", "new.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout == run("predict", "m.thrifty", "whole.csv").stdout


def test_predictions_can_carry_an_identifier(model) -> None:
    common_illness().assign(patient=range(300)).to_csv("new.csv", index=False)
    result = run("predict", model, "new.csv", "--id", "patient")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == "patient,prediction"


def test_a_name_that_is_no_feature_is_not_taken_for_a_value(model) -> None:
    result = run("ask", model, input="bogus=1\nstop\n")
    assert "no feature 'bogus'" in result.stderr and "not a number" not in result.stderr


def test_a_receipt_prints_plain_numbers(model) -> None:
    walk = thrifty.load(model).walk()
    row = common_illness().iloc[0]
    while walk.asks:
        walk.tell({name: np.float64(row[name]) for name in walk.asks})
    assert walk.receipt.purchases and "np.float64" not in str(walk.receipt)


def test_a_summary_of_a_model_file_fits_on_a_screen(folder) -> None:
    frame = common_illness()
    learner = thrifty.LadderClassifier(random_state=0)
    learner.fit(frame.drop(columns="state"), frame["state"]).save("m.thrifty")
    lines = run("inspect", "m.thrifty").stdout.splitlines()
    assert len(lines) < 40 and max(map(len, lines)) <= 200


# --- files as people have them -----------------------------------------------


def test_a_european_table_is_read(folder) -> None:
    common_illness().to_csv("table.csv", index=False, sep=";", decimal=",")
    Path("prices.csv").write_text("feature;price\nage;1,0\nchol;5,0\nfbs;3,0\n")
    result = run(*FIT)
    assert result.exit_code == 0, result.output
    assert thrifty.load("m.thrifty").prices.full == 9.0


def test_dates_are_not_taken_for_categories(folder) -> None:
    days = pd.date_range("2024-01-01", periods=300).strftime("%Y-%m-%d")
    common_illness().assign(visit=days).to_csv("table.csv", index=False)
    result = run(*(each for each in FIT if each not in ("--prices", "prices.csv")))
    assert result.exit_code == 3
    assert "'visit' holds dates" in result.stderr


def test_a_column_that_is_dropped_may_have_a_price(folder) -> None:
    result = run(*FIT, "--drop", "fbs")
    assert result.exit_code == 0, result.output


def test_many_categories_are_accepted(folder) -> None:
    frame = pd.concat([common_illness(seed) for seed in range(4)], ignore_index=True)
    frame.assign(city=[f"c{i:03}" for i in np.arange(1200) % 600]).to_csv("table.csv", index=False)
    result = run(*(each for each in FIT if each not in ("--prices", "prices.csv")))
    assert result.exit_code == 0, result.output
    assert "'city' has 600 categories" in result.stderr


def test_a_column_that_gives_the_target_away_is_a_warning(folder) -> None:
    frame = common_illness()
    frame.assign(therapy=(frame["state"] == "ill") * 1).to_csv("table.csv", index=False)
    result = run(*(each for each in FIT if each not in ("--prices", "prices.csv")))
    assert result.exit_code == 0, result.output
    assert "'therapy' alone predicts the target perfectly" in result.stderr


def test_a_table_without_rows_is_refused_in_our_words(folder) -> None:
    Path("table.csv").write_text("age,chol,fbs,state\n")
    result = run(*FIT)
    assert result.exit_code == 3
    assert "no rows" in result.stderr and "sample(s)" not in result.stderr


def test_a_model_of_catboost_is_named(folder) -> None:
    Path("model.json").write_text(json.dumps({"oblivious_trees": [], "features_info": {}}))
    result = run("import", "model.json", "-o", "m.thrifty")
    assert result.exit_code != 0
    assert "CatBoost" in result.stderr and "KeyError" not in result.stderr


def test_a_price_that_is_infinite_is_refused_at_once() -> None:
    with pytest.raises(thrifty.PriceError):
        thrifty.Prices({"age": float("inf")})


def test_wrong_prices_are_reported_before_anything_heavy_is_imported(folder) -> None:
    Path("prices.csv").write_text("feature,price\nagee,1\n")
    code = (
        "import sys, atexit\n"
        "heavy = {'sklearn', 'pandas', 'scipy'}\n"
        "atexit.register(lambda: print('heavy:', sorted(heavy & set(sys.modules))))\n"
        f"from thrifty.cli import main; main({list(FIT)!r})"
    )
    home = str(Path(thrifty.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={"PYTHONPATH": home, "PATH": ""})  # fmt: skip
    assert done.returncode == 3 and "did you mean 'age'?" in done.stderr
    assert "heavy: []" in done.stdout


def test_a_fit_is_not_silent_in_a_pipe(folder) -> None:
    assert "greedy-miser" in run(*FIT).stderr


# --- in Python ---------------------------------------------------------------

X, Y = common_illness().drop(columns="state"), common_illness()["state"]


@pytest.mark.parametrize("scoring", ["f1", "average_precision", "callable"])
def test_a_rare_class_can_be_scored_as_it_should_be(scoring) -> None:
    def recall_of_the_ill(estimator, X, y) -> float:
        return float(np.mean(estimator.predict(X)[np.asarray(y) == "ill"] == "ill"))

    model = thrifty.BudgetClassifier(
        scoring=recall_of_the_ill if scoring == "callable" else scoring, budget=2.0,
        learners=[thrifty.GreedyMiserClassifier(n_estimators=5)], class_weight="balanced",
    )  # fmt: skip
    model.fit(X, Y, sample_weight=np.ones(len(X)))
    assert model.bill(X).mean() <= 2.0


def test_prices_may_be_a_plain_mapping() -> None:
    prices = {"age": 1.0, "chol": 5.0, "fbs": 3.0}
    model = thrifty.GreedyMiserClassifier(prices=prices, n_estimators=5).fit(X, Y)
    assert model.bill(X).max() <= 9.0


def test_a_pipeline_has_bills_and_one_hot_columns_inherit_prices() -> None:
    """`thrifty.Pipeline` is a name of its own: where it is absent, this is an AttributeError."""
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    table = X.assign(sex=np.where(np.arange(300) % 2, "f", "m"))
    steps = make_column_transformer(
        (StandardScaler(), ["age", "chol", "fbs"]), (OneHotEncoder(), ["sex"])
    )
    prices = {"age": 1.0, "chol": 5.0, "fbs": 3.0, "sex": 7.0}
    last = thrifty.GreedyMiserClassifier(prices=prices, n_estimators=5)
    pipeline = thrifty.Pipeline([("prepare", steps), ("model", last)]).fit(table, Y)
    used = pipeline.used(table)
    assert used.shape == (300, 4) and used.any()
    np.testing.assert_array_equal(pipeline.bill(table), used @ np.array([1.0, 5.0, 3.0, 7.0]))


def test_features_have_importances() -> None:
    model = thrifty.GreedyMiserClassifier(n_estimators=5).fit(X, Y)
    assert model.feature_importances_.shape == (3,)


def test_a_sparse_table_is_refused_with_the_remedy() -> None:
    from scipy.sparse import csr_matrix

    with pytest.raises(thrifty.DataError, match="toarray"):
        thrifty.GreedyMiserClassifier().fit(csr_matrix(X.to_numpy()), Y)


# --- how it looks ------------------------------------------------------------


def test_units_that_are_no_currencies_come_after_the_amount(model) -> None:
    printed = run("predict", model, "table.csv", "-o", "out.csv").stdout
    assert re.search(r"mean bill \d+\.\d\d min", printed), printed
