"""Edge and cloud: slopes, the planted model, Frank-Wolfe, budgets, devices and bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, linprog, minimize
from sklearn.linear_model import LogisticRegression

from thrifty import DataError, EdgeCloudClassifier, Prices, load
from thrifty.learn.edge_cloud.devices import Devices, GatedSum, log_loss, squared_loss
from thrifty.learn.edge_cloud.hard_gates import (
    Parts,
    budget_limit,
    fixed_devices,
    harden,
    refit_answers,
)
from thrifty.learn.edge_cloud.lbfgs import descend
from thrifty.learn.edge_cloud.soft_gates import (
    Relaxation,
    direct_objective,
    frank_wolfe,
    penalty_ladder,
    take_turn,
)
from thrifty.model.links import ACTIVATIONS


def devices_of(n=30, sizes=(2, 1, 3), seed=0, silent=0.1):
    rng = np.random.default_rng(seed)
    mass = rng.uniform(0.5, 2.0, size=n)
    starts = np.cumsum([0, *sizes])
    heard = (rng.random((n, len(sizes))) >= silent).astype(float)
    return Devices(rng.normal(size=(n, starts[-1])), starts, mass / mass.sum(), heard)


def parameters(devices, outputs, seed=1):
    rng = np.random.default_rng(seed)
    q, k = devices.Z.shape[1], devices.count
    shapes = ((q, outputs), (k, outputs), (q,), (k,), (outputs,))
    return GatedSum(*(rng.normal(size=shape) for shape in shapes))


def codes_of(devices, classes, seed=2):
    return np.random.default_rng(seed).integers(classes, size=len(devices.Z))


def planted(activation, seed=0, n=2000):
    """Nan 2018, sec. 7.1.6: two devices of two features; truth, rows and noise-free targets."""
    devices = devices_of(n, (2, 2), seed, silent=0.0)
    devices = Devices(devices.Z, devices.starts, np.full(n, 1 / n), devices.heard)
    truth = parameters(devices, 1, seed + 100)
    truth = truth._replace(a=np.zeros((2, 1)), base=np.zeros(1))
    act = ACTIVATIONS[activation](truth.values(devices))
    return devices, truth, truth.outputs(devices, act)[:, 0]


def cosine(one, other):
    one, other = (np.concatenate([part.ravel() for part in parts]) for parts in (one, other))
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


# --- the mathematics ---------------------------------------------------------


@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
@pytest.mark.parametrize("classes", [1, 3])
def test_slopes_of_the_direct_objective_are_finite_differences(activation, classes) -> None:
    devices = devices_of()
    model = parameters(devices, classes)
    y = np.random.default_rng(3).normal(size=30)
    loss = squared_loss(y) if classes == 1 else log_loss(codes_of(devices, classes))
    objective = direct_objective(devices, loss, activation, 0.7, 0.05, model)
    due = approx_fprime(model.flat, lambda flat: objective(flat)[0], 1e-7)
    np.testing.assert_allclose(objective(model.flat)[1], due, atol=2e-6)


def test_slopes_of_the_relaxed_objective_are_finite_differences() -> None:
    devices = devices_of()
    model = parameters(devices, 3)
    problem = Relaxation(devices, log_loss(codes_of(devices, 3)), 0.5, 0.05)
    q = np.random.default_rng(4).uniform(0.1, 0.9, size=devices.heard.shape) * devices.heard
    due = approx_fprime(q.ravel(), lambda flat: problem.value(model, flat.reshape(q.shape)), 1e-7)
    found = problem.slope(model, q)
    heard = devices.heard > 0
    np.testing.assert_allclose(found[heard], due.reshape(q.shape)[heard], atol=2e-6)
    assert not found[~heard].any()


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_model_is_recovered_through_sigmoids(seed) -> None:
    devices, truth, y = planted("sigmoid", seed)
    rng = np.random.default_rng(seed)
    start = GatedSum(*(part + 0.1 * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(devices, squared_loss(y), "sigmoid", 0.0, 0.0, start)
    flat, value = descend(objective, start.flat, 3000)
    found = GatedSum.unpack(flat, start)
    assert value < 1e-6 < 1e-3 < objective(start.flat)[0]
    assert cosine([found.v], [truth.v]) > 0.999
    assert cosine([found.w, found.b], [truth.w, truth.b]) > 0.999


@pytest.mark.parametrize("seed", range(3))
def test_the_planted_model_is_recovered_through_rectified_lines(seed) -> None:
    devices, truth, y = planted("relu", seed)
    rng = np.random.default_rng(seed)
    start = GatedSum(*(part + 0.3 * rng.normal(size=part.shape) for part in truth))
    objective = direct_objective(devices, squared_loss(y), "relu", 0.0, 0.0, start)
    flat, value = descend(objective, start.flat, 3000)
    found = GatedSum.unpack(flat, start)
    assert value < 1e-6 < 1e-3 < objective(start.flat)[0]
    # A gate may be longer and its answer shorter by the same factor: directions are recovered.
    for k in range(2):
        own = slice(2 * k, 2 * k + 2)
        assert cosine([found.v[own]], [truth.v[own]]) > 0.999
        assert cosine([found.w[own], found.b[[k]]], [truth.w[own], truth.b[[k]]]) > 0.999


@given(seed=st.integers(0, 1000), budget=st.floats(0.05, 1.0))
@settings(max_examples=25, deadline=None)
def test_the_corner_of_frank_wolfe_solves_its_linear_program(seed, budget) -> None:
    devices = devices_of(6, (1, 2), seed)
    slope = np.random.default_rng(seed).normal(size=(6, 2)) * devices.heard
    problem = Relaxation(devices, log_loss(codes_of(devices, 2)), budget, 0.1)
    corner = problem.extreme(slope)
    cap, room = np.repeat(devices.mass, 2), budget * 2
    due = linprog(
        slope.ravel(), A_ub=[cap], b_ub=[room], bounds=[(0, high) for high in devices.heard.ravel()]
    )
    assert np.sum(slope * corner) == pytest.approx(due.fun, abs=1e-9)
    assert corner.min() >= 0 and np.all(corner <= devices.heard)
    assert cap @ corner.ravel() <= room + 1e-9


def test_frank_wolfe_comes_to_the_minimum_that_a_general_solver_finds() -> None:
    devices = devices_of(8, (1, 2), silent=0.0)
    model, budget = parameters(devices, 2), 0.4
    problem = Relaxation(devices, log_loss(codes_of(devices, 2)), budget, 0.1)
    q = frank_wolfe(problem, model, problem.start(), 400)
    cap = np.repeat(devices.mass, 2)
    due = minimize(
        lambda flat: problem.value(model, flat.reshape(8, 2)),
        problem.start().ravel(),
        jac=lambda flat: problem.slope(model, flat.reshape(8, 2)).ravel(),
        bounds=[(1e-6, 1 - 1e-6)] * 16,
        constraints={"type": "ineq", "fun": lambda flat: 2 * budget - cap @ flat},
        options={"maxiter": 500, "ftol": 1e-12},
    )
    assert problem.value(model, q) == pytest.approx(due.fun, abs=1e-3)
    assert cap @ q.ravel() <= 2 * budget + 1e-9


def test_no_turn_of_the_relaxation_raises_its_objective() -> None:
    devices = devices_of(60, silent=0.05)
    problem = Relaxation(devices, log_loss(codes_of(devices, 3)), 0.4, 0.01)
    model, q = parameters(devices, 3), problem.start()
    values = [problem.value(model, q)]
    for _ in range(8):
        model, q = take_turn(problem, model, q, 5)
        values.append(problem.value(model, q))
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] < 0.8 * values[0]


def test_a_growing_penalty_closes_gates_and_each_solution_is_better_than_its_start() -> None:
    devices = devices_of(80, silent=0.0)
    loss = log_loss(codes_of(devices, 2))
    start = parameters(devices, 2)
    ladder = list(penalty_ladder(devices, loss, "sigmoid", 0.01, start, 50))
    open_ = [ACTIVATIONS["sigmoid"](model.values(devices)).mean() for model in ladder]
    assert open_[-1] < 0.1 < open_[0]
    objective = direct_objective(devices, loss, "sigmoid", 0.0, 0.01, start)
    assert objective(ladder[0].flat)[0] < objective(start.flat)[0]


@given(seed=st.integers(0, 1000), budget=st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_the_limit_is_the_lowest_that_keeps_the_budget(seed, budget) -> None:
    devices = devices_of(7, (1, 1), seed)
    values = np.random.default_rng(seed).integers(-2, 3, size=(7, 2)).astype(float)  # with ties
    limit = budget_limit(values, devices, budget)

    def share(limit):
        opens = (values > limit) & (devices.heard > 0)
        return devices.mass @ opens.mean(axis=1)

    assert share(limit) <= budget + 1e-6
    lower = [value for value in (*np.unique(values), -99.0) if value < limit]
    assert all(share(value) > budget - 1e-6 or share(value) == share(limit) for value in lower)


def test_the_answers_of_open_gates_are_those_of_logistic_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X @ [1.0, -2.0, 0.5] + rng.logistic(size=200) > 0).astype(int) + (X[:, 0] > 1)
    devices = {"one": [0, 2], "two": [1]}
    model = EdgeCloudClassifier(None, devices, 1.0, "relaxed", max_steps=5, random_state=0)
    assert model.fit(X, y).transmits(X).all()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    due = LogisticRegression(C=1.0, tol=1e-10, max_iter=2000).fit(Z, y)
    task = model._task(X, y, None)
    act = np.ones((200, 2))  # with every gate at full strength the devices are one linear model
    found, _ = refit_answers(*task.parts.whole, task.start, act, task.parts.ridge, 2000)
    logits = found.outputs(task.devices, act)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    order = np.lexsort(task.devices.Z.T[::-1])
    mine = np.lexsort(Z[:, [0, 2, 1]].T[::-1])
    probabilities = (powers / powers.sum(axis=1, keepdims=True))[order]
    np.testing.assert_allclose(probabilities, due.predict_proba(Z)[mine], atol=2e-4)


def halves(devices, codes, ridge=1e-3):
    """Every other row held back."""
    rest = np.arange(len(codes)) % 2 == 0
    learnt, held = ((devices.part(rows), log_loss(codes[rows])) for rows in (~rest, rest))
    return Parts((devices, log_loss(codes)), learnt, held, ridge)


def test_hardening_takes_the_candidate_that_loses_least() -> None:
    devices = devices_of(100, silent=0.0)
    parts = halves(devices, (devices.Z[:, 0] > 0).astype(int))
    base = parameters(devices, 2)
    blind = base._replace(b=np.array([-50.0, 50.0, 50.0]))
    right = base._replace(b=np.array([50.0, 0.0, 0.0]))
    hard = harden(parts, [blind, right], ("step",), 0.34, 40)
    assert hard.opens(devices).mean(axis=0).round(2)[0] == 1.0
    assert hard.loss < 0.2


def test_fixed_devices_open_in_the_order_of_what_they_know_alone() -> None:
    devices = devices_of(300, silent=0.0)
    score = 3.0 * devices.Z[:, 2] + 1.5 * devices.Z[:, 0]  # the second device, then the first
    parts = halves(devices, (score > 0).astype(int))
    fixed = fixed_devices(parts, parameters(devices, 2), 40)
    assert fixed.b.tolist() == [-1.0, 0.0, -2.0] and not fixed.w.any()
    limit = budget_limit(fixed.values(devices), devices, 0.7)
    assert (fixed.values(devices) > limit).all(axis=0).tolist() == [True, True, False]


# --- the estimator -----------------------------------------------------------


def sides(n=300, seed=0, noise=0.0):
    """One of two devices knows the class, and each knows whether it does; a third is noise."""
    rng = np.random.default_rng(seed)
    side, left, right, other = rng.normal(size=(4, n))
    y = np.where(np.where(side > 0, left, right) + noise * rng.normal(size=n) > 0, "up", "down")
    columns = {"near": side, "left": left, "far": -side, "right": right, "rest": other}
    return pd.DataFrame(columns), y


DEVICES = {"a": ["near", "left"], "b": ["far", "right"], "c": ["rest"]}
SENDING = Prices(dict.fromkeys(("near", "left", "far", "right", "rest"), 0.1), evaluation=1.0)


@pytest.mark.parametrize(
    ("gates", "least", "agreement"),
    # The relaxation settles who speaks by the labels, which the gates cannot see.
    [("relu", 0.93, 0.9), ("sigmoid", 0.93, 0.9), ("relaxed", 0.75, 0.6)],
)
def test_a_planted_classifier_is_found_again(gates, least, agreement) -> None:
    X, y = sides()
    model = EdgeCloudClassifier(SENDING, DEVICES, 1 / 3, gates, max_steps=40, random_state=0).fit(
        X, y
    )
    held, labels = sides(1000, seed=1)
    assert model.score(held, labels) > least
    assert list(model.devices_)[:2] == ["a", "b"]
    sent = model.transmits(held)[:, :2]
    knows = np.column_stack([held["near"] > 0, held["far"] > 0])
    assert np.mean(sent == knows) > agreement
    assert model.transmits(X).sum(axis=1).mean() <= 1.0 + 1e-9


def test_more_classes_than_two_and_labels_of_any_kind() -> None:
    X, _ = sides(400)
    y = 10 * np.digitize(np.where(X["near"] > 0, X["left"], X["right"]), [-0.5, 0.5])
    model = EdgeCloudClassifier(SENDING, DEVICES, 0.4, max_steps=30, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 10, 20]
    assert model.score(X, y) > 0.85
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("gates", ["relu", "sigmoid", "relaxed"])
@pytest.mark.parametrize("budget", [0.1, 0.35, 0.8])
def test_the_budget_holds_on_the_training_rows(gates, budget) -> None:
    X, y = sides(120, noise=0.5)
    model = EdgeCloudClassifier(SENDING, DEVICES, budget, gates, max_steps=20, random_state=0)
    weight = np.random.default_rng(0).integers(1, 4, size=120)
    sent = model.fit(X, y, sample_weight=weight).transmits(X).sum(axis=1) / 3
    assert 0.6 * budget < np.average(sent, weights=weight) <= budget + 1e-6


def test_a_bill_is_sensing_and_transmissions() -> None:
    X, y = sides(120)
    model = EdgeCloudClassifier(SENDING, DEVICES, 0.3, max_steps=20, random_state=0).fit(X, y)
    sensed = sum(len(features) for features in model.devices_.values())
    due = 0.1 * sensed + model.transmits(X).sum(axis=1)
    np.testing.assert_allclose(model.bill(X), due)


def test_a_device_that_never_speaks_senses_nothing() -> None:
    X, y = sides(200)
    wide = X.assign(noise=np.random.default_rng(5).normal(size=200))
    devices = {**DEVICES, "d": ["noise"]}
    model = EdgeCloudClassifier(None, devices, 0.2, max_steps=15, random_state=0).fit(wide, y)
    dropped = set(devices) - set(model.devices_)
    assert dropped
    unread = [feature for name in dropped for feature in devices[name]]
    assert not model.used(wide)[:, [wide.columns.get_loc(name) for name in unread]].any()
    assert model.transmits(wide).shape == (200, len(model.devices_))
    assert model.model_.most_evaluations == len(model.devices_)


def test_rows_in_which_a_device_is_silent_are_learnt_from() -> None:
    X, y = sides(300)
    silent = X.copy()
    silent.loc[:99, ["near", "left"]] = np.nan
    model = EdgeCloudClassifier(SENDING, DEVICES, 0.5, max_steps=30, random_state=0).fit(silent, y)
    place = list(model.devices_).index("a")
    assert not model.transmits(silent)[:100, place].any()
    assert model.transmits(silent)[100:, place].mean() > 0.3
    assert model.score(X, y) > 0.85


def test_groups_of_the_prices_are_devices_and_other_features_stand_alone() -> None:
    X, y = sides(100)
    prices = Prices(
        dict.fromkeys(X.columns, 1.0), groups={"rest": ["near", "left"], "b": ["far", "right"]}
    )
    model = EdgeCloudClassifier(prices, budget=1.0, gates="sigmoid", max_steps=10).fit(X, y)
    due = {"rest": ("near", "left"), "b": ("far", "right"), "feature rest": ("rest",)}
    assert model.devices_ == due


def test_a_walk_of_a_saved_model_goes_device_by_device(tmp_path) -> None:
    X, y = sides(200)
    model = EdgeCloudClassifier(SENDING, DEVICES, 0.4, max_steps=15, random_state=0).fit(X, y)
    model.save(tmp_path / "m.thrifty")
    walk = load(tmp_path / "m.thrifty").walk()
    asked = []
    while walk.asks:
        asked.append(set(walk.asks))
        walk.tell({name: X[name].iloc[0] for name in walk.asks})
    assert sorted(map(sorted, asked)) == sorted(sorted(own) for own in model.devices_.values())
    assert walk.answer == model.predict(X.iloc[:1])[0]
    assert walk.receipt.total == model.bill(X.iloc[:1])[0]


@pytest.mark.parametrize("gates", ["relu", "relaxed"])
def test_a_path_goes_from_silence_to_what_more_transmissions_give(gates) -> None:
    X, y = sides(200, noise=0.3)
    held = sides(100, seed=3, noise=0.3)
    model = EdgeCloudClassifier(SENDING, DEVICES, gates=gates, max_steps=20, random_state=0)
    points = list(model.path(X, y, validation=held, budgets=(0.7, 0.15, 0.35)))
    assert [point.knob["budget"] for point in points] == [0.0, 0.15, 0.35, 0.7]
    assert points[0].bill == 0.0 and points[2].quality > points[0].quality + 0.2
    again = model.set_params(budget=0.7).fit(X, y)
    assert np.array_equal(again.predict(held[0]), points[-1].model.predict(held[0]))


# --- bad input ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "told"),
    [
        ({}, "there are none"),
        ({"a": []}, "'a' reads no feature"),
        ({"a": "near"}, "give a list of features"),
        ({"a": 3}, "give a list of features"),
        ({"a": ["nearr"]}, "near"),
        ({"a": ["near"], "b": ["near"]}, "is read by 'a' and by 'b'"),
        ({"a": ["same"]}, "no feature of any device varies"),
    ],
)
def test_devices_that_cannot_be_are_refused(devices, told) -> None:
    X, y = sides(40)
    with pytest.raises(DataError, match=told):
        EdgeCloudClassifier(devices=devices).fit(X.assign(same=1.0), y)


def test_all_problems_of_devices_are_told_at_once() -> None:
    X, y = sides(40)
    with pytest.raises(DataError, match="3 problems"):
        EdgeCloudClassifier(devices={"a": [], "b": ["farr"], "c": 1}).fit(X, y)


def test_devices_may_be_arrays_of_positions_and_names_of_any_kind() -> None:
    X, y = sides(60)
    devices = {1: np.array([0, 1]), 2: np.array([2, 3])}
    model = EdgeCloudClassifier(None, devices, 1.0, max_steps=5, random_state=0)
    assert model.fit(X.to_numpy(), y).devices_ == {"1": (0, 1), "2": (2, 3)}


def test_a_path_needs_rows_and_labels_to_be_judged_by() -> None:
    X, y = sides(40)
    with pytest.raises(DataError, match="validation"):
        EdgeCloudClassifier().path(X, y, validation=(X,))


@pytest.mark.parametrize("budgets", [(), (0.0,), (0.5, 1.5), (float("nan"),)])
def test_budgets_of_a_path_are_shares(budgets) -> None:
    X, y = sides(40)
    with pytest.raises(DataError, match="budgets"):
        EdgeCloudClassifier().path(X, y, validation=(X, y), budgets=budgets)


@pytest.mark.parametrize(
    "wrong", [{"budget": 0.0}, {"budget": 2.0}, {"gates": "tanh"}, {"C": 0}, {"devices": [1]}]
)
def test_parameters_out_of_range_are_refused(wrong) -> None:
    X, y = sides(40)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EdgeCloudClassifier(**wrong).fit(X, y)
