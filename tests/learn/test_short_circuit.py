"""Short-circuiting predictors: the same answers, lower bills, in the user's words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.ensemble import RandomForestRegressor as Regressor

import thrifty.model
from thrifty import GreedyMiserClassifier, Predictor, Prices, load
from thrifty.bundle import Schema
from thrifty.checks import make_cases
from thrifty.checks.walks import check_walks
from thrifty.errors import DataError
from thrifty.learn.adopt import adopt
from thrifty.learn.short_circuit import make_rows, short_circuit, tree_order
from thrifty.model.base import Frozen
from thrifty.model.short_circuit.short_circuit import ShortCircuit

PRICES = Prices(
    [5.0, 1.0, 1.0, 2.0, 0.0, 8.0], groups={"pair": [1, 2]}, shared={"pair": 3.0}, evaluation=0.01
)


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).round(2)
    score = X[:, 0] + X[:, 1] * X[:, 2] + X[:, 5] + 0.5 * rng.normal(size=n)
    return X, np.digitize(score, [-1.0, 1.0])


X, Y = table()
HELD, _ = table(200, seed=1)


@pytest.fixture(scope="module", params=["forest", "boosted", "two classes"])
def whole(request):
    if request.param == "forest":
        return adopt(RandomForestClassifier(15, random_state=0).fit(X, Y), prices=PRICES)
    if request.param == "boosted":
        return adopt(HistGradientBoostingClassifier(max_iter=10).fit(X, Y), prices=PRICES)
    return adopt(
        RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, Y > 0), prices=PRICES
    )


@pytest.fixture(scope="module")
def quick(whole):
    return short_circuit(whole, X)


def test_the_answers_are_the_same_and_no_bill_rises(whole, quick):
    np.testing.assert_array_equal(quick.predict(HELD), whole.predict(HELD))
    assert (quick.bill(HELD) <= whole.bill(HELD)).all()
    assert quick.bill(HELD).mean() < whole.bill(HELD).mean()


def test_the_order_is_no_worse_than_that_of_the_forest_on_the_rows_it_saw(whole, quick):
    plain = ShortCircuit.of(whole.model)
    assert sorted(quick.model.order) == list(range(len(plain.order)))

    def bill(model):
        return whole.prices.bill(model.used(X), model.evaluations(X)).mean()

    assert bill(quick.model) <= bill(plain)


def test_walks_pay_what_the_batch_pays(quick):
    bills = quick.bill(HELD)
    for row in range(10):
        walk = quick.walk()
        while walk.asks:
            walk.tell({j: float(HELD[row, j]) for j in walk.asks})
        assert walk.receipt.total == bills[row]
        assert walk.answer == quick.predict(HELD[row : row + 1])[0]


def test_everything_else_stays(whole, quick):
    assert quick.schema is whole.schema and quick.prices is whole.prices
    assert quick.provenance == {**whole.provenance, "short_circuit": True}


def test_rows_are_not_needed(whole):
    alone = short_circuit(whole)
    np.testing.assert_array_equal(alone.predict(HELD), whole.predict(HELD))
    assert alone.bill(HELD).mean() < whole.bill(HELD).mean()


def test_the_order_is_the_same_every_time(whole, quick):
    np.testing.assert_array_equal(short_circuit(whole, X).model.order, quick.model.order)


def test_a_short_circuit_can_be_made_anew(quick):
    again = short_circuit(quick, X)
    np.testing.assert_array_equal(again.model.order, quick.model.order)
    assert again.provenance["short_circuit"] is True


def test_it_is_saved_and_loaded(quick, tmp_path, monkeypatch):
    monkeypatch.setitem(thrifty.model.KINDS, ShortCircuit.kind, ShortCircuit)
    quick.save(tmp_path / "quick.thrifty")
    again = load(tmp_path / "quick.thrifty")
    np.testing.assert_array_equal(again.predict_proba(HELD), quick.predict_proba(HELD))
    np.testing.assert_array_equal(again.bill(HELD), quick.bill(HELD))


@pytest.mark.filterwarnings("ignore:categories never seen")
@pytest.mark.parametrize(
    "case", list(make_cases(GreedyMiserClassifier())), ids=lambda case: case.name
)
def test_the_law_of_walks_holds_on_tables_of_all_kinds(case):
    fitted = case.fit(GreedyMiserClassifier(n_estimators=12, max_depth=3, min_samples_leaf=5))
    check_walks(short_circuit(fitted.predictor_), case, range(6))


@given(st.integers(0, 2**32 - 1))
def test_bills_never_rise_whatever_the_prices(seed):
    rng = np.random.default_rng(seed)
    rows, y = table(60, seed)
    model = adopt(RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, y > 0))
    own = rng.choice([0.0, 0.5, 1.0, 20.0], size=6).tolist()
    prices = Prices(own, groups={"g": [0, 3]}, shared={"g": float(rng.integers(0, 5))}).bind(6)
    priced = Predictor(model.model, model.schema, prices, model.classes)
    quick = short_circuit(priced, rows)
    assert (quick.bill(HELD) <= priced.bill(HELD)).all()
    np.testing.assert_array_equal(quick.predict(HELD), priced.predict(HELD))


def test_values_stay_within_the_tolerance():
    whole = adopt(
        Regressor(20, max_depth=4, random_state=0).fit(X, X[:, 0] + X[:, 5]), prices=PRICES
    )
    quick = short_circuit(whole, X, tolerance=0.4)
    assert np.abs(quick.predict(HELD) - whole.predict(HELD)).max() <= 0.4
    assert quick.bill(HELD).mean() < whole.bill(HELD).mean()


def test_values_need_a_tolerance_and_classes_take_none(whole):
    values = adopt(Regressor(3).fit(X, X[:, 0]))
    with pytest.raises(DataError, match="give a tolerance above 0"):
        short_circuit(values)
    with pytest.raises(DataError, match="a tolerance is for models of values"):
        short_circuit(whole, tolerance=0.1)


def test_a_model_without_trees_is_refused(whole):
    class Constant(Frozen):
        kind = "constant"
        n_features = 6
        n_scores = 3
        score = used = evaluations = support = most_evaluations = walk = state = build = None

    other = Predictor(Constant(), Schema.of(X), PRICES.bind(6), [0, 1, 2])
    with pytest.raises(DataError, match="kind 'constant' has no trees"):
        short_circuit(other)


def test_rows_are_made_up_on_both_sides_of_every_threshold(whole):
    rows = make_rows(whole.model, 500, np.random.default_rng(0))
    assert rows.shape == (500, 6)
    tops = [whole.model.nodes[root] for root in whole.model.roots]
    for top in tops:
        sides = rows[:, int(top["feature"]) & 0xFFFF] <= top["threshold"]
        assert 0 < sides.sum() < 500


@pytest.mark.parametrize("trees", [0, 1])
def test_few_trees_have_one_order(whole, trees):
    model = ShortCircuit.of(whole.model.prefix(trees))
    assert tree_order(model, whole.prices, X).tolist() == list(range(trees))
