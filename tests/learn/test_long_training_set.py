"""Training from files: the model of the same table in memory, to the byte."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty.learn.long_training_set as module
from thrifty import (
    BudgetClassifier,
    BudgetForestClassifier,
    CostTreeClassifier,
    DataError,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    Table,
)

N = 600
RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(N, 4)).round(2), columns=list("dcba"))
X["k"] = RNG.integers(0, 9, N)
X["s"] = RNG.choice(["x", "y", "zz"], N)
X["level"] = pd.Categorical(RNG.choice(["low", "mid", "high"], N), ["low", "mid", "high"])
X.loc[::7, "d"] = np.nan
Y = np.where(X["a"] + (X["s"] == "x") + X["k"] * X["b"] / 9 > 0.4, "ill", "well")
W = np.where(np.arange(N) % 11 == 3, 0.0, RNG.uniform(0.5, 2.0, N).round(3))
PRICES = {"a": 1, "b": 2, "c": 1, "d": 1, "k": 3, "s": 1, "level": 1}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Make small batches and parts, and a folder of its own for temporary files."""
    monkeypatch.setattr("thrifty.table_files.ROWS_PER_BATCH", 77)
    monkeypatch.setattr(module, "PART_ROWS", 128)
    monkeypatch.setattr(module, "SAMPLE", 500)
    monkeypatch.setattr("thrifty.learn.binned.SAMPLE", 500)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three Parquet files and three CSV files."""
    for number, first in enumerate(range(0, N, 250)):
        rows = X.iloc[first : first + 250].assign(
            y=Y[first : first + 250], w=W[first : first + 250]
        )
        rows.to_parquet(tmp_path / f"{number}.parquet")
        rows.to_csv(tmp_path / f"{number}.csv", index=False)
    return tmp_path


def temporary_files() -> list[str]:
    return [path.name for path in Path(tempfile.gettempdir()).iterdir()]


def saved(model, folder: Path) -> bytes:
    model.save(folder / "model.thrifty")
    return (folder / "model.thrifty").read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {"penalty": 0.002},
        {"penalty": 0.001, "charge": "example"},
        {"class_weight": "balanced", "loss": "squared_hinge"},
    ],
)
def test_the_model_is_that_of_the_table_in_memory(folder, settings) -> None:
    model = GreedyMiserClassifier(PRICES, n_estimators=8, random_state=3, **settings)
    memory = saved(model.fit(X, Y), folder)
    importances = model.feature_importances_
    assert saved(model.fit(Table.parquet(folder, "y", ["w"])), folder) == memory
    assert np.array_equal(model.feature_importances_, importances)
    assert model.n_features_in_ == 7 and list(model.feature_names_in_) == list(X.columns)
    assert temporary_files() == []


def test_csv_files_give_the_model_of_their_text(folder) -> None:
    model = GreedyMiserClassifier(n_estimators=8, random_state=3)
    text = X.astype({"level": str})
    memory = saved(model.fit(text, Y), folder)
    assert saved(model.fit(Table.csv(folder, "y", ["w"])), folder) == memory


def test_several_classes_and_early_stopping(folder) -> None:
    labels = X["k"].to_numpy() % 3 + 10
    for number, first in enumerate(range(0, N, 250)):
        rows = slice(first, first + 250)
        X.iloc[rows].drop(columns="k").assign(y=labels[rows], w=1.0).to_parquet(
            folder / f"{number}.parquet"
        )
    model = GreedyMiserClassifier(n_estimators=8, random_state=3)
    rows = X.drop(columns="k")
    memory = saved(model.fit(rows, labels, validation=(rows, labels)), folder)
    found = saved(model.fit(Table.parquet(folder, "y", ["w"]), validation=(rows, labels)), folder)
    assert found == memory
    assert model.classes_.tolist() == [10, 11, 12]


def test_a_regression_and_its_path(folder) -> None:
    model = GreedyMiserRegressor(PRICES, n_estimators=8, random_state=3)
    rows = X.drop(columns="a")
    prices = {name: price for name, price in PRICES.items() if name != "a"}
    model.set_params(prices=prices)
    memory = list(model.path(rows, X["a"], validation=(rows, X["a"])))
    table = Table.parquet(folder, "a", drop=["y", "w"])
    files = list(model.path(table, validation=(rows, X["a"])))
    assert [(p.knob, p.bill, p.quality) for p in files] == [
        (p.knob, p.bill, p.quality) for p in memory
    ]


def test_rare_categories_are_joined(folder) -> None:
    names = [f"c{i % 300:03}" for i in range(N)]
    names[:2] = ["(other)", "(other)"]
    frame = pd.DataFrame({"name": names, "y": Y})
    frame.to_parquet(folder / "names.parquet")
    model = GreedyMiserClassifier(n_estimators=3, random_state=0)
    with pytest.warns(UserWarning, match="301 categories: the 254 most frequent"):
        model.fit(Table.parquet(folder / "names.parquet", "y"))
    (column,) = model.schema_.columns
    assert len(column.categories) == 255 and column.other == "(other)*"


def refuse(table, words: str) -> None:
    with pytest.raises(DataError, match=words):
        GreedyMiserClassifier(n_estimators=2).fit(table)
    assert temporary_files() == []


def test_bad_values_are_named_with_file_and_row(folder) -> None:
    rows = X[:250].assign(y=Y[:250], w=W[:250])
    rows.assign(a=rows["a"].where(rows.index != 100, np.inf)).to_parquet(folder / "2.parquet")
    refuse(Table.parquet(folder, "y", ["w"]), r"2\.parquet: column 'a' holds inf in row 100")
    rows.assign(y=rows["y"].where(rows.index < 200)).to_parquet(folder / "2.parquet")
    refuse(
        Table.parquet(folder, "y", ["w"]), r"2\.parquet: target 'y' has no value in row 200; drop"
    )
    rows.assign(y=rows["y"].where(rows.index < 200)).to_csv(folder / "2.csv", index=False)
    refuse(Table.csv(folder, "y", ["w"]), r"2\.csv: target 'y' has no value in row 200; drop")
    text = rows["a"].astype(str).where(rows.index != 99, "abc")
    rows.assign(a=text).to_csv(folder / "2.csv", index=False)
    refuse(
        Table.csv(folder, "y", ["w"]), r"2\.csv: column 'a' is numeric but holds 'abc' in row 99"
    )


def test_a_target_that_changes_its_type_is_named(folder) -> None:
    for number, target in enumerate([[0, 1] * 50, [1, 0] * 50, [0, "x"] * 50]):
        X[:100].assign(y=target, w=1.0).to_csv(folder / f"{number}.csv", index=False)
    refuse(Table.csv(folder, "y", ["w"]), r"2\.csv: target 'y' holds 'x' in row 1, but numbers")


def test_a_column_without_values_and_a_table_without_rows_are_refused(folder) -> None:
    X.assign(a=np.nan, y=Y).to_parquet(folder / "empty.parquet")
    refuse(Table.parquet(folder / "empty.parquet", "y"), "column 'a' has no value at all")
    X[:1].assign(y=Y[:1]).to_parquet(folder / "short.parquet")
    refuse(Table.parquet(folder / "short.parquet", "y"), "1 rows in 1 files")


def test_files_that_disagree_about_the_order_of_categories_are_sorted(folder) -> None:
    level = pd.Categorical(X["level"][:250], ["mid", "low", "high"])
    X[:250].assign(level=level, y=Y[:250], w=1.0).to_parquet(folder / "0.parquet")
    model = GreedyMiserClassifier(n_estimators=2).fit(Table.parquet(folder, "y", ["w"]))
    (column,) = (c for c in model.schema_.columns if c.name == "level")
    assert column.categories == ("high", "low", "mid")


def test_a_type_that_changes_in_the_last_of_many_files_is_named(folder) -> None:
    for number in range(30):
        rows = pd.DataFrame({"a": [1.0, 2.0], "y": [0, 1]})
        if number == 29:
            rows["a"] = ["x", "y"]
        rows.to_parquet(folder / f"many-{number:02}.parquet")
        rows.to_csv(folder / f"many-{number:02}.csv", index=False)
    with pytest.raises(DataError, match=r"many-29\.parquet: column 'a' holds text, but numbers"):
        Table.parquet(f"{folder}/many-*.parquet", "y")
    refuse(Table.csv(f"{folder}/many-*.csv", "y"), r"many-29\.csv: column 'a' is numeric but holds")


@pytest.mark.parametrize("estimator", [GreedyMiserClassifier, BudgetClassifier])
def test_text_that_looks_like_numbers_counts_by_rows(tmp_path, estimator) -> None:
    rows = pd.DataFrame({"s": ["x"] * 60 + [str(k % 4) for k in range(40)], "y": [0, 1] * 50})
    rows[:60].to_csv(tmp_path / "0.csv", index=False)
    rows[60:].to_csv(tmp_path / "1.csv", index=False)
    settings = {"budget": 1, "learners": [GreedyMiserClassifier(n_estimators=1)]}
    model = estimator(**settings if estimator is BudgetClassifier else {"n_estimators": 1})
    model.fit(Table.csv(tmp_path, "y"))  # as in memory: most of the rows hold a word
    model.fit(rows[["s"]], rows["y"])
    rows[60:].to_csv(tmp_path / "2.csv", index=False)
    with pytest.raises(
        DataError, match=r"'s' looks numeric but holds 'x'; .*\(text in .*0\.csv, row 0"
    ):
        model.fit(Table.csv(tmp_path, "y"))


def test_a_full_disk_is_reported_and_nothing_is_left(folder, monkeypatch) -> None:
    class Usage:
        free = 10

    with monkeypatch.context() as patch:
        patch.setattr(module.shutil, "disk_usage", lambda path: Usage)
        with pytest.raises(OSError, match="no room for .* TMPDIR"):
            GreedyMiserClassifier().fit(Table.parquet(folder, "y", ["w"]))

    # A file that accepts nothing more, whose disk had room enough when that was checked.
    file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - closed by the fit
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: file)
    with pytest.raises(OSError, match="no room for 1 MB") as caught:
        GreedyMiserClassifier().fit(Table.parquet(folder, "y", ["w"]))
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == tempfile.gettempdir()
    assert file.closed and temporary_files() == []


def test_what_needs_its_rows_in_memory_says_so(folder) -> None:
    table = Table.parquet(folder, "y", ["w"])
    for estimator in (CostTreeClassifier(), GreedyMiserRanker()):
        with pytest.raises(DataError, match="needs its rows in memory"):
            estimator.fit(table, None)
    with pytest.raises(DataError, match="pass neither y nor weights"):
        GreedyMiserClassifier().fit(table, Y)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("settings", [{}, {"charge": "example", "class_weight": "balanced"}])
def test_weights_of_a_column_are_those_of_the_rows(folder, kind, settings) -> None:
    model = GreedyMiserClassifier(PRICES, 0.001, n_estimators=6, random_state=3, **settings)
    rows = X.astype({"level": str}) if kind == "csv" else X
    memory = saved(model.fit(rows, Y, sample_weight=W), folder)
    importances = model.feature_importances_
    table = getattr(Table, kind)(folder, "y", weight="w")
    assert saved(model.fit(table), folder) == memory
    assert np.array_equal(model.feature_importances_, importances)


def test_rows_of_weight_zero_do_not_count_for_the_number_of_bins(folder, monkeypatch) -> None:
    monkeypatch.setattr("thrifty.kernels.binning.MANY_COLUMNS", 3)
    monkeypatch.setattr("thrifty.kernels.binning.FEW_ROWS", N - 10)
    model = GreedyMiserClassifier(n_estimators=6, random_state=3)
    memory = saved(model.fit(X, Y, sample_weight=W), folder)
    assert saved(model.fit(Table.parquet(folder, "y", weight="w")), folder) == memory


def test_a_path_with_weights_is_that_of_the_table_in_memory(folder) -> None:
    model = GreedyMiserClassifier(PRICES, n_estimators=6, random_state=3)
    table = Table.parquet(folder, "y", weight="w")
    found = [
        [(point.knob, point.bill, point.quality) for point in points]
        for points in (
            model.path(X, Y, sample_weight=W, validation=(X, Y)),
            model.path(table, validation=(X, Y)),
        )
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_a_wrong_weight_is_named_with_file_and_row(folder, wrong) -> None:
    rows = X[:250].assign(y=Y[:250], w=np.where(np.arange(250) == 100, wrong, 1.0))
    rows.to_parquet(folder / "2.parquet")
    table = Table.parquet(folder, "y", weight="w")
    refuse(table, r"2\.parquet: column 'w': .* in row 100 is not a weight")


def test_weights_that_are_all_zero_are_refused(folder) -> None:
    X.assign(y=Y, w=0.0).to_parquet(folder / "zero.parquet")
    refuse(Table.parquet(folder / "zero.parquet", "y", weight="w"), "every weight is zero")
    table = Table.parquet(folder, "y", weight="w", drop=[])
    model = GreedyMiserClassifier(n_estimators=2, class_weight={"ill": 0.0, "well": 1.0})
    with pytest.raises(DataError, match="a class has weight 0; drop its rows"):
        model.fit(table)


@pytest.mark.parametrize(
    "settings",
    [
        {"sample_weight": None},
        {"sample_weight": W, "bootstrap": False},
        {"sample_weight": W, "budget": 4.0, "class_weight": "balanced"},
    ],
)
def test_a_budget_forest_is_that_of_the_table_in_memory(folder, settings) -> None:
    weight = settings["sample_weight"]
    model = BudgetForestClassifier(
        PRICES, n_estimators=4, random_state=3,
        **{name: value for name, value in settings.items() if name != "sample_weight"},
    )  # fmt: skip
    held_out = None if model.budget is None else (X, Y)
    memory = saved(model.fit(X, Y, sample_weight=weight, validation=held_out), folder)
    columns = {"drop": ["w"]} if weight is None else {"weight": "w"}
    table = Table.parquet(folder, "y", **columns)
    assert saved(model.fit(table, validation=held_out), folder) == memory


def test_the_path_of_a_budget_forest_is_that_of_the_table_in_memory(folder) -> None:
    model = BudgetForestClassifier(PRICES, n_estimators=3, random_state=3)
    table = Table.parquet(folder, "y", ["w"])
    memory, files = (
        [(p.knob, p.bill, p.quality) for p in model.path(*rows, validation=(X, Y), alphas=[0, 4])]
        for rows in ((X, Y), (table,))
    )
    assert files == memory


def test_a_budget_needs_rows_to_be_measured_on(folder) -> None:
    model = BudgetForestClassifier(budget=1.0)
    with pytest.raises(DataError, match="budget: give a validation set"):
        model.fit(Table.parquet(folder, "y", ["w"]))
