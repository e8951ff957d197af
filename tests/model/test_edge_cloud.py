"""The frozen edge/cloud model: who transmits, what the cloud adds up, walks, and the model file."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thrifty.bundle import Predictor, Schema, load
from thrifty.costs import Prices
from thrifty.errors import BundleError
from thrifty.model import KINDS, EdgeCloud
from thrifty.model.encoding import Encoding

ACTIVATIONS = ("step", "sigmoid", "relu")


def three_devices(activation="sigmoid", threshold=0.1, n_classes=3, seed=0):
    """Devices on columns 0 and 3, on the codes of column 2, and on column 4; none on column 1."""
    rng = np.random.default_rng(seed)
    encoding = Encoding(
        np.array([0, 3, 2, 2, 4]), np.array([-1, -1, 0, 1, -1]), rng.normal(size=5),
        np.array([2.0, 0.5, 1.0, 1.0, 1.5]), np.array([0.0, 0.1, 0.25, 0.75, -0.2]),
    )  # fmt: skip
    return EdgeCloud(
        np.array([0, 2, 4, 5]), rng.normal(size=5), 0.3 * rng.normal(size=3),
        rng.normal(size=(5, n_classes)), rng.normal(size=(3, n_classes)),
        rng.normal(size=n_classes), encoding, activation, threshold, 5,
    )  # fmt: skip


def table(n=40, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 2] = rng.integers(0, 2, size=n)
    X[rng.random((n, 5)) < 0.2] = np.nan
    return X


def score_by_the_formula(model, row):
    """Scores and transmissions by Nan 2018, sec. 7.1, device by device."""
    z = model.encoding.apply(row[np.newaxis])[0]
    raw, sent = model.base.copy(), []
    for k, columns in enumerate(([0, 3], [2], [4])):
        own = slice(model.starts[k], model.starts[k + 1])
        value = model.offsets[k] + z[own] @ model.gate[own]
        contribution = model.bias[k] + z[own] @ model.weights[own]
        factor = {"step": 1.0, "sigmoid": 1 / (1 + np.exp(-value)), "relu": max(value, 0.0)}
        sent.append(bool(value > model.threshold and not np.isnan(row[columns]).all()))
        raw += factor[model.activation] * contribution if sent[-1] else 0.0
    powers = np.exp(raw - raw.max())
    return powers / powers.sum(), sent


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_scores_and_transmissions_are_those_of_the_formula(activation) -> None:
    model, X = three_devices(activation), table()
    expected = [score_by_the_formula(model, row) for row in X]
    np.testing.assert_allclose(model.score(X), [scores for scores, _ in expected])
    assert model.transmits(X).tolist() == [sent for _, sent in expected]
    assert 0.2 < model.transmits(X).mean() < 0.8
    assert model.evaluations(X).tolist() == [sum(sent) for _, sent in expected]


def test_a_row_pays_for_all_devices_whether_they_transmit_or_not() -> None:
    model, X = three_devices(), table()
    assert np.array_equal(model.used(X), np.tile([True, False, True, True, True], (len(X), 1)))
    assert model.support.tolist() == [True, False, True, True, True]
    assert model.most_evaluations == model.n_devices == 3


def test_a_device_without_any_value_is_closed_and_one_with_some_is_not() -> None:
    model = three_devices("step", threshold=-100.0)
    X = np.zeros((4, 5))
    X[1, 0] = np.nan
    X[2, [0, 3]] = np.nan
    X[3] = np.nan
    assert model.transmits(X).tolist() == [[True] * 3, [True] * 3, [False, True, True], [False] * 3]
    powers = np.exp(model.base - model.base.max())
    np.testing.assert_allclose(model.score(X)[3], powers / powers.sum())


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("rows", [1, 3, 700])
def test_a_row_alone_gets_the_bits_of_the_batch(activation, rows) -> None:
    model, X = three_devices(activation), table(700)
    whole, sent = model.score(X), model.transmits(X)
    assert np.array_equal(whole[:rows], model.score(X[:rows]))
    assert np.array_equal(sent[:rows], model.transmits(X[:rows]))


@given(seed=st.integers(0, 100), order=st.permutations(range(5)))
def test_a_walk_in_any_order_ends_with_the_bits_of_the_batch(seed, order) -> None:
    model, X = three_devices("relu", seed=seed), table(1, seed)
    walk = model.walk()
    for j in order:
        walk.tell({j: X[0, j]})
    assert not walk.asks
    assert np.array_equal(walk.scores, model.score(X)[0])
    assert walk.evaluations == model.evaluations(X)[0]
    assert set(walk.touched) == {0, 2, 3, 4}


def test_a_walk_asks_the_cheapest_device_for_all_its_features() -> None:
    model = three_devices("step", threshold=-100.0)
    walk = model.walk([3.0, 9.0, 5.0, 1.0, 9.0].__getitem__)
    assert walk.asks == (3, 0)
    walk.tell({3: 0.5})
    assert walk.asks == (0,) and walk.evaluations == 0
    walk.tell({0: 0.5})
    assert walk.asks == (2,) and walk.evaluations == 1
    # The others count as closed until they are complete.
    known = np.array([[0.5, np.nan, np.nan, 0.5, np.nan]])
    assert np.array_equal(walk.scores, model.score(known)[0])


def test_a_device_without_values_is_closed_and_not_charged() -> None:
    model = three_devices("step", threshold=-100.0)
    schema = Schema.of(table())
    prices = Prices([1.0, 1.0, 10.0, 1.0, 100.0], evaluation=1000.0).bind(5)
    predictor = Predictor(model, schema, prices, classes=[0, 1, 2])
    walk = predictor.walk()
    walk.tell({0: 1.0, 3: 1.0})
    walk.tell({2: 1.0})
    walk.skip(4)
    assert walk.done and walk.receipt.total == 12.0 + 2 * 1000.0
    skipped = np.array([[1.0, 0.0, 1.0, 1.0, np.nan]])
    assert np.array_equal(walk.scores, model.score(skipped)[0])


def test_without_devices_the_cloud_predicts_its_constants() -> None:
    none = np.zeros(0)
    encoding = Encoding(np.zeros(0, np.int64), np.zeros(0, np.int64), none, none, none)
    model = EdgeCloud(
        np.zeros(1, np.int64), none, none, np.zeros((0, 2)), np.zeros((0, 2)),
        np.log([0.25, 0.75]), encoding, "step", 0.0, 5,
    )  # fmt: skip
    np.testing.assert_allclose(model.score(table(2)), [[0.25, 0.75]] * 2)
    assert not model.used(table(2)).any() and model.transmits(table(2)).shape == (2, 0)
    assert not model.walk().asks
    assert EdgeCloud.build(*model.state()).n_devices == 0


def test_a_copy_and_a_file_keep_every_bit(tmp_path) -> None:
    model, X = three_devices("relu"), table()
    assert KINDS["mixture"] is EdgeCloud
    predictor = Predictor(model, Schema.of(X), Prices().bind(5), classes=["a", "b", "c"])
    predictor.save(tmp_path / "m.thrifty")
    for again in (copy.deepcopy(model), load(tmp_path / "m.thrifty").model):
        assert np.array_equal(again.score(X), model.score(X))
        assert not again.weights.flags.writeable and not again.encoding.scales.flags.writeable


def damaged(change):
    plain, arrays = three_devices().state()
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(plain, arrays)
    return plain, arrays


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p, a: p.pop("limit"), "expected the entries"),
        (lambda p, a: p.update(activation="tanh"), "unknown activation"),
        (lambda p, a: p.update(activation=[]), "unknown activation"),
        (lambda p, a: p.update(limit=float("nan")), "limit is nan"),
        (lambda p, a: p.update(limit=True), "limit is True"),
        (lambda p, a: p.update(n_features=0), "n_features is 0"),
        (lambda p, a: p.update(n_features=4), "beyond the 4"),
        (lambda p, a: a.pop("gate"), "expected the arrays"),
        (lambda p, a: a.update(gate=a["gate"].astype("f4")), "gate must be 1-d"),
        (lambda p, a: a.update(bias=a["bias"][:2]), "bias has shape"),
        (lambda p, a: a.update(base=a["base"][:1]), "has shape"),
        (lambda p, a: a["gate"].put(0, np.inf), "gate must be finite"),
        (lambda p, a: a["weights"].put(0, 1e150), "weights must be at most"),
        (lambda p, a: a["starts"].put(0, 1), "every device must read an encoded column"),
        (lambda p, a: a["starts"].put(1, 0), "every device must read an encoded column"),
        (lambda p, a: a["starts"].put(3, 9), "every device must read an encoded column"),
        (lambda p, a: a["columns"].put(4, 0), "read by two devices"),
        (lambda p, a: a["columns"].put(4, -1), "beyond the 5"),
        (lambda p, a: a["codes"].put(4, -2), "category that does not exist"),
        (lambda p, a: a["scales"].put(4, 0.0), "scales must be positive"),
    ],
)
def test_a_damaged_state_is_refused(change, message) -> None:
    with pytest.raises(BundleError, match=message):
        EdgeCloud.build(*damaged(change))


def test_a_table_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="reads 5 columns"):
        three_devices().score(np.zeros((2, 4)))
