"""AnytimeClassifier: the XOR data of the thesis, and predictions within any budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from anytime_cases import PRICES, SMALL, draw
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty import AnytimeClassifier, Prices, load
from thrifty.data import noisy_xor
from thrifty.errors import DataError
from thrifty.learn.anytime.stages import MAX_STAGES


@pytest.fixture(scope="module", params=[("no", "yes"), ("low", "mid", "top")], ids=["two", "three"])
def model(request):
    X, y = draw(0, labels=request.param)
    return AnytimeClassifier(PRICES, random_state=0, **SMALL).fit(X, y)


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


def rows_of_two_classes():
    """Return rows whose first, cheap column decides the clear cases."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, 2.0 * X[:, 0] + X[:, 1] > 0


# --- the XOR data of Xu 2014, sec. 2.2.4


@pytest.mark.slow
def test_xor_is_nearly_solved_at_95_and_solved_with_all_features():
    # The first draw, and means over draws on which nothing was tuned. A single draw may fall short
    # at 95: see the method's page.
    cheap, full = [], []
    for seed in (0, *range(30, 34)):
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
    hidden = np.where(used, X, np.nan)
    np.testing.assert_array_equal(
        model.predict_proba(X, budget=budget), model.predict_proba(hidden, budget=budget)
    )
    np.testing.assert_array_equal(bills, model.bill(hidden, budget=budget))


def test_a_larger_budget_reads_no_less(model):
    X = draw(7)[0]
    before = np.zeros(X.shape, dtype=bool)
    for budget in (0.0, 1.0, 3.0, 6.0, 10.0, 20.0):
        used = model.used(X, budget=budget)
        assert np.all(used >= before)
        before = used
    assert before.sum() > 0


def test_a_budget_below_the_cheapest_stage_gets_the_class_shares():
    X, y = draw(0, labels=(0, 0, 1))
    model = AnytimeClassifier(Prices([1.0] * 6), random_state=0, **SMALL).fit(X, y)
    for budget in (0, 0.99):
        np.testing.assert_allclose(model.predict_proba(X, budget=budget)[:, 1], y.mean())
        assert set(model.predict(X, budget=budget)) == {0}
        assert not model.bill(X, budget=budget).any()
        assert not model.used(X, budget=budget).any()


def test_an_infinite_budget_is_no_budget(model):
    X = draw(8)[0]
    np.testing.assert_array_equal(model.predict_proba(X, np.inf), model.predict_proba(X))
    np.testing.assert_array_equal(model.used(X, np.inf), model.used(X))
    np.testing.assert_array_equal(model.bill(X, np.inf), model.bill(X))
    np.testing.assert_array_equal(model.predict(X), model.predictor_.predict(X))
    np.testing.assert_array_equal(model.bill(X), model.predictor_.bill(X))


@pytest.mark.parametrize("budget", [-1, np.nan])
def test_a_budget_that_is_negative_or_nan_is_refused(model, budget):
    with pytest.raises(DataError, match="budget"):
        model.predict(draw(0)[0], budget=budget)


def test_a_walk_stopped_after_any_value_predicts_by_the_last_complete_stage(model):
    X = draw(9)[0]
    forests = model.model_.rungs
    for x in X[:5]:
        scores = [forest.score(x[np.newaxis])[0] for forest in forests]
        needed = [set(np.flatnonzero(forest.used(x[np.newaxis])[0])) for forest in forests]
        walk = model.walk()
        np.testing.assert_array_equal(walk.scores, scores[0])
        while walk.asks:
            walk.tell({walk.asks[0]: x[walk.asks[0]]})
            known = {int(feature) for feature in walk.told}
            complete = max(k for k, need in enumerate(needed) if need <= known)
            np.testing.assert_array_equal(walk.scores, scores[complete])
        np.testing.assert_array_equal(walk.scores, scores[-1])


def test_each_stage_reads_what_the_one_before_read(model):
    X = draw(10)[0]
    stages = model.model_.rungs
    assert 2 < len(stages) <= MAX_STAGES + 1
    for before, after in pairwise(stages):
        assert np.all(after.used(X) >= before.used(X))
        np.testing.assert_array_equal(after.nodes[: len(before.nodes)], before.nodes)


def test_a_saved_model_predicts_the_same(model, tmp_path):
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


def test_class_weights_change_the_predictions():
    X, y = draw(0, labels=(0, 0, 0, 1))
    plain = AnytimeClassifier(random_state=0, **SMALL).fit(X, y)
    balanced = AnytimeClassifier(random_state=0, class_weight="balanced", **SMALL).fit(X, y)
    assert balanced.predict(X).sum() > plain.predict(X).sum()
    np.testing.assert_allclose(balanced.predict_proba(X, budget=0), 0.5)


def test_free_features_are_read_at_no_bill():
    X, y = draw(0)
    model = AnytimeClassifier(Prices([0.0] * 6), random_state=0, **SMALL).fit(X, y)
    assert not model.bill(X).any()
    assert model.score(X, y) > 0.6


def test_the_path_is_the_list_of_stages():
    X, y = draw(0)
    validation = draw(1)
    estimator = AnytimeClassifier(PRICES, random_state=0, **SMALL)
    points = list(estimator.path(X, y, validation=validation))
    stages = estimator.fit(X, y).model_.rungs
    assert [point.knob["stage"] for point in points] == list(range(len(stages)))
    assert points[0].bill == 0.0
    for point, forest in zip(points, stages, strict=True):
        np.testing.assert_array_equal(
            point.model.model.score(validation[0]), forest.score(validation[0])
        )


def test_a_validation_without_a_target_is_refused():
    X, y = draw(0)
    with pytest.raises(DataError, match="validation"):
        list(AnytimeClassifier(**SMALL).path(X, y, validation=(X,)))


def test_a_tree_is_paid_once_across_stages():
    X, y = rows_of_two_classes()
    model = AnytimeClassifier(Prices([1.0, 5.0, 5.0], evaluation=0.25), random_state=0).fit(X, y)
    stages = model.model_.rungs
    assert len(stages) > 2  # several stages share trees
    own = model.used(X) @ [1.0, 5.0, 5.0]
    np.testing.assert_allclose(model.bill(X), own + 0.25 * len(stages[-1].roots))
    np.testing.assert_array_equal(model.predictor_.evaluations(X), len(stages[-1].roots))


def test_a_row_stops_once_a_class_is_probable_enough():
    X, y = rows_of_two_classes()
    prices = Prices([1.0, 5.0, 5.0])
    every = AnytimeClassifier(prices, random_state=0).fit(X, y)
    sure = AnytimeClassifier(prices, confidence=0.9, random_state=0).fit(X, y)
    bills = sure.bill(X)
    assert bills.mean() < every.bill(X).mean()
    stopped = sure.model_.rung(X) < len(sure.model_.rungs) - 1
    assert (sure.predict_proba(X)[stopped].max(axis=1) >= 0.9).all()
    assert (sure.bill(X, budget=1.0) <= 1.0).all()
    walk = sure.walk()
    while walk.asks:
        walk.tell({walk.asks[0]: X[0, walk.asks[0]]})
    assert walk.receipt.total == bills[0]
    assert walk.answer == sure.predict(X[:1])[0]
