"""Data sets in a folder of Parquet files, with their prices."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty.data import load, names
from thrifty.errors import DataError, PriceError


def put(folder: Path, name: str, **columns: list[object]) -> None:
    pd.DataFrame(columns).to_parquet(folder / f"{name}.parquet")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    put(tmp_path, "heart", age=[30.0, None, 60.0], chol=[1.0, 2.0, 3.0], y=[0, 1, 1])
    costs = "feature,cost,group,discount_cost,delayed\nage,1,,1,x\nchol,7.27,A,5.17,x\n"
    (tmp_path / "heart.costs.csv").write_text(costs)
    put(tmp_path, "plain", a=[1, 2], b=[3, 4], y=[1, 0])
    return tmp_path


def test_names_are_the_parquet_files_of_the_folder_sorted(home: Path) -> None:
    assert names(home) == ("heart", "plain")


def test_a_set_with_published_costs_is_priced_in_dollars(home: Path) -> None:
    table = load("heart", home)
    bound = table.prices.bind(list(table.X.columns))
    assert bound.unit == "CAD"
    assert bound.own.tolist() == [1.0, 5.17]
    assert bound.shared.tolist() == [2.1]
    assert "published" in table.note
    assert "missing value" in table.note


def test_missing_values_stay_missing(home: Path) -> None:
    assert load("heart", home).X["age"].isna().tolist() == [False, True, False]


def test_a_set_with_groups_pays_a_group_once(home: Path) -> None:
    (home / "plain.groups.csv").write_text("feature,group\na,g\nb,g\n")
    table = load("plain", home)
    bound = table.prices.bind(["a", "b"])
    assert bound.own.tolist() == [0.0, 0.0]
    assert bound.shared.tolist() == [2.0]
    assert "once" in table.note


def test_a_set_without_price_list_has_unit_prices(home: Path) -> None:
    table = load("plain", home)
    assert table.prices.bind(["a", "b"]).own.tolist() == [1.0, 1.0]
    assert table.note == "unit prices"


def test_reserved_columns_are_not_features(tmp_path: Path) -> None:
    put(
        tmp_path,
        "toy",
        a=[1.0, 2.0],
        y=[0, 1],
        y_raw=[0.5, 1.5],
        split=["train", "test"],
        qid=[7, 8],
        part=[1, 2],
        site=["x", "y"],
        selector=[1, 2],
    )
    table = load("toy", tmp_path)
    assert list(table.X.columns) == ["a"]
    assert table.split is not None and table.split.tolist() == ["train", "test"]
    assert table.split.dtype.kind == "U"
    assert table.qid is not None and table.qid.tolist() == [7, 8]


def test_a_set_without_split_and_queries_has_none(home: Path) -> None:
    table = load("plain", home)
    assert table.split is None
    assert table.qid is None


def test_small_integers_of_the_target_are_widened(tmp_path: Path) -> None:
    y = np.array([0, 1], dtype=np.int8)
    pd.DataFrame({"a": [1.0, 2.0], "y": y}).to_parquet(tmp_path / "toy.parquet")
    assert load("toy", tmp_path).y.dtype == np.int64


def test_a_target_of_numbers_keeps_its_values(tmp_path: Path) -> None:
    put(tmp_path, "toy", a=[1.0, 2.0], y=[0.25, 1.5])
    assert load("toy", tmp_path).y.tolist() == [0.25, 1.5]


def put_thyroid(folder: Path) -> None:
    put(folder, "thyroid", TT4=[1.0], T4U=[2.0], FTI=[0.5], y=[0])
    lines = ["feature,cost,group,discount_cost", "TT4,14.51,A,12.41", "T4U,11.41,A,9.31"]
    (folder / "thyroid.costs.csv").write_text("\n".join([*lines, "FTI,25.92,A,21.72"]))


def test_thyroid_leaves_the_computed_feature_out_unless_asked_to_keep_it(tmp_path: Path) -> None:
    put_thyroid(tmp_path)
    assert list(load("thyroid", tmp_path).X.columns) == ["TT4", "T4U"]
    kept = load("thyroid", tmp_path, drop=())
    assert list(kept.X.columns) == ["TT4", "T4U", "FTI"]
    assert kept.prices.bind(list(kept.X.columns)).shared.tolist() == [2.1]


def test_uncertain_prices_are_mentioned_in_the_note(tmp_path: Path) -> None:
    put_thyroid(tmp_path)
    assert "inferred" in load("thyroid", tmp_path).note


def test_features_can_be_dropped(home: Path) -> None:
    table = load("heart", home, drop=["chol"])
    assert list(table.X.columns) == ["age"]
    assert table.prices.bind(["age"]).full == 1.0


def test_an_unknown_feature_to_drop_is_reported_with_a_suggestion(home: Path) -> None:
    with pytest.raises(DataError, match="no feature 'cholo' to drop; did you mean 'chol'"):
        load("heart", home, drop=["cholo"])


def test_an_unknown_set_is_reported_with_a_suggestion(home: Path) -> None:
    with pytest.raises(DataError, match=r"no data set 'hart'.*did you mean 'heart'"):
        load("hart", home)


def test_a_set_in_the_wrong_case_is_suggested(home: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'heart'"):
        load("HEART", home)


def test_an_unknown_set_is_reported_with_all_that_exist(home: Path) -> None:
    with pytest.raises(DataError, match="it holds heart, plain"):
        load("zzz", home)


def test_a_path_is_not_a_name(home: Path) -> None:
    inner = home / "inner"
    inner.mkdir()
    with pytest.raises(DataError, match="no data set"):
        load("../plain", inner)


def test_a_set_without_target_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "toy", a=[1.0])
    with pytest.raises(DataError, match="no column 'y'"):
        load("toy", tmp_path)


def test_a_feature_without_a_price_is_refused_at_once(tmp_path: Path) -> None:
    put(tmp_path, "toy", a=[1.0], b=[2.0], y=[0])
    (tmp_path / "toy.costs.csv").write_text("feature,cost,group,discount_cost\na,1,,1\n")
    with pytest.raises(PriceError, match="b"):
        load("toy", tmp_path)


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "toy.parquet").write_bytes(b"not a table")
    with pytest.raises(DataError, match=r"toy\.parquet cannot be read"):
        load("toy", tmp_path)


def test_the_variable_says_where_the_folder_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THRIFTY_DATA", str(home))
    assert names() == ("heart", "plain")
    assert load("plain").name == "plain"


def test_a_folder_argument_overrides_the_variable(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THRIFTY_DATA", str(home / "elsewhere"))
    assert names(home) == ("heart", "plain")


def test_without_the_variable_the_folder_is_next_to_the_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THRIFTY_DATA", raising=False)
    (home / "shared" / "data").mkdir(parents=True)
    (home / "repo").mkdir()
    put(home / "shared" / "data", "toy", a=[1.0], y=[0])
    monkeypatch.chdir(home / "repo")
    assert names() == ("toy",)


def test_a_missing_folder_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THRIFTY_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"nowhere.*THRIFTY_DATA"):
        names()


def test_a_missing_pyarrow_is_reported_with_the_extra(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pyarrow.*thrifty\[parquet\]"):
        load("plain", home)
