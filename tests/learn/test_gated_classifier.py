"""ADAPT: what the search promises, known answers, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import thrifty
from thrifty import (
    BoostedFamily,
    Call,
    GatedClassifier,
    GreedyMiserClassifier,
    LeavesFamily,
    LinearFamily,
    Prices,
)
from thrifty.data import four_clusters
from thrifty.errors import BudgetError, DataError
from thrifty.learn.gates.assignment import DISTANCES
from thrifty.learn.gates.classifier import alternate
from thrifty.learn.gates.leaves import LeafBench
from thrifty.learn.gates.linear import Bench, GroupPrices, Problem
from thrifty.learn.gates.problem import GateTask
from thrifty.learn.gates.threshold import Choices
from thrifty.model import Gate, LeafGate, SupportSet

FAMILIES = {
    "boosted": BoostedFamily(8, 0.3, 3, 5),
    "linear": LinearFamily(starts=3),
    "leaves": LeavesFamily(4, 0.5, 3, 5),
}
FOREST = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)


def halves(n=600, classes=2, seed=0):
    """Rows that column 0 tells, and rows that need columns 1 and 2."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    easy = X[:, 0] > 0 if classes == 2 else np.digitize(X[:, 0], [-0.75, 0.75])
    hard = X[:, 1] * X[:, 2] > 0
    return X, np.where(np.abs(X[:, 0]) > 0.5, easy, hard).astype(int)


def task_of(X, y, weight=None, penalty_prices=None, seed=0):
    schema = thrifty.bundle.Schema.of(X)
    prices = (penalty_prices or Prices()).bind(X.shape[1])
    classes, codes = np.unique(y, return_inverse=True)
    answers = np.random.default_rng(seed).dirichlet(np.ones(len(classes)), len(y))
    answers[np.arange(len(y)), codes] += 2.0
    answers /= answers.sum(axis=1, keepdims=True)
    return GateTask(schema, prices, X, codes.astype(np.int64), weight, classes, answers)


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_never_rises(family, distance, classes) -> None:
    X, y = halves(300, classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    task = task_of(X, y, weight)
    metric = DISTANCES[distance]
    moved = 0
    for start in FAMILIES[family].start(task, 0.003, metric, np.random.RandomState(0)):
        end = alternate(start, task, metric, 0.3, 6)
        assert np.average(end.q, weights=weight) <= 0.3 + 1e-9
        steps = np.diff(end.history)
        assert (steps <= 1e-9 * abs(end.history[0])).all()
        # The objective is what it says.
        losses = (1 - end.q) * end.pair.loss + end.q * task.loss0
        due = np.average(losses + metric.value(end.q, end.pair.gate), weights=weight)
        assert end.value == pytest.approx(due + end.pair.cost, rel=1e-9)
        moved += end.history[-1] < end.history[0]
    assert moved


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
@pytest.mark.parametrize("classes", [2, 3])
def test_gradients_are_finite_differences(distance, classes) -> None:
    X, y = halves(60, classes)
    rng = np.random.default_rng(0)
    task = task_of(X, y, rng.uniform(0.5, 2.0, len(y)))
    q = rng.uniform(0.05, 0.9, len(y))
    linear = Bench.of(LinearFamily(ridge=0.1), task, 0.01, DISTANCES[distance])
    start = linear.blank()
    C, bias = rng.normal(size=start.C.shape), rng.normal(size=start.bias.shape)
    hold = Problem(linear, q)
    _, by_C, by_bias = hold.slopes(C, bias)
    _check(lambda flat: hold.value(flat.reshape(C.shape), bias), C.ravel(), by_C.ravel())
    _check(lambda flat: hold.value(C, flat), bias, by_bias)
    bench = FAMILIES["leaves"].bench(task, 0.0, DISTANCES[distance], np.random.RandomState(0))
    assert isinstance(bench, LeafBench)
    worth = bench.worth + rng.normal(size=len(bench.worth))
    _, slope = bench.local_slopes(worth, q)
    _check(lambda flat: bench.local_slopes(flat, q)[0], worth, slope)
    weights = rng.normal(size=len(bench.leaves) + 2)
    _check(lambda flat: bench.gate_slopes(flat, q)[0], weights, bench.gate_slopes(weights, q)[1])


def _check(value, at, slope, h=1e-6):
    for j in np.random.default_rng(0).permutation(len(at))[:12]:
        step = np.zeros(len(at))
        step[j] = h
        found = (value(at + step) - value(at - step)) / (2 * h)
        assert found == pytest.approx(slope[j], abs=1e-5)


def test_the_least_squares_gate_is_the_best_one() -> None:
    X, y = halves(200)
    task = task_of(X, y)
    bench = FAMILIES["leaves"].bench(task, 0.0, DISTANCES["symmetric"], np.random.RandomState(0))
    q = np.random.default_rng(0).uniform(0.05, 0.9, len(y))
    found = bench.gate_for(q, bench.confidence)
    np.testing.assert_allclose(bench.gate_slopes(found, q)[1], 0.0, atol=1e-6)


def test_the_proximal_step_pays_columns_and_groups() -> None:
    prices = Prices([1.0, 0.0, 2.0], groups={"g": [0, 2]}, shared={"g": 1.5}).bind(3)
    norms = GroupPrices.of(np.array([0, 0, 1, 2]), prices, penalty=0.5)
    C = np.random.default_rng(0).normal(size=(4, 2))
    by_hand = 0.5 * (
        np.linalg.norm(C[:2]) + 2.0 * np.linalg.norm(C[3]) + 1.5 * np.linalg.norm(C[[0, 1, 3]])
    )
    assert norms.cost(C) == pytest.approx(by_hand)
    found = norms.shrink(C, 0.3)

    def value(D):
        return 0.5 * np.square(D - C).sum() + 0.3 * norms.cost(D)

    rng = np.random.default_rng(1)
    for scale in (1e-3, 1e-1):
        for _ in range(50):
            assert value(found) <= value(found + scale * rng.normal(size=C.shape)) + 1e-12
    np.testing.assert_array_equal(found[2], C[2])  # free


@pytest.mark.parametrize("classes", [2, 3])
def test_without_rows_to_send_it_is_greedy_miser(classes) -> None:
    X, y = halves(400, classes)
    family = {"n_estimators": 12, "learning_rate": 0.2, "max_depth": 3, "min_samples_leaf": 10}
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    miser = GreedyMiserClassifier(penalty=0.004, **family).fit(X, y, sample_weight=weight)
    gated = GatedClassifier(FOREST, share=0.0, penalty=0.004, family=BoostedFamily(**family))
    gated.fit(X, y, sample_weight=weight)
    plain, arrays = miser.model_.state()
    same, others = gated.model_.local.state()
    assert plain == same
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name])
    assert not gated.sent(X).any()
    np.testing.assert_array_equal(gated.predict_proba(X), miser.predict_proba(X))
    np.testing.assert_array_equal(gated.bill(X), miser.bill(X))


def test_four_clusters_cost_one_and_a_half() -> None:
    table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    model = GatedClassifier(
        SVC(gamma=1.0, C=10.0), share=0.5, penalty=0.03, family=LinearFamily(starts=24),
        prices=table.prices, random_state=0,
    ).fit(table.X, table.y)  # fmt: skip
    assert isinstance(model.model_.expensive, SupportSet)
    assert model.score(table.X, table.y) == 1.0
    assert model.bill(table.X).mean() == 1.5
    np.testing.assert_array_equal(model.sent(table.X), table.X["feature_2"] > 0)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_hard_rows_are_sent_and_the_share_is_kept(family) -> None:
    X, y = halves(1500)
    Xv, yv = halves(1500, seed=1)
    model = GatedClassifier(
        FOREST, share=0.5, penalty=0.002, family=FAMILIES[family], random_state=0
    ).fit(X, y, validation=(Xv, yv))
    sent = model.sent(Xv)
    assert 0.4 < sent.mean() <= 0.5
    if family != "linear":  # a line does not find the middle
        assert np.mean(np.abs(Xv[sent, 0]) < 0.5) > 0.9
        assert model.score(Xv, yv) > 0.93
    why = model.why(Xv[:50])
    assert [line.startswith("sent to expensive") for line in why] == sent[:50].tolist()


def test_targets_are_met_on_validation_rows() -> None:
    X, y = halves(1000)
    held = halves(1000, seed=1)
    make = GatedClassifier(
        FOREST, penalty=0.002, family=FAMILIES["boosted"], alternations=2, random_state=0
    )
    cheap = clone(make).set_params(target={"bill": 2.0}).fit(X, y, validation=held)
    assert 1.0 < cheap.bill(held[0]).mean() <= 2.0
    good = clone(make).set_params(target={"quality": 0.9}).fit(X, y, validation=held)
    assert good.score(*held) >= 0.9
    assert good.sent(held[0]).mean() < 0.6
    few = clone(make).set_params(target={"share": 0.1}).fit(X, y, validation=held)
    assert few.sent(held[0]).mean() <= 0.1
    with pytest.raises(BudgetError, match=r"the best is 0\.9"):
        clone(make).set_params(target={"quality": 1.0}).fit(X, y, validation=held)
    with pytest.raises(BudgetError, match="the least is"):
        clone(make).set_params(target={"bill": 0.5}).fit(X, y, validation=held)
    with pytest.raises(DataError, match="give validation"):
        clone(make).set_params(target={"quality": 0.9}).fit(X, y)
    for bad in ({"cost": 1.0}, {"bill": 1.0, "share": 0.1}, {"bill": "low"}, {}):
        with pytest.raises(DataError, match="target"):
            clone(make).set_params(target=bad).fit(X, y)


def test_rows_of_one_gate_value_go_the_same_way() -> None:
    choices = Choices(np.array([1.0, 1.0, 3.0, 2.0, 2.0]))
    assert choices.counts.tolist() == [0, 1, 3, 5]
    assert choices.at_share(0.59) == 1 and choices.at_share(0.6) == 2
    assert choices.limit(0) == math.inf and choices.limit(3) == -math.inf
    near = np.nextafter(1.0, 2.0)
    tight = Choices(np.array([1.0, near]))
    assert (np.array([1.0, near]) > tight.limit(1)).tolist() == [False, True]


def test_a_path_learns_shares_and_penalties() -> None:
    X, y = halves(600)
    held = halves(400, seed=1)
    model = GatedClassifier(FOREST, family=FAMILIES["boosted"], alternations=2, random_state=0)
    points = list(model.path(X, y, validation=held, shares=[0.1, 0.5], penalties=[0.02, 0.001]))
    assert points[0].bill == 0.0
    bills = [point.bill for point in points]
    assert bills == sorted(bills)
    qualities = [point.quality for point in points]
    assert qualities == sorted(qualities)
    assert {point.knob["penalty"] for point in points[1:]} <= {0.02, 0.001}
    best = points[-1]
    assert best.bill == best.model.bill(held[0]).mean()
    assert best.quality == np.mean(best.model.predict(held[0]) == held[1])


def test_stages_nest(tmp_path) -> None:
    X, y = halves(800)
    inner = GatedClassifier(
        FOREST, share=0.5, family=FAMILIES["boosted"], alternations=1, random_state=0
    ).fit(X, y)
    outer = GatedClassifier(
        Call("inner", fn=inner, folds=None), share=0.6, penalty=0.01,
        family=FAMILIES["leaves"], random_state=0,
    ).fit(X, y)  # fmt: skip
    assert isinstance(outer.model_.expensive, Gate)
    assert isinstance(outer.model_.gate, LeafGate)
    sent = outer.sent(X)
    np.testing.assert_array_equal(outer.predict(X[sent]), inner.predict(X[sent]))
    outer.save(tmp_path / "two.thrifty")
    loaded = thrifty.load(tmp_path / "two.thrifty")
    np.testing.assert_array_equal(loaded.predict(X), outer.predict(X))


def test_trained_models_are_frozen_inside_and_others_are_called() -> None:
    X, y = halves(300)
    small = {"family": FAMILIES["leaves"], "random_state": 0}
    inside = GatedClassifier(FOREST, **small).fit(X, y)
    assert inside.model_.expensive.kind == "forest"
    called = GatedClassifier(MLPClassifier(8, max_iter=30, random_state=0), **small)
    with pytest.warns(UserWarning, match="[Cc]onverge"):
        called.fit(X, y)
    assert called.model_.expensive.kind == "answer"
    assert called.used(X).shape == (300, 6)
    assert called.predict_proba(X).shape == (300, 2)


def test_a_fitted_model_of_another_table_is_refused() -> None:
    X, y = halves(200)
    wide = GreedyMiserClassifier(n_estimators=3).fit(X, y)
    names = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(DataError, match="other columns"):
        GatedClassifier(Call("x", fn=wide, folds=None)).fit(names, y)
    with pytest.raises(DataError, match="tells apart"):
        GatedClassifier(Call("x", fn=wide, folds=None)).fit(X, y + 1, answers=np.eye(2)[y])


def test_optimism_is_kept_out() -> None:
    # A forest that knows its training rows by heart would look perfect on noise.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)
    model = GatedClassifier(RandomForestClassifier(20, random_state=0), random_state=0)
    honest = model._job(X, y, None, None).expensive.answers
    assert abs(np.mean(honest.argmax(axis=1) == y) - 0.5) < 0.1
    fitted = RandomForestClassifier(20, random_state=0).fit(X, y)
    proud = clone(model).set_params(expensive=Call("x", fn=fitted, folds=None))
    assert np.mean(proud._job(X, y, None, None).expensive.answers.argmax(axis=1) == y) > 0.95


def test_weights_of_zero_are_rows_that_are_not_there() -> None:
    X, y = halves(300)
    weight = np.ones(300)
    weight[200:] = 0.0
    answers = np.eye(2)[y] * 0.8 + 0.1
    model = GatedClassifier(FOREST, family=FAMILIES["boosted"], alternations=2, random_state=0)
    one = clone(model).fit(X, y, sample_weight=weight, answers=answers)
    other = clone(model).fit(X[:200], y[:200], sample_weight=np.ones(200), answers=answers[:200])
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_bad_answers_are_refused() -> None:
    X, y = halves(100)
    model = GatedClassifier(FOREST, family=FAMILIES["leaves"])
    for bad, words in (
        (np.full((100, 2), 0.9), "sum to 1.8"),
        (np.full((100, 3), 1 / 3), "3 probabilities for 2 classes"),
        (np.full((99, 2), 0.5), "for 100 rows"),
        (np.full((100, 2), np.nan), "missing"),
    ):
        with pytest.raises(thrifty.SourceError, match=words):
            model.fit(X, y, answers=bad)


def test_a_frozen_model_that_knows_more_categories_lends_its_schema() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 300), "x": rng.normal(size=300)})
    y = (X["x"] > 0) ^ (X["kind"] == "a")
    big = GreedyMiserClassifier(n_estimators=20, min_samples_leaf=5).fit(X, y)
    some = X["kind"] != "c"
    prices = Prices({"x": 1.0, "kind": 3.0})
    model = GatedClassifier(
        Call("big", fn=big, folds=None), family=FAMILIES["boosted"], prices=prices, share=0.5
    ).fit(X[["kind", "x"]][some], y[some])
    assert model.schema_ == big.schema_
    sent = model.sent(X)
    np.testing.assert_array_equal(model.predict(X[sent]), big.predict(X[sent]))
    assert model.bill(X).max() == 4.0
