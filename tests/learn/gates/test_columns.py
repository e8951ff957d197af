"""The columns of call results: their names, prices, walks and clashes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import thrifty
from thrifty import Call, GatedClassifier, Prices
from thrifty.errors import DataError
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.gates.columns import GateColumns
from thrifty.learn.gates.expensive_model import ExpensiveModel
from thrifty.model import Forest


def test_a_call_is_paid_by_the_rows_that_make_it(gate_with_call, named_table) -> None:
    model = gate_with_call
    X, _ = named_table(200, seed=1)
    sent, used, bill = model.sent(X), model.used(X), model.bill(X)
    assert sent.any() and not sent.all()
    np.testing.assert_array_equal(used[:, 4:], np.repeat(sent[:, np.newaxis], 2, axis=1))
    assert (used[sent][:, [0, 1, 3]]).all()
    own = used[:, :4] @ [1.0, 2.0, 4.0, 1.0]
    np.testing.assert_allclose(bill, own + 5.0 * sent)


def test_a_walk_asks_for_features_then_for_the_call(gate_with_call, named_table, tmp_path) -> None:
    model = gate_with_call
    X, _ = named_table(200, seed=1)
    model.save(tmp_path / "m.thrifty")
    loaded = thrifty.load(tmp_path / "m.thrifty")
    row = int(np.flatnonzero(model.sent(X))[0])
    example = X.iloc[row].to_dict()
    walk = loaded.walk()
    while walk.asks and not walk.asks[0].startswith("oracle"):
        walk.tell({name: example[name] for name in walk.asks})
    assert walk.asks == ("oracle: no", "oracle: yes")
    walk.tell(model.make_call(walk.told))
    assert walk.answer == model.predict(X.iloc[[row]])[0]
    assert walk.receipt.total == model.bill(X.iloc[[row]])[0]
    kept = int(np.flatnonzero(~model.sent(X))[0])
    short = loaded.walk()
    short.tell(X.iloc[kept].to_dict())
    assert short.answer == model.predict(X.iloc[[kept]])[0]


def test_a_call_is_not_made_without_what_it_needs(gate_with_call) -> None:
    with pytest.raises(DataError, match="needs"):
        gate_with_call.make_call({"a": 0.5})


def test_a_frozen_model_has_no_call_to_make(half_hard, small) -> None:
    X, y = half_hard(100)
    forest = RandomForestClassifier(3, random_state=0)
    model = GatedClassifier(forest, **small).fit(X, y)
    with pytest.raises(DataError, match="there is no call to make"):
        model.make_call({0: 1.0})


def test_a_skipped_call_falls_back_to_the_local_model(gate_with_call, named_table) -> None:
    model = gate_with_call
    X, _ = named_table(200, seed=1)
    row = int(np.flatnonzero(model.sent(X))[0])
    walk = model.walk()
    walk.tell(X.iloc[row].to_dict())
    for name in walk.asks:
        walk.skip(name)
    local = model.model_.local.score(model._encode(X.iloc[[row]]))
    np.testing.assert_array_equal(walk.scores, local[0])
    assert {p.feature: p.why for p in walk.receipt.purchases}["oracle: yes"] == "skipped"


def test_call_results_of_a_table_without_names_have_positions(small) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    call = Call("adder", 1.0, needs=[0, 1], fn=lambda rows: (rows.sum(axis=1) > 0).astype(int))
    model = GatedClassifier(call, **small).fit(X, y)
    row = int(np.flatnonzero(model.sent(X))[0])
    walk = model.walk()
    walk.tell(dict(enumerate(X[row].tolist())))
    assert walk.asks == (3, 4)
    walk.tell(model.make_call(walk.told))
    assert walk.answer == model.predict(X[[row]])[0]


def test_names_that_clash_are_refused(named_table, small) -> None:
    X, y = named_table()
    with pytest.raises(DataError, match="column 'x: no' already"):
        GatedClassifier(Call("x", fn=lambda rows: y), **small).fit(X.assign(**{"x: no": 1.0}), y)
    prices = Prices(dict.fromkeys(X.columns, 1.0), groups={"x": ["a"]})
    with pytest.raises(DataError, match="group of that name"):
        GatedClassifier(Call("x", fn=lambda rows: y), prices, **small).fit(X, y)


def test_rows_are_widened_by_nan_or_by_results() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    train = TrainingSet.read("classification", X, ["a", "b"])
    columns = GateColumns.of(ExpensiveModel(Call("x", 7.0), np.eye(2), None), train)
    assert columns.prices.full == 9.0
    wide = columns.widen(X)
    assert wide.dtype == np.float32 and np.isnan(wide[:, 2:]).all()
    proba = np.array([[0.1, 0.9], [0.3, 0.7]])
    np.testing.assert_array_equal(columns.widen(X, proba)[:, 2:], proba)
    np.testing.assert_array_equal(columns.assume_calls(X)[:, 2:], 0.5)
    model = Forest.constant([0.0], "sum", 2)
    assert columns.widen_model(model).n_features == 4
    assert columns.widen_training(train).X.shape == (2, 4)


def test_a_frozen_model_leaves_the_table_as_it_is() -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    train = TrainingSet.read("classification", X, ["a", "b"])
    frozen = Forest.constant([0.5, 0.5], "mean", 2)
    columns = GateColumns.of(ExpensiveModel(Call("x"), np.eye(2), frozen), train)
    assert columns.call_result is None and columns.schema == train.schema
    assert columns.widen(X) is X and columns.assume_calls(X) is X
    assert columns.widen_model(frozen) is frozen
