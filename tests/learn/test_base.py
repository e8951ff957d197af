"""Bad input: one clear error that names the thing, whatever the estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thrifty import DataError, PriceError, Prices
from thrifty.bundle import Schema
from thrifty.learn import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.learn.dataset import TrainingSet

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
    with pytest.raises(DataError, match="table: 0 samples; give at least 2 rows"):
        model.fit(empty, LABELS[:0])
    with pytest.raises(DataError, match="table: 0 samples; give at least 1 row$"):
        model.fit(FRAME if hasattr(empty, "columns") else X, LABELS).predict(empty)


@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix"])
def test_a_sparse_table_is_refused_with_the_remedy(model, kind):
    table = getattr(sparse, kind)(X)
    with pytest.raises(DataError, match=r"sparse input .* X.toarray\(\), .*sparse_output=False"):
        model.fit(table, LABELS)
    with pytest.raises(DataError, match="sparse input is not supported"):
        model.fit(X, LABELS).predict(table)


def test_columns_go_by_name_in_any_order_and_others_are_ignored(model):
    model.set_params(prices={"age": 1, "chol": 2, "thal": 4}).fit(FRAME, LABELS)
    other = FRAME[["thal", "age", "chol"]].assign(note="x")
    for face in (model.predict, model.used, model.bill):
        np.testing.assert_array_equal(face(other), face(FRAME))


# --- prices without a price list


def test_a_mapping_a_series_and_a_sequence_are_price_lists(model):
    expected = clone(model).set_params(prices=Prices({"age": 1, "chol": 2, "thal": 4}))
    expected.fit(FRAME, LABELS)
    mapping = {"age": 1, "chol": 2, "thal": 4}
    for prices in (mapping, pd.Series(mapping), [1, 2, 4], np.array([1.0, 2.0, 4.0])):
        other = clone(model).set_params(prices=prices)
        assert other.get_params()["prices"] is not None
        other.fit(FRAME, LABELS)
        assert other.prices_ == expected.prices_
        np.testing.assert_array_equal(other.bill(FRAME), expected.bill(FRAME))
    given = type(model)(prices=mapping)
    assert given.get_params()["prices"] is mapping
    assert clone(given).prices == mapping


def test_wrong_prices_in_a_mapping_are_refused_by_name(model):
    with pytest.raises(PriceError, match="'chol': inf is not finite"):
        model.set_params(prices={"age": 1, "chol": np.inf, "thal": 4}).fit(FRAME, LABELS)


def test_prices_that_cover_more_than_the_table_are_a_warning(model):
    prices = {"age": 1, "chol": 2, "thal": 4, "sex": 8}
    with pytest.warns(UserWarning, match="the table has no such column: 'sex'"):
        model.set_params(prices=prices).fit(FRAME, LABELS)
    assert model.prices_.full == 7.0


def test_scikit_learn_s_own_pipeline_says_how_to_keep_the_names(model):
    pipeline = make_pipeline(StandardScaler(), model.set_params(prices=dict.fromkeys(FRAME, 1)))
    with pytest.raises(PriceError, match=r"thrifty.Pipeline, or call set_output"):
        pipeline.fit(FRAME, LABELS)
    pipeline.set_output(transform="pandas").fit(FRAME, LABELS)  # what the error says
    assert model.prices_.names == ("age", "chol", "thal")


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
    table = pd.concat([FRAME] * 20, ignore_index=True)
    model.fit(table, (table["thal"] > 3).astype(int))
    with pytest.raises(ValueError, match=r"'thal' is missing from the table; did you mean 'thall'"):
        model.predict(FRAME.rename(columns={"thal": "thall"}))


def test_a_column_that_the_model_never_reads_may_be_missing(model):
    table = pd.concat([FRAME] * 20, ignore_index=True).assign(constant=1.0)
    model.fit(table, (table["thal"] > 3).astype(int))
    assert not model.predictor_.reads[model.schema_.index("constant")]
    np.testing.assert_array_equal(model.predict(FRAME), model.predict(FRAME.assign(constant=1.0)))
    np.testing.assert_array_equal(model.bill(FRAME), model.bill(FRAME.assign(constant=1.0)))


# --- prices, weights, parameters


def test_a_price_of_an_unknown_feature_is_refused_with_the_near_one(model):
    model = type(model)(Prices({"age": 1, "chol": 2, "tahl": 3}))
    with pytest.raises(PriceError, match=r"'tahl'[\s\S]*'thal'"):
        model.fit(FRAME, LABELS)


def test_all_problems_of_the_prices_are_told_at_once(model):
    model = type(model)(Prices({"aeg": 1, "choll": 2}))
    with pytest.raises(PriceError, match=r"problems") as caught:
        model.fit(FRAME, LABELS)
    assert all(word in str(caught.value) for word in ("aeg", "choll", "thal"))


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
        ("prices", "prices.csv"),
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


# --- columns by name


def test_columns_go_by_name_in_any_order_and_among_others(model):
    model.fit(FRAME, LABELS)
    mixed = FRAME[["thal", "age", "chol"]].assign(extra="unread")
    np.testing.assert_array_equal(model.predict(mixed), model.predict(FRAME))
    np.testing.assert_array_equal(model.used(mixed), model.used(FRAME))
    np.testing.assert_array_equal(model.bill(mixed), model.bill(FRAME))


def test_a_validation_set_goes_by_name_too(model):
    mixed = FRAME[["thal", "age", "chol"]].assign(extra=0.0)
    (one, *_), (other, *_) = (
        list(model.path(FRAME, LABELS, validation=(table, LABELS))) for table in (FRAME, mixed)
    )
    assert (one.bill, one.quality) == (other.bill, other.quality)


# --- a table that was read before


def test_a_training_set_is_fitted_without_encoding_it_again(monkeypatch):
    train = TrainingSet.read("classification", FRAME, LABELS)
    expected = GreedyMiserClassifier(n_estimators=3).fit(FRAME, LABELS)
    monkeypatch.setattr(Schema, "encode", lambda *_: pytest.fail("encoded again"))
    model = GreedyMiserClassifier(n_estimators=3).fit(train, None)
    assert model.feature_names_in_.tolist() == list(FRAME.columns)
    assert model.n_features_in_ == 3 and model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(
        model.model_.score(train.X), expected.predictor_.model.score(train.X)
    )


def test_the_prices_of_the_estimator_count_and_not_those_of_the_training_set():
    train = TrainingSet.read("classification", FRAME, LABELS, Prices(dict.fromkeys(FRAME, 9.0)))
    model = GreedyMiserClassifier(n_estimators=1, min_samples_leaf=2).fit(train, None)
    assert model.prices_.full == 3.0


def test_a_model_knows_the_range_of_each_column_that_it_was_trained_on() -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 2.0] * 20, "c": ["x", "y", "x", "z"] * 20})
    model = GreedyMiserClassifier(n_estimators=2).fit(X, np.arange(80) % 2)
    assert model.predictor_.provenance["ranges"] == [[1.0, 3.0], None]
