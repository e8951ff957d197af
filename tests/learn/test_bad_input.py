"""Bad input: one clear error that names the thing, whatever the estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import DataError, PriceError, Prices
from thrifty.learn import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor

X = np.arange(60.0).reshape(20, 3) % 7
LABELS = np.arange(20) % 2
FRAME = pd.DataFrame(X, columns=["age", "chol", "thal"])

KINDS = [GreedyMiserClassifier, GreedyMiserRegressor, GreedyMiserRanker]


@pytest.fixture(params=KINDS, ids=["classifier", "regressor", "ranker"])
def model(request):
    return request.param()


def with_cell(value, row=4, column=1, dtype=None):
    table = X.astype(dtype) if dtype else X.copy()
    table[row, column] = value
    return table


# --- the target


def test_one_class_is_refused():
    with pytest.raises(DataError, match="target: there is only one class, 'yes'"):
        GreedyMiserClassifier().fit(X, ["yes"] * 20)


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_a_target_that_is_not_a_number_is_refused_with_its_row(model, value):
    y = LABELS.astype(float)
    y[7] = value
    with pytest.raises(DataError, match=r"target: .*in row 7 is (missing|infinity)"):
        model.fit(X, y)


def test_a_missing_label_is_refused_with_its_row():
    labels = np.array(["a", "b"] * 10, dtype=object)
    labels[3] = None
    with pytest.raises(DataError, match=r"target: None in row 3 is missing; drop the row"):
        GreedyMiserClassifier().fit(X, labels)
    with pytest.raises(DataError, match=r"target: .* in row 1 .*\(10 such rows\)"):
        GreedyMiserClassifier().fit(X, pd.Series(["a", None] * 10))


def test_labels_of_mixed_kinds_are_refused():
    with pytest.raises(DataError, match="target"):
        GreedyMiserClassifier().fit(X, np.array(["a", 1] * 10, dtype=object))


@pytest.mark.parametrize("rows", [0, 19, 21])
def test_a_target_of_another_length_is_refused(model, rows):
    with pytest.raises(DataError, match=f"target: {rows} values for 20 rows; give one value a row"):
        model.fit(X, np.resize(LABELS, rows) if rows else [])


def test_no_target_is_refused(model):
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(X, None)


@pytest.mark.parametrize("model", [GreedyMiserRegressor(), GreedyMiserRanker()], ids=str)
def test_text_as_a_numeric_target_is_refused(model):
    with pytest.raises(DataError, match="target: numbers are needed, found"):
        model.fit(X, ["low", "high"] * 10)


def test_grades_out_of_range_are_refused():
    with pytest.raises(DataError, match=r"target: .*-1.* in row 1 is negative; grades start at 0"):
        GreedyMiserRanker().fit(X, np.tile([0, -1], 10))
    with pytest.raises(DataError, match="too large for a gain"):
        GreedyMiserRanker().fit(X, np.tile([0, 61], 10))


def test_continuous_labels_are_refused():
    with pytest.raises(ValueError, match="Unknown label type"):
        GreedyMiserClassifier().fit(X, np.linspace(0, 1, 20))


# --- the table


def test_a_column_without_any_value_is_refused_by_name(model):
    frame = FRAME.assign(chol=np.nan)
    with pytest.raises(DataError, match="table: column 'chol' has no value at all"):
        model.fit(frame, LABELS)
    table = X.copy()
    table[:, 2] = np.nan
    with pytest.raises(DataError, match="table: column 2 has no value at all"):
        model.fit(table, LABELS)


@pytest.mark.parametrize("value", [np.inf, -np.inf], ids=str)
def test_an_infinite_value_is_refused_with_its_place(model, value):
    with pytest.raises(DataError, match=r"column 1 .*inf.* row 4"):
        model.fit(with_cell(value), LABELS)
    frame = pd.DataFrame(with_cell(value), columns=FRAME.columns)
    with pytest.raises(DataError, match=r"column 'chol' .*inf.* row 4"):
        model.fit(frame, LABELS)


def test_an_infinite_value_is_refused_in_prediction_too(model):
    model.fit(X, LABELS)
    with pytest.raises(DataError, match=r"column 1 .*inf.* row 4"):
        model.predict(with_cell(np.inf))


def test_text_in_a_numeric_column_is_refused_with_its_place(model):
    values = [str(v) for v in X[:, 1]]
    values[4] = "abc"
    frame = FRAME.assign(chol=values)
    with pytest.raises(DataError, match=r"column 'chol' .*'abc' in row 4"):
        model.fit(frame, LABELS)


def test_text_in_a_column_that_training_read_as_numbers_is_refused(model):
    model.fit(FRAME, LABELS)
    frame = FRAME.assign(chol=["abc", *FRAME["chol"][1:]])
    with pytest.raises(DataError, match=r"column 'chol' .*'abc'"):
        model.predict(frame)


@pytest.mark.parametrize("empty", [X[:0], FRAME[:0], pl.DataFrame(FRAME[:0])], ids=type)
def test_an_empty_table_is_refused(model, empty):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        model.fit(empty, LABELS[:0])


def test_a_table_without_columns_is_refused(model):
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        model.fit(X[:, :0], LABELS)


def test_one_row_is_refused(model):
    with pytest.raises(ValueError, match="1 sample"):
        model.fit(X[:1], LABELS[:1])


@pytest.mark.parametrize("model", [GreedyMiserRegressor(), GreedyMiserRanker()], ids=str)
def test_one_row_of_a_data_frame_is_refused_as_well(model):
    with pytest.raises(ValueError, match="1 sample"):
        model.fit(FRAME[:1], LABELS[:1])


def test_another_number_of_columns_is_refused_in_prediction(model):
    model.fit(X, LABELS)
    with pytest.raises(ValueError, match="2 features.*expecting 3"):
        model.predict(X[:, :2])


def test_another_name_is_refused_in_prediction(model):
    model.fit(FRAME, LABELS)
    with pytest.raises(ValueError, match=r"unseen at fit time[\s\S]*thall"):
        model.predict(FRAME.rename(columns={"thal": "thall"}))


# --- prices, weights, parameters


def test_a_price_of_an_unknown_feature_is_refused_with_the_near_one(model):
    model = type(model)(Prices({"age": 1, "chol": 2, "tahl": 3}))
    with pytest.raises(PriceError, match=r"'tahl'[\s\S]*'thal'"):
        model.fit(FRAME, LABELS)


def test_all_problems_of_the_prices_are_told_at_once(model):
    model = type(model)(Prices({"age": -1, "choll": 2}))
    with pytest.raises(PriceError, match=r"problems") as caught:
        model.fit(FRAME, LABELS)
    assert all(word in str(caught.value) for word in ("age", "-1", "choll", "thal"))


def test_prices_of_another_number_of_columns_are_refused(model):
    with pytest.raises(PriceError, match="2 prices.*3"):
        type(model)(Prices([1, 2])).fit(X, LABELS)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(20), "zero"),
        (np.full(20, -1.0), "[Nn]egative"),
        (np.full(20, np.nan), "NaN"),
        (np.ones(19), "19|shape|inconsistent"),
    ],
    ids=["zero", "negative", "NaN", "short"],
)
def test_weights_that_are_none_are_refused(model, weight, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, LABELS, sample_weight=weight)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("penalty", -1.0),
        ("penalty", np.nan),
        ("charge", "always"),
        ("n_estimators", 0),
        ("learning_rate", 0.0),
        ("max_depth", 0),
        ("max_depth", 13),
        ("min_samples_leaf", 0),
        ("prices", {"age": 1.0}),
        ("random_state", "lucky"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(model, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        type(model)(**{name: value}).fit(X, LABELS)


@pytest.mark.parametrize("model", [GreedyMiserClassifier, GreedyMiserRanker])
def test_an_unknown_loss_is_refused(model):
    with pytest.raises(ValueError, match="'loss' parameter"):
        model(loss="absolute").fit(X, LABELS)


# --- validation rows


def test_a_validation_label_that_training_lacks_is_refused():
    with pytest.raises(DataError, match=r"validation target: \[5\] are not classes"):
        GreedyMiserClassifier().fit(X, LABELS, validation=(X, np.full(20, 5)))


def test_a_validation_target_of_another_length_is_refused(model):
    with pytest.raises(DataError, match="target: 19 values for 20 rows"):
        model.fit(X, LABELS, validation=(X, LABELS[:19]))


def test_a_validation_table_of_another_width_is_refused(model):
    with pytest.raises(ValueError, match="2 features.*expecting 3"):
        model.fit(X, LABELS, validation=(X[:, :2], LABELS))


# --- queries


def test_queries_of_another_length_are_refused():
    with pytest.raises(DataError, match="qid: 5 values for 20 rows"):
        GreedyMiserRanker().fit(X, LABELS, qid=np.arange(5))


def test_queries_of_another_length_are_refused_beside_weights_too():
    with pytest.raises(DataError, match="qid: 5 values for 20 rows"):
        GreedyMiserRanker().fit(X, LABELS, qid=np.arange(5), sample_weight=np.arange(20.0))


def test_a_missing_query_is_refused_as_such():
    qid = np.where(np.arange(20) == 4, np.nan, 1.0)
    with pytest.raises(DataError, match="qid: .*in row 4 is missing"):
        GreedyMiserRanker().fit(X, LABELS, qid=qid)


def test_nothing_is_predicted_before_fit(model):
    for method in (model.predict, model.used, model.bill):
        with pytest.raises(ValueError, match="not fitted"):
            method(X)


def test_a_failed_fit_keeps_the_model_that_was_there(model):
    fitted = type(model)(n_estimators=3).fit(X, LABELS)
    before = fitted.predict(X)
    with pytest.raises(DataError):
        fitted.fit(X, LABELS[:5])
    np.testing.assert_array_equal(fitted.predict(X), before)
