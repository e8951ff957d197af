"""Adopting: what kind of file it is, names, classes, prices, and what becomes of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from thrifty import Prices, load
from thrifty.errors import DataError, PriceError
from thrifty.learn.adopt import adopt

SMALL = {"n_estimators": 6, "max_depth": 4, "random_state": 0}


@pytest.fixture(scope="module")
def forest(rows):
    return RandomForestClassifier(**SMALL).fit(rows.X, rows.two)


def test_an_adopted_model_is_a_predictor_like_any_other(forest, rows, tmp_path):
    prices = Prices([1.0, 2.0, 3.0, 4.0, 5.0], evaluation=0.5, unit="ms")
    predictor = adopt(forest, prices=prices)
    predictor.save(tmp_path / "m.thrifty")
    again = load(tmp_path / "m.thrifty")
    np.testing.assert_array_equal(again.predict(rows.held), forest.predict(rows.held))
    assert again.provenance["source"] == "scikit-learn RandomForestClassifier"
    walk = again.walk()
    while walk.asks:
        walk.tell({feature: float(rows.held[0, feature]) for feature in walk.asks})
    assert walk.answer == forest.predict(rows.held[:1])[0]
    assert walk.receipt.total == again.bill(rows.held[:1])[0]


def test_names_can_be_given(forest, rows):
    predictor = adopt(
        forest, feature_names=list("abcde"), prices=Prices(dict.fromkeys("abcde", 2.0))
    )
    assert set(predictor.walk().asks) <= set("abcde")
    assert predictor.bill(rows.held).max() <= 10.0


def test_names_can_come_from_a_table(forest, rows):
    frame = pd.DataFrame(rows.X, columns=list("abcde"))
    predictor = adopt(forest, X=frame)
    assert predictor.schema.names == tuple("abcde")


def test_a_table_with_other_columns_is_refused(rows):
    frame = pd.DataFrame(rows.X, columns=list("abcde"))
    named = RandomForestClassifier(**SMALL).fit(frame, rows.two)
    with pytest.raises(DataError, match="column 0 of X is 'z', but the model has 'a'"):
        adopt(named, X=frame.rename(columns={"a": "z"}))
    with pytest.raises(DataError, match="X has 4 columns, but the model reads 5"):
        adopt(named, X=frame[list("abcd")])
    with pytest.raises(DataError, match="'b' of X holds categories, the model reads numbers"):
        adopt(named, X=frame.assign(b=np.where(frame["b"] > 0, "high", "low")))


@pytest.mark.parametrize("names", [list("abcd"), list("abcda")])
def test_names_must_be_distinct_and_as_many_as_columns(forest, names):
    with pytest.raises(DataError, match="pass 5 distinct names"):
        adopt(forest, feature_names=names)


def test_classes_can_be_renamed_but_not_miscounted(forest, rows):
    renamed = adopt(forest, classes=["bad", "good"]).predict(rows.held)
    np.testing.assert_array_equal(renamed == "good", forest.predict(rows.held) == "yes")
    with pytest.raises(DataError, match="the model has 2 classes, but got 3 labels"):
        adopt(forest, classes=["a", "b", "c"])


def test_a_model_of_values_has_no_classes(rows):
    regressor = RandomForestRegressor(**SMALL).fit(rows.X, rows.value)
    assert adopt(regressor).classes is None
    with pytest.raises(DataError, match="predicts values"):
        adopt(regressor, classes=[0, 1])


def test_prices_are_bound_to_the_columns(forest):
    with pytest.raises(PriceError):
        adopt(forest, prices=Prices([1.0, 2.0]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04", "neither a LightGBM text file nor an XGBoost JSON file"),
        (b"", "neither"),
        (b"{L\x00\x00", "UBJSON"),
        (b"tree\n\xff\xfe", "not UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path, data, message):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        adopt(path)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        adopt(tmp_path / "absent.txt")
