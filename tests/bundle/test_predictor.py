"""A predictor: raw tables in, labels and bills out; parts that do not fit are refused."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.bundle.predictor import build_classes, plain_classes, read_classes
from thrifty.costs import Prices
from thrifty.errors import BundleError, DataError
from thrifty.model import Average, Branch, Forest

TABLE = {"age": [45, 63, 63], "chol": [1.0, 1.0, 9.0], "sex": ["m", "f", None]}


def test_a_predictor_takes_raw_tables_and_returns_labels(predictor):
    for table in (TABLE, pd.DataFrame(TABLE)):
        assert predictor.predict(table).tolist() == ["well", "ill", "ill"]
        np.testing.assert_array_equal(
            predictor.predict_proba(table), [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
        )
        assert predictor.used(table).tolist() == [[True, False, False], *[[True, True, False]] * 2]
        assert predictor.evaluations(table).tolist() == [1, 2, 2]


def test_a_bill_adds_own_and_shared_prices_and_evaluations(predictor):
    assert predictor.bill(TABLE).tolist() == pytest.approx([1.01, 10.39, 10.39], rel=1e-12)


def test_the_ceiling_is_the_bill_of_the_most_expensive_path(predictor):
    assert predictor.ceiling == predictor.bill(TABLE).max()


def reading(*features, d=5):
    """Return a constant that every row buys some features for."""
    constant = Forest.constant([0.0], "sum", d)
    return Average.of([constant], [0.0], reads=np.isin(np.arange(d), features))


@given(st.data())
def test_the_ceiling_of_a_branch_is_what_its_dearest_side_costs(data):
    sets = st.lists(st.integers(0, 4), max_size=4)
    own = data.draw(st.lists(st.integers(0, 9), min_size=5, max_size=5))
    prices = Prices(own, groups={"pair": [1, 2]}, shared={"pair": data.draw(st.integers(0, 9))})
    left, right = reading(*data.draw(sets)), reading(*data.draw(sets))
    branch = Branch.of(left, right, data.draw(st.integers(0, 4)), [0.0], threshold=0.0)
    predictor = Predictor(branch, Schema.of(np.zeros((2, 5))), prices.bind(5))
    assert predictor.ceiling == predictor.bill(np.array([[-1.0] * 5, [1.0] * 5])).max()


CORPUS = Path(__file__).parents[1] / "corpus"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.thrifty")), ids=lambda path: path.stem)
def test_no_row_costs_more_than_the_ceiling_whatever_the_kind_of_model(path):
    predictor = load(path)
    rng, d = np.random.default_rng(0), len(predictor.schema)
    # Codes and numbers far apart, many of them missing, straight into the model.
    X = rng.choice([0.0, 1.0, 2.0, -7.0, 0.3, 900.0], size=(500, d)) + rng.normal(size=(500, d))
    X = np.where(rng.random((500, d)) < 0.5, X.round(), X)
    X[rng.random((500, d)) < 0.3] = np.nan
    categorical = [column.categories is not None for column in predictor.schema.columns]
    X[:, categorical] = np.abs(X[:, categorical].round()) % 3
    model, prices = predictor.model, predictor.prices
    bills = prices.bill(model.used(X), model.evaluations(X))
    everything = prices.bill(model.support[np.newaxis], model.most_evaluations)[0]
    assert bills.max() <= predictor.ceiling <= everything


def test_free_evaluations_are_not_counted(make, monkeypatch):
    predictor = make(prices=Prices({"age": 1.0, "chol": 2.0, "sex": 3.0}))
    monkeypatch.setattr(predictor.model, "evaluations", None)
    assert predictor.bill(TABLE).tolist() == [1.0, 3.0, 3.0]


def test_a_regression_predicts_values(make):
    predictor = make(classes=None)
    assert predictor.predict(TABLE).tolist() == [0.1, 0.6, 0.8]
    with pytest.raises(TypeError, match="values, not classes"):
        predictor.predict_proba(TABLE)


def test_a_predictor_without_names_uses_positions(make):
    predictor = make(schema=Schema.of(np.eye(2)), prices=Prices([1.0, 2.0]))
    assert predictor.predict([[45, 0], [63, 0]]).tolist() == ["well", "ill"]
    assert predictor.bill(np.array([[45, 0], [63, 0]], dtype=np.float32)).tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    "classes, kind",
    [
        ([False, True], np.bool_),
        (np.array([0, 1], dtype=np.int8), np.int64),
        (np.array([0, 1], dtype=np.uint64), np.int64),
        (np.array([0, 1], dtype=np.float32), np.float64),
        (np.array(["no", "yes"], dtype=object), np.str_),
        (pd.Series(["no", "yes"]), np.str_),
    ],
    ids=str,
)
def test_classes_have_one_of_four_types(make, classes, kind):
    predictor = make(classes=classes)
    assert issubclass(predictor.classes.dtype.type, kind)
    assert predictor.predict(TABLE).dtype == predictor.classes.dtype
    assert predictor.labels == list(classes)


@pytest.mark.parametrize(
    "classes",
    [
        [1, 1],
        np.array([1, "a"], dtype=object),
        [0.0, math.nan],
        [[0, 1]],
        np.array([2**63, 1], dtype=np.uint64),
        [1j, 2j],
        [],
    ],
    ids=str,
)
def test_classes_that_a_file_cannot_hold_are_refused(make, classes):
    with pytest.raises(DataError, match="labels must be distinct"):
        make(classes=classes)


def test_parts_that_do_not_fit_are_refused_all_at_once(make, two_questions, predictor):
    model = two_questions(np.zeros(2), np.zeros((3, 2)), 5)
    with pytest.raises(DataError) as caught:
        type(predictor)(model, predictor.schema, Prices([1.0]).bind(1))
    assert "the model reads 5 columns, the schema has 3" in str(caught.value)
    assert "there are 1 prices for 3 columns" in str(caught.value)


def test_prices_of_other_columns_are_refused(predictor):
    prices = Prices({"sex": 1.0, "chol": 1.0, "age": 1.0}).bind(["sex", "chol", "age"])
    with pytest.raises(DataError, match="other columns"):
        type(predictor)(predictor.model, predictor.schema, prices)


def test_a_predictor_can_be_copied(predictor):
    again = copy.deepcopy(predictor)
    assert again.predict(TABLE).tolist() == predictor.predict(TABLE).tolist()
    assert repr(again) == repr(predictor) == "Predictor(two-questions, 3 features, 2 classes)"


@pytest.mark.parametrize("classes", [None, [False, True], [3, -4], [0.5, 2.0], ["no", "yes"]])
def test_classes_survive_their_plain_form(classes):
    plain = plain_classes(None if classes is None else read_classes(classes))
    again = build_classes(plain)
    assert classes is again is None or again.tolist() == classes


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"type": "int", "labels": "12"},
        {"type": "int", "labels": [1, 1]},
        {"type": "int", "labels": [1, 2**63]},
        {"type": "str", "labels": [1, 2]},
        {"type": None, "labels": []},
        {"type": "float", "labels": [0.5, math.inf]},
    ],
    ids=str,
)
def test_an_invalid_plain_form_of_classes_is_refused(plain):
    with pytest.raises(BundleError, match="the classes must"):
        build_classes(plain)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(list(range(16_385)), "int"), (["x" * 10_000, *map(str, range(2000))], "str"),
     (["a", "a\0"], "str"), (["a", "\ud800"], "str"), (["a", "b" * 10_001], "str")],
    ids=range(5),
)  # fmt: skip
def test_too_many_classes_and_labels_that_change_are_refused(labels, kind):
    with pytest.raises(DataError, match="classes"):
        read_classes(np.array(labels, dtype=object))
    with pytest.raises(BundleError, match="classes"):
        build_classes({"type": kind, "labels": labels})
