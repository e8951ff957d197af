"""Tables as users have them: pandas and polars, names, categories, missing values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import DataError, Prices, load
from thrifty.bundle import Schema
from thrifty.learn import GreedyMiserClassifier, GreedyMiserRegressor
from thrifty.learn.dataset import TrainingSet, ValidationSet

ROWS = 240
NAMES = ["age", "city", "grade", "pulse", "sport"]
PRICES = Prices(
    {"age": 1, "city": 0.5, "grade": 2, "pulse": 5, "sport": 1},
    groups={"visit": ["pulse", "grade"]},
    shared={"visit": 3.0},
    unit="CAD",
)


def draw(seed=0):
    """Columns as lists, None where a value is missing, and a target that needs them all."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(20, 80, size=ROWS).tolist(),
        "city": rng.choice(["Bonn", "Oslo", "Rome", "Turku"], size=ROWS).tolist(),
        "grade": rng.choice(["low", "mid", "top"], size=ROWS).tolist(),
        "pulse": rng.normal(70, 10, size=ROWS).tolist(),
        "sport": (rng.random(ROWS) < 0.5).tolist(),
    }
    y = (
        np.array(columns["age"]) / 20
        + np.isin(columns["city"], ["Oslo", "Turku"]) * 2
        + np.array([{"low": 0, "mid": 3, "top": 1}[g] for g in columns["grade"]])
        + np.array(columns["pulse"]) / 20
        + np.array(columns["sport"])
    )
    for name in ("city", "grade", "pulse"):
        lost = np.flatnonzero(rng.random(ROWS) < 0.1)
        columns[name] = [None if i in lost else v for i, v in enumerate(columns[name])]
    return columns, y


def as_pandas(columns):
    frame = pd.DataFrame(columns)
    frame["grade"] = pd.Categorical(frame["grade"], categories=["low", "mid", "top"])
    return frame


def as_polars(columns):
    return pl.DataFrame(columns).with_columns(pl.col("grade").cast(pl.Enum(["low", "mid", "top"])))


def as_numbers(columns):
    """The same table, encoded by hand."""
    codes = {"city": ["Bonn", "Oslo", "Rome", "Turku"], "grade": ["low", "mid", "top"]}
    table = {
        name: [np.nan if v is None else codes[name].index(v) for v in values]
        if name in codes
        else [np.nan if v is None else float(v) for v in values]
        for name, values in columns.items()
    }
    return np.array([table[name] for name in NAMES]).T


TABLES = pytest.mark.parametrize("table", [as_pandas, as_polars], ids=["pandas", "polars"])


def model_of(**parameters):
    return GreedyMiserRegressor(PRICES, n_estimators=30, min_samples_leaf=5, **parameters)


@TABLES
def test_categories_and_missing_values_are_learnt_from(table):
    columns, y = draw()
    model = model_of().fit(table(columns), y)
    assert model.score(table(columns), y) > 0.9
    assert model.feature_names_in_.tolist() == NAMES
    assert model.used(table(columns)).any(axis=0).all()
    assert model.schema_.columns[1].categories == ("Bonn", "Oslo", "Rome", "Turku")


def test_pandas_and_polars_make_the_same_model():
    columns, y = draw()
    one, other = model_of().fit(as_pandas(columns), y), model_of().fit(as_polars(columns), y)
    np.testing.assert_array_equal(
        one.predict(as_pandas(columns)), other.predict(as_polars(columns))
    )
    np.testing.assert_array_equal(one.bill(as_pandas(columns)), other.bill(as_polars(columns)))


@TABLES
def test_the_frozen_model_reads_codes(table):
    columns, y = draw()
    model = model_of().fit(table(columns), y)
    np.testing.assert_array_equal(
        model.model_.score(as_numbers(columns)), model.predict(table(columns))
    )
    np.testing.assert_array_equal(model.schema_.encode(table(columns)), as_numbers(columns))


@TABLES
@pytest.mark.parametrize("charge", ["model", "example"])
def test_a_walk_by_name_ends_like_the_batch(table, charge):
    columns, y = draw()
    frame = table(columns)
    model = model_of(penalty=0.001, charge=charge).fit(frame, y)
    predictions, bills = model.predict(frame), model.bill(frame)
    for i in range(0, ROWS, 12):
        walk = model.walk()
        while walk.asks:
            name = walk.asks[0]
            walk.tell({name: columns[name][i]})
        assert walk.answer == predictions[i]
        assert walk.receipt.total == bills[i]


@TABLES
def test_a_saved_model_predicts_the_same(table, tmp_path):
    columns, y = draw()
    labels = np.where(y > np.median(y), "high", "low")
    model = GreedyMiserClassifier(PRICES, penalty=0.001, n_estimators=10)
    model.fit(table(columns), labels).save(tmp_path / "model.thrifty")
    again = load(tmp_path / "model.thrifty")
    np.testing.assert_array_equal(
        again.predict_proba(table(columns)), model.predict_proba(table(columns))
    )
    np.testing.assert_array_equal(again.bill(table(columns)), model.bill(table(columns)))


@TABLES
def test_a_category_never_seen_counts_as_missing_with_a_warning(table):
    columns, y = draw()
    model = model_of().fit(table(columns), y)
    strange = {**columns, "city": ["Lima"] * ROWS}
    unknown = {**columns, "city": [None] * ROWS}
    with pytest.warns(UserWarning, match=r"never seen in training.*'city': 'Lima'"):
        predicted = model.predict(table(strange))
    frame = table(unknown)
    np.testing.assert_array_equal(predicted, model.predict(frame))


def test_a_missing_category_goes_its_own_way():
    # Whether the city is known is all there is to learn.
    city = ["Bonn", "Oslo", None, None] * 50
    frame = pd.DataFrame({"city": city, "age": np.arange(200) % 7})
    y = np.array([value is None for value in city]) * 1.0
    model = GreedyMiserRegressor(n_estimators=1, learning_rate=1.0, max_depth=1).fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y, atol=1e-12)


def test_many_categories_are_told_apart():
    rng = np.random.default_rng(0)
    worth = rng.normal(size=255)
    codes = np.repeat(np.arange(255), 4)
    frame = pd.DataFrame(
        {"code": [f"c{code:03}" for code in codes], "noise": rng.normal(size=1020)}
    )
    model = GreedyMiserRegressor(n_estimators=80, learning_rate=0.5, min_samples_leaf=4)
    model.fit(frame, worth[codes])
    assert model.score(frame, worth[codes]) > 0.99
    assert model.used(frame)[:, 0].all()


def test_columns_of_single_precision_are_split_where_training_split_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32)
    y = (X[:, 0] > 0.1).astype(float)
    model = GreedyMiserRegressor(n_estimators=1, learning_rate=1.0, max_depth=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X.astype(np.float64)), model.predict(X))


def test_lists_and_arrays_go_by_position():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X[:, 1]
    array = GreedyMiserRegressor(n_estimators=3).fit(X, y)
    lists = GreedyMiserRegressor(n_estimators=3).fit(X.tolist(), y.tolist())
    np.testing.assert_array_equal(array.predict(X), lists.predict(X.tolist()))
    assert array.walk().asks == (1,)
    assert not hasattr(array, "feature_names_in_")


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["no", "yes"] * 30),
        pd.Series(["no", "yes"] * 30, dtype="category"),
        pl.Series(["no", "yes"] * 30),
        np.array([False, True] * 30),
        np.array([1.0, 2.0] * 30),
        [7, -3] * 30,
    ],
    ids=["pandas", "category", "polars", "bool", "float", "list"],
)
def test_labels_of_any_kind_come_back(labels):
    X = np.array([[0.0], [1.0]] * 30)
    model = GreedyMiserClassifier(n_estimators=3, learning_rate=1.0).fit(X, labels)
    assert model.predict(X).tolist() == list(labels)
    assert model.classes_.tolist() == sorted(set(labels))


# --- training and validation sets


def small_set(**given):
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "town": ["ulm", "bonn", "ulm", "kiel"]})
    return TrainingSet.read("classification", table, ["a", "b", "a", "b"], **given)


def test_rows_of_weight_0_are_dropped_from_table_target_and_weights():
    train = small_set(sample_weight=[1.0, 0.0, 2.0, 3.0])
    assert len(train) == len(train.table) == 3
    assert train.y.tolist() == [0, 0, 1] and train.weight.tolist() == [1.0, 2.0, 3.0]
    assert train.schema.columns[1].categories == ("bonn", "kiel", "ulm")  # learned from all rows


def test_class_weights_multiply_sample_weights():
    train = small_set(sample_weight=[1.0, 1.0, 2.0, 3.0]).with_class_weight({"a": 2.0, "b": 0.5})
    assert train.weight.tolist() == [2.0, 0.5, 4.0, 1.5]
    assert small_set().with_class_weight({"a": 0.0}).y.tolist() == [1, 1]
    with pytest.raises(DataError, match="every class of the target has weight 0"):
        small_set().with_class_weight({"a": 0.0, "b": 0.0})


def test_a_sample_knows_only_the_categories_that_it_has():
    whole = small_set()
    train = whole.sample(np.array([0, 1, 2]))
    assert train.schema.columns[1].categories == ("bonn", "ulm")
    assert train.X.tolist() == [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]
    with pytest.warns(UserWarning, match="'town': 'kiel'"):
        test = whole.hold_out(np.array([3]), train.schema)
    assert np.isnan(test.X[0, 1]) and test.labels.tolist() == ["b"]
    assert test.index.tolist() == [3] and test.row(0) == {"size": 4.0, "town": "kiel"}


def test_a_sample_without_a_class_is_refused():
    with pytest.raises(DataError, match=r"no row of class \['b'\] is left to train on"):
        small_set().sample(np.array([0, 2]))


def test_queries_are_numbered_anew_in_a_part():
    X, qid = np.zeros((6, 1)) + np.arange(6)[:, None], [7, 7, 8, 8, 9, 9]
    train = TrainingSet.read("ranking", X, [0, 1, 0, 1, 0, 1], qid=qid)
    assert train.take(np.array([0, 1, 4, 5])).query.tolist() == [0, 0, 1, 1]
    held = train.hold_out(np.array([4, 5]), train.schema)
    assert held.query.tolist() == held.clusters.tolist() == [0, 0]


def test_groups_are_numbered_and_stay_with_their_rows():
    train = small_set(groups=["eve", "bob", "eve", "ann"])
    assert train.clusters.tolist() == [2, 1, 2, 0] and train.query is None
    assert train.take(np.array([0, 2, 3])).clusters.tolist() == [1, 1, 0]
    assert train.hold_out(np.array([1, 3]), train.schema).clusters.tolist() == [1, 0]
    assert small_set().clusters is None
    weighted = small_set(groups=["eve", "bob", "eve", "ann"], sample_weight=[1.0, 0.0, 1.0, 1.0])
    assert weighted.clusters.tolist() == [1, 1, 0]


@pytest.mark.parametrize("groups", [None, ["eve"] * 4])
def test_a_single_group_may_be_divided(groups):
    assert small_set(groups=groups).groups is None
    assert small_set(groups=["eve", "bob", "eve", "ann"]).groups.tolist() == [2, 1, 2, 0]


def test_queries_are_the_groups_of_a_ranking_unless_it_has_larger_ones():
    X, qid = np.arange(4.0)[:, None], [5, 5, 6, 7]
    assert TrainingSet.read("ranking", X, [0, 1, 0, 1], qid=qid).clusters.tolist() == [0, 0, 1, 2]
    train = TrainingSet.read("ranking", X, [0, 1, 0, 1], qid=qid, groups=["me", "me", "me", "you"])
    assert train.clusters.tolist() == [0, 0, 0, 1] and train.query.tolist() == [0, 0, 1, 2]


def test_rows_that_are_held_out_keep_their_weights():
    train = small_set(sample_weight=[1.0, 2.0, 3.0, 4.0])
    held = train.hold_out(np.array([1, 2, 3]), train.schema)
    assert held.weight.tolist() == held.weights.tolist() == [2.0, 3.0, 4.0]
    assert held.take(np.array([2])).weight.tolist() == [4.0]
    plain = small_set().hold_out(np.array([1, 2]), train.schema)
    assert plain.weight is None and plain.weights.tolist() == [1.0, 1.0]


def test_quality_depends_on_the_task():
    train = small_set()
    validation = ValidationSet.read((train.table, ["a", "b", "a", "a"]), train)
    assert validation.quality(np.tile([0.9, 0.1], (4, 1))) == 0.75
    numbers = TrainingSet.read("regression", train.table, [0.0, 1.0, 2.0, 3.0])
    held = ValidationSet.read((train.table, [0.0, 1.0, 2.0, 3.0]), numbers)
    assert held.quality(np.array([0.0, 1.0, 2.0, 3.0])) == 1.0


@pytest.mark.parametrize("validation", [(1,), "xy", (1, 2, 3, 4)], ids=str)
def test_a_validation_set_is_a_table_and_its_target(validation):
    with pytest.raises(DataError, match="give the table and its target"):
        ValidationSet.read(validation, small_set())


def test_labels_that_a_predictor_never_saw_are_wrong():
    X = np.arange(40.0)[:, None]
    model = GreedyMiserClassifier(n_estimators=3, min_samples_leaf=2).fit(X, X[:, 0] > 20)
    rows = ValidationSet.for_predictor(model.predictor_, "classification", X[:2], ["huh", False])
    assert rows.labels.tolist() == ["huh", False]
    assert rows.quality(model.predict_proba(X[:2])) == 0.5


def test_a_part_of_the_columns_costs_one_unit_each():
    part = small_set(prices=Prices({"size": 5.0, "town": 7.0})).take_columns(np.array([1]))
    assert part.schema.names == ("town",) and part.prices.full == 1.0
    assert part.X.shape == (4, 1) and list(part.table.columns) == ["town"]


def test_the_same_table_is_encoded_by_another_schema():
    whole = small_set()
    other = Schema.of({"size": [1.0], "town": ["ulm"]})
    with pytest.warns(UserWarning, match="never seen"):
        assert np.isnan(whole.encode_by(other).X[:, 1]).tolist() == [False, True, False, True]
    assert whole.encode_by(whole.schema) is whole


def test_a_validation_set_takes_on_the_schema_and_the_classes_of_a_training_set():
    train = small_set()
    held = ValidationSet.read((train.table, ["a", "b", "a", "b"]), train)
    assert held.matching(train) is held
    other = replace(train, classes=np.array(["0", "a", "b"]), y=train.y + 1)
    assert held.matching(other).y.tolist() == [1, 2, 1, 2]
    with pytest.warns(UserWarning, match="never seen"):
        narrow = train.encode_by(Schema.of({"size": [1.0], "town": ["ulm"]}))
        assert np.isnan(held.matching(narrow).X[:, 1]).tolist() == [False, True, False, True]


def test_the_columns_of_a_named_table_are_sorted_for_training():
    frame = pd.DataFrame({"b": [1.0, 2.0, 3.0], "c": [4.0, 5.0, 6.0], "a": [7.0, 8.0, 9.0]})
    train = TrainingSet.read("regression", frame, [0.0, 1.0, 2.0], Prices([1, 2, 3]))
    assert train.schema.names == train.prices.names == ("a", "b", "c")
    assert train.X[0].tolist() == [7.0, 1.0, 4.0]
    assert train.prices.own.tolist() == [3.0, 1.0, 2.0]  # a list is in the order of the table
    part = train.take_columns(np.array([0, 2]))
    assert list(part.table.columns) == ["a", "c"] and part.schema.table_names == ("c", "a")


def test_results_by_column_are_in_the_order_of_the_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["z", "y", "x"])
    model = GreedyMiserRegressor(n_estimators=5, prices=[1.0, 10.0, 100.0])
    model.fit(frame, frame["z"] + 0.0)
    assert model.feature_names_in_.tolist() == ["z", "y", "x"]
    assert model.feature_importances_.argmax() == 0 and model.purchase_rates_[0] == 1.0
    assert model.used(frame)[:, 0].all() and model.bill(frame).min() >= 1.0
    assert model.schema_.names == model.prices_.names == ("x", "y", "z")
    np.testing.assert_array_equal(model.predict(frame), model.predictor_.predict(frame.to_numpy()))
    again = GreedyMiserRegressor(n_estimators=5).fit(
        TrainingSet.read("regression", frame, frame["z"]), None
    )
    assert again.feature_names_in_.tolist() == ["z", "y", "x"]
