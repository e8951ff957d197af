"""Scoring batch by batch: the results of the whole table, whatever the batches are."""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import DataError, GreedyMiserClassifier, GreedyMiserRegressor, Prices
from thrifty.bundle import score_batches, unpack_used

RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.normal(size=(120, 11)).round(2), columns=[f"x{j}" for j in range(10, -1, -1)])
X["sex"] = RNG.choice(["f", "m"], size=120)
Y = np.where(X["x3"] + X["x7"] * (X["sex"] == "m") > 0, "ill", "well")


@pytest.fixture(scope="module")
def classifier() -> GreedyMiserClassifier:
    own = {**dict.fromkeys(X.columns, 0.5), "x3": 2.0, "x7": 3.0}
    prices = Prices(own, groups={"pair": ["x3", "x7"]}, shared={"pair": 1.0})
    model = GreedyMiserClassifier(prices=prices, n_estimators=8, min_samples_leaf=3)
    return model.fit(X, Y)


def parts(frame, size):
    return (frame.iloc[start : start + size] for start in range(0, len(frame), size))


@pytest.mark.parametrize("size", [1, 7, 120])
def test_results_are_those_of_the_whole_table(classifier, size) -> None:
    found = pd.concat(score_batches(classifier, parts(X, size)))
    assert found.index.equals(X.index)
    assert found["prediction"].tolist() == classifier.predict(X).tolist()
    proba = found[["proba_ill", "proba_well"]].to_numpy()
    assert np.array_equal(proba, classifier.predict_proba(X))
    assert np.array_equal(found["bill"], classifier.bill(X))
    assert np.array_equal(unpack_used(found["used"], 12), classifier.used(X))


def test_a_model_of_values_has_no_probabilities() -> None:
    model = GreedyMiserRegressor(n_estimators=3).fit(X, X["x0"])
    (found,) = score_batches(model.predictor_, [X])
    assert list(found.columns) == ["prediction", "bill", "used"]
    assert np.array_equal(found["prediction"], model.predict(X))


def test_results_have_the_type_of_the_table(classifier) -> None:
    table = X.to_dict("list")
    (mapping,) = score_batches(classifier, [table], id_column="x5")
    (frame,) = score_batches(classifier, [pl.DataFrame(table)], id_column="x5")
    assert isinstance(frame, pl.DataFrame) and mapping["x5"] == table["x5"]
    assert frame["used"].to_list() == mapping["used"].tolist()
    numbers = X.drop(columns="sex").to_numpy()
    model = GreedyMiserRegressor(n_estimators=3).fit(numbers, X["x0"])
    (columns,) = score_batches(model, [numbers])
    assert np.array_equal(columns["prediction"], model.predict(numbers))


def test_empty_parts_are_skipped(classifier) -> None:
    assert [len(part) for part in score_batches(classifier, [X.iloc[:0], X, X.iloc[:0]])] == [120]


def test_rows_in_errors_count_from_the_first_part(classifier) -> None:
    bad = X.astype({"x3": object})
    bad.loc[95, "x3"] = "abc"
    bad.loc[96, "x7"] = np.inf
    with pytest.raises(DataError, match=r"'abc' in row 95.*\n.*inf in row 96"):
        list(score_batches(classifier, parts(bad, 30)))


def test_unknown_categories_are_one_warning(classifier) -> None:
    other = X.assign(sex=[f"s{i % 2}" for i in range(120)])
    with pytest.warns(UserWarning, match=r"'sex': 's0', 's1'\)$") as caught:
        list(score_batches(classifier, parts(other, 30)))
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("frame", "name", "message"),
    [
        (X, "x33", "did you mean 'x3'"),
        (X.to_numpy(), "x3", "an array has no column 'x3'"),
        (X.assign(bill=1), "bill", "has a column 'bill' already"),
    ],
)
def test_a_wrong_identifier_is_refused(classifier, frame, name, message) -> None:
    with pytest.raises(DataError, match=message):
        next(score_batches(classifier, [frame], id_column=name))


@pytest.mark.parametrize("text", ["8", "80000", "80g0", "", "8000 "])
def test_what_is_not_a_used_column_is_refused(text) -> None:
    with pytest.raises(DataError, match="in row 1 does not stand for 12 features"):
        unpack_used(["8000", text], 12)


def test_an_error_of_a_call_names_the_rows(classifier) -> None:
    class Failing:
        columns = frozenset[int]()

        def answer(self, values):
            raise AssertionError

        def complete(self, table):
            if table.index[0]:
                raise DataError("table: no server")
            return table

    connected = classifier.predictor_.connect(Failing())
    with pytest.raises(DataError, match="in the rows from 60 on: table: no server"):
        list(score_batches(connected, parts(X, 60)))


def test_a_dask_frame_is_scored_by_its_partitions(classifier, dask_client) -> None:
    rows = X.assign(id=np.arange(120))
    frame = dd.from_pandas(rows, npartitions=4)
    frame = dd.concat([frame, frame[frame["id"] > 120].partitions[:1]])  # and an empty partition
    scored = score_batches(classifier, frame, id_column="id")
    assert scored.npartitions == 5
    (expected,) = score_batches(classifier, [rows], id_column="id")
    found = scored.compute()
    assert list(scored.columns) == list(expected.columns)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    with pytest.raises(DataError, match="there is no column 'idd'; did you mean 'id'"):
        score_batches(classifier, frame, id_column="idd")


@pytest.mark.filterwarnings("ignore")
def test_spark_scores_by_map_in_pandas(classifier) -> None:
    """The recipe of docs/scale.rst. It needs Spark, which is no requirement of the tests."""
    sql = pytest.importorskip("pyspark.sql")
    predictor = classifier.predictor_
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
    with spark.getOrCreate() as session:
        frame = session.createDataFrame(X.assign(id=np.arange(120))).repartition(3)
        schema = "id long, prediction string, proba_ill double, proba_well double, bill double"
        scored = frame.mapInPandas(
            lambda parts: score_batches(predictor, parts, id_column="id"),
            f"{schema}, used string",
        )
        found = scored.toPandas().sort_values("id", ignore_index=True)
    (expected,) = score_batches(classifier, [X.assign(id=np.arange(120))], id_column="id")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
