"""AnytimeClassifier: the machine and its gradients, the XOR data, and answers at any budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from thrifty import AnytimeClassifier, Prices, load
from thrifty.data import noisy_xor
from thrifty.errors import DataError
from thrifty.learn.anytime.hinge_svm import HingeSvm
from thrifty.learn.anytime.representation import slopes, soft_error
from thrifty.learn.anytime.training import STAGES, Snapshot, moderate

PRICES = Prices([1, 2, 4, 0, 3, 3], groups={"lab": [4, 5]}, shared={"lab": 2.0}, evaluation=0.001)
SMALL = {"dimensions": 3, "n_estimators": 3, "max_depth": 3, "min_samples_leaf": 5}


def draw(seed, n=300, labels=("low", "mid", "top")):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    value = X[:, 0] + X[:, 1] + np.where(X[:, 2] > 0, X[:, 4], X[:, 5])
    cuts = np.quantile(value, np.linspace(0, 1, len(labels) + 1)[1:-1])
    return X, np.array(labels)[np.digitize(value, cuts)]


@pytest.fixture(scope="module", params=[("no", "yes"), ("low", "mid", "top")], ids=["two", "three"])
def model(request):
    X, y = draw(0, labels=request.param)
    return AnytimeClassifier(PRICES, random_state=0, **SMALL).fit(X, y)


# --- the machine and the gradients through it


def problem(seed, n=60, m=40, dimensions=3):
    """A representation of n training and m validation rows, classes and weights."""
    rng = np.random.default_rng(seed)
    phi = np.vstack([np.ones(n + m), rng.normal(size=(dimensions, n + m))])
    sign = np.where(phi[1] + 0.5 * rng.normal(size=n + m) > 0, 1.0, -1.0)
    return phi, sign, rng.uniform(0.5, 2.0, n + m), n


def error(phi, sign, weight, n, cost):
    svm = HingeSvm(sign[:n], weight[:n], cost)
    svm.fit(phi[:, :n])
    return soft_error(svm.beta @ phi[:, n:], sign[n:], weight[n:]), svm


@pytest.mark.parametrize("cost", [0.01, 0.3, 10.0])
def test_the_machine_is_at_the_optimum_of_its_objective(cost):
    phi, sign, weight, n = problem(0)
    svm = error(phi, sign, weight, n, cost)[1]

    def objective(beta):
        return svm.value(beta, beta @ phi[:, :n])

    best = minimize(objective, np.zeros(len(phi)), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(svm.beta, best.x, atol=1e-4)
    assert objective(svm.beta) <= best.fun + 1e-12


def test_gradients_with_respect_to_the_representation_equal_finite_differences():
    phi, sign, weight, n = problem(1)
    svm = error(phi, sign, weight, n, 0.3)[1]
    found = slopes(svm, phi[:, :n], phi[:, n:], sign[n:], weight[n:])
    step = 1e-6
    for s in range(1, len(phi)):
        due = np.empty(phi.shape[1])
        for i in range(phi.shape[1]):
            ends = []
            for way in (step, -step):
                moved = phi.copy()
                moved[s, i] += way
                ends.append(error(moved, sign, weight, n, 0.3)[0])
            due[i] = (ends[0] - ends[1]) / (2 * step)
        assert np.abs(due).max() > 0.01
        np.testing.assert_allclose(found.along(s), due, atol=1e-5)


@pytest.mark.parametrize("cost", [0.02, 0.3, 2.0])
def test_the_gradient_with_respect_to_c_equals_finite_differences(cost):
    phi, sign, weight, n = problem(2)
    svm = error(phi, sign, weight, n, cost)[1]
    found = slopes(svm, phi[:, :n], phi[:, n:], sign[n:], weight[n:]).cost
    step = 1e-5 * cost
    more, less = (error(phi, sign, weight, n, cost + way)[0] for way in (step, -step))
    assert found == pytest.approx((more - less) / (2 * step), rel=1e-5, abs=1e-5)


def test_a_mended_machine_is_the_machine_fitted_anew():
    phi, sign, weight, n = problem(3)
    svm = error(phi, sign, weight, n, 0.3)[1]
    rng = np.random.default_rng(0)
    for _ in range(30):
        changed = int(rng.integers(1, len(phi)))
        phi[changed] += 0.3 * rng.normal(size=phi.shape[1])
        svm.fit(phi[:, :n], changed)
        np.testing.assert_allclose(svm.beta, error(phi, sign, weight, n, 0.3)[1].beta, atol=1e-10)


def test_a_new_dimension_is_taken_in():
    phi, sign, weight, n = problem(4)
    svm = HingeSvm(sign[:n], weight[:n], 0.3)
    for size in range(1, len(phi) + 1):
        svm.fit(phi[:size, :n], size - 1)
    np.testing.assert_allclose(svm.beta, error(phi, sign, weight, n, 0.3)[1].beta, atol=1e-10)


def test_a_machine_with_one_class_answers_it():
    svm = HingeSvm(np.ones(5), np.ones(5))
    svm.fit(np.vstack([np.ones(5), np.arange(5.0)]))
    np.testing.assert_allclose(svm.beta, [1.0, 0.0], atol=1e-6)


# --- probabilities


def test_probabilities_of_every_stage_are_calibrated():
    X, y = draw(5, 3000, labels=(0, 1))
    fitted = AnytimeClassifier(random_state=0, dimensions=5, n_estimators=5).fit(X[:2000], y[:2000])
    for forest in fitted.model_.rungs[1:]:
        p = forest.score(X[2000:])[:, 1]
        for low, high in ((0.0, 0.25), (0.25, 0.75), (0.75, 1.0)):
            here = (p >= low) & (p <= high)
            if here.sum() > 100:
                assert p[here].mean() == pytest.approx(y[2000:][here].mean(), abs=0.12)


# --- the XOR data of the thesis


def test_xor_is_nearly_solved_by_95_and_solved_with_all():
    # The first draw, and the means over draws on which nothing was chosen. A draw by itself may
    # fall short by 95: the method's page has them all.
    cheap, full = [], []
    for seed in (0, *range(30, 38)):
        table = noisy_xor(random_state=seed)
        train = table.split == "train"
        model = AnytimeClassifier(table.prices, random_state=0)
        model.fit(table.X[train], table.y[train])
        X, y = table.X[~train], table.y[~train]
        quality = [np.mean(model.predict(X, budget=b) == y) for b in (0, 10, 25, 50, 95, 250, 1220)]
        # 360 test rows: a standard error of 0.01 where the accuracy is 0.96
        assert min(np.diff(quality)) > -0.03
        cheap.append(quality[4])
        full.append(quality[-1])
    assert cheap[0] >= 0.97 and full[0] >= 0.99
    assert np.mean(cheap[1:]) >= 0.97
    assert np.mean(full[1:]) >= 0.99


# --- one model for every budget


@settings(max_examples=40, deadline=None)
@given(budget=st.floats(0, 30), seed=st.integers(0, 2**32 - 1))
def test_no_example_spends_more_than_its_budget(model, budget, seed):
    X = np.random.default_rng(seed).normal(scale=2.0, size=(30, 6))
    bills, used = model.bill(X, budget=budget), model.used(X, budget=budget)
    assert bills.max() <= budget
    assert np.all(bills >= model.prices_.bill(used))
    # What is not used does not matter.
    spoilt = np.where(used, X, np.nan)
    np.testing.assert_array_equal(
        model.predict_proba(X, budget=budget), model.predict_proba(spoilt, budget=budget)
    )
    np.testing.assert_array_equal(bills, model.bill(spoilt, budget=budget))


def test_a_larger_budget_reads_no_less(model):
    X = draw(7)[0]
    before = np.zeros(X.shape, dtype=bool)
    for budget in (0.0, 1.0, 3.0, 6.0, 10.0, 20.0):
        used = model.used(X, budget=budget)
        assert np.all(used >= before)
        before = used
    assert before.sum() > 0


def test_a_budget_below_the_cheapest_stage_is_answered_with_the_prior():
    X, y = draw(0, labels=(0, 0, 1))
    model = AnytimeClassifier(Prices([1.0] * 6), random_state=0, **SMALL).fit(X, y)
    for budget in (0, 0.99):
        np.testing.assert_allclose(model.predict_proba(X, budget=budget)[:, 1], y.mean())
        assert set(model.predict(X, budget=budget)) == {0}
        assert not model.bill(X, budget=budget).any()
        assert not model.used(X, budget=budget).any()


def test_a_budget_without_end_is_no_budget(model):
    X = draw(8)[0]
    np.testing.assert_array_equal(model.predict_proba(X, np.inf), model.predict_proba(X))
    np.testing.assert_array_equal(model.used(X, np.inf), model.used(X))
    np.testing.assert_array_equal(model.bill(X, np.inf), model.bill(X))
    np.testing.assert_array_equal(model.predict(X), model.predictor_.predict(X))
    np.testing.assert_array_equal(model.bill(X), model.predictor_.bill(X))


@pytest.mark.parametrize("budget", [-1, np.nan])
def test_a_budget_that_is_none_is_refused(model, budget):
    with pytest.raises(DataError, match="budget"):
        model.predict(draw(0)[0], budget=budget)


def test_a_walk_stopped_after_any_value_answers_with_the_last_complete_stage(model):
    X = draw(9)[0]
    forests = model.model_.rungs
    for x in X[:5]:
        answers = [forest.score(x[np.newaxis])[0] for forest in forests]
        needed = [set(np.flatnonzero(forest.used(x[np.newaxis])[0])) for forest in forests]
        walk = model.walk()
        np.testing.assert_array_equal(walk.scores, answers[0])
        while walk.asks:
            walk.tell({walk.asks[0]: x[walk.asks[0]]})
            told = {int(feature) for feature in walk.told}
            complete = max(k for k, need in enumerate(needed) if need <= told)
            np.testing.assert_array_equal(walk.scores, answers[complete])
        np.testing.assert_array_equal(walk.scores, answers[-1])


def test_each_stage_reads_what_the_one_before_read(model):
    X = draw(10)[0]
    stages = model.model_.rungs
    assert 2 < len(stages) <= STAGES + 1
    for before, after in pairwise(stages):
        assert np.all(after.used(X) >= before.used(X))
        np.testing.assert_array_equal(after.nodes[: len(before.nodes)], before.nodes)


def test_a_saved_model_says_the_same(model, tmp_path):
    X = draw(11)[0]
    model.save(tmp_path / "any.thrifty")
    loaded = load(tmp_path / "any.thrifty")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.bill(X), model.bill(X))


# --- settings


def test_all_classes_share_what_is_bought():
    X, y = draw(0)
    prices = Prices([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    model = AnytimeClassifier(prices, random_state=0, **SMALL).fit(X, y)
    bills = [float(prices.bind(6).bill(f.support[np.newaxis])[0]) for f in model.model_.rungs]
    assert bills == sorted(set(bills))
    assert len(model.model_.rungs[-1].base) == 3


def test_class_weights_move_the_answers():
    X, y = draw(0, labels=(0, 0, 0, 1))
    plain = AnytimeClassifier(random_state=0, **SMALL).fit(X, y)
    even = AnytimeClassifier(random_state=0, class_weight="balanced", **SMALL).fit(X, y)
    assert even.predict(X).sum() > plain.predict(X).sum()
    np.testing.assert_allclose(even.predict_proba(X, budget=0), 0.5)


def test_free_features_are_read_at_no_bill():
    X, y = draw(0)
    model = AnytimeClassifier(Prices([0.0] * 6), random_state=0, **SMALL).fit(X, y)
    assert not model.bill(X).any()
    assert model.score(X, y) > 0.6


def test_the_path_is_the_list_of_stages():
    X, y = draw(0)
    held = draw(1)
    estimator = AnytimeClassifier(PRICES, random_state=0, **SMALL)
    points = list(estimator.path(X, y, validation=held))
    stages = estimator.fit(X, y).model_.rungs
    assert [point.knob["stage"] for point in points] == list(range(len(stages)))
    assert points[0].bill == 0.0
    for point, forest in zip(points, stages, strict=True):
        np.testing.assert_array_equal(point.model.model.score(held[0]), forest.score(held[0]))


def test_many_stages_are_thinned_and_the_last_is_kept():
    prices = Prices(np.linspace(1, 3, 200).tolist()).bind(200)
    bought = np.tri(201, 200, -1, dtype=np.uint8)
    moments = [Snapshot(k, (), (), row, -float(k)) for k, row in enumerate(bought)]
    kept = moderate(moments, prices)
    assert len(kept) <= STAGES
    assert (kept[0].trees, kept[-1].trees) == (0, 200)


def test_a_validation_without_a_target_is_refused():
    X, y = draw(0)
    with pytest.raises(DataError, match="validation"):
        list(AnytimeClassifier(**SMALL).path(X, y, validation=(X,)))
