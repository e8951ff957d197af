"""What the budget estimators share: candidates with prices and seeds, copies for other budgets."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty import (
    BudgetClassifier,
    BudgetRanker,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    Prices,
    load,
)
from thrifty.errors import DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 2))
y = (X[:, 0] > 0).astype(int)
PRICES = Prices([1.0, 2.0])
MISER = GreedyMiserClassifier(n_estimators=3)


def test_candidates_get_the_prices_and_a_seed_of_the_estimator() -> None:
    model = BudgetClassifier(PRICES, learners={"a": MISER}, random_state=3)
    candidate = model.candidates("classification")["a"]
    assert candidate.prices is PRICES
    assert isinstance(candidate.random_state, int)
    assert MISER.prices is None and MISER.random_state is None


def test_a_candidate_keeps_a_seed_of_its_own() -> None:
    own = GreedyMiserClassifier(n_estimators=3, random_state=7)
    model = BudgetClassifier(PRICES, learners=[own], random_state=3)
    (candidate,) = model.candidates("classification").values()
    assert candidate.random_state == 7


def test_a_learner_for_another_task_is_refused() -> None:
    model = BudgetClassifier(PRICES, learners=[GreedyMiserRegressor()])
    with pytest.raises(DataError, match="not for classification"):
        model.fit(X, y)


def test_a_copy_for_another_budget_leaves_the_estimator_alone() -> None:
    model = BudgetClassifier(PRICES, learners=[MISER], random_state=0).fit(X, y)
    point = model.point_
    cheap = model.at_budget(0.0)
    assert cheap is not model and type(cheap) is BudgetClassifier
    assert model.point_ is point and cheap.point_.bill == 0.0
    assert cheap.frontier_.points == model.frontier_.points


# --- evidence ----------------------------------------------------------------


def rare_help(n, seed):
    """Feature 0 decides seven rows of ten; the dear feature 1 decides the others."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 2))
    hard = np.abs(Z[:, 0]) < 0.4
    return Z, (np.where(hard, Z[:, 1], Z[:, 0]) > 0).astype(int)


@pytest.fixture(scope="module")
def ladder() -> BudgetClassifier:
    model = BudgetClassifier(Prices([1.0, 10.0]), effort="fast", random_state=0)
    return model.fit(*rare_help(1200, seed=0)).at_budget(6.0)


def test_the_chosen_model_has_evidence_and_keeps_it_in_a_file(ladder, tmp_path) -> None:
    ladder.save(tmp_path / "m.thrifty")
    found, own = load(tmp_path / "m.thrifty").evidence, ladder.predictor_.evidence
    np.testing.assert_array_equal(found.ends, own.ends)
    np.testing.assert_array_equal(found.passes, own.passes)
    assert len(own.passes) > 0


def test_intervals_of_a_ladder_hold_on_new_rows_at_every_stage(ladder) -> None:
    Z, t = rare_help(4000, seed=1)
    predictor = ladder.predictor_
    scores, bills = predictor.predict_proba(Z), predictor.bill(Z)
    is_right, confidence = scores.argmax(axis=1) == t, scores.max(axis=1)
    covered, cells = 0, 0
    for bill in np.unique(bills):
        rows = np.flatnonzero(bills == bill)
        for part in np.array_split(rows[np.argsort(confidence[rows])], 5):
            middle = scores[part[len(part) // 2]]
            low, high = predictor.evidence.interval(bill, middle, is_done=True)
            slack = 2 * np.sqrt(0.25 / len(part)) / 2  # of the share measured here
            covered += low - slack <= is_right[part].mean() <= high + slack
            cells += 1
    assert len(np.unique(bills)) >= 2 and covered >= 0.9 * cells


def test_the_gain_of_a_ladder_is_what_new_rows_gain(ladder) -> None:
    Z, t = rare_help(4000, seed=2)
    predictor = ladder.predictor_
    right_now, right_later, expected = [], [], []
    for row, target in zip(Z[:600].tolist(), t, strict=False):
        walk = predictor.walk()
        walk.tell({0: row[0]})
        if not walk.asks:
            continue
        expected.append(walk.why.gain)
        right_now.append(walk.best == target)
        walk.tell({1: row[1]})
        right_later.append(walk.best == target)
    assert len(expected) > 50
    assert np.mean(expected) == pytest.approx(np.mean(right_later) - np.mean(right_now), abs=0.08)


def test_a_ranking_has_no_evidence() -> None:
    Z, grade = RNG.normal(size=(200, 2)), np.arange(200) % 3
    model = BudgetRanker(effort="fast", random_state=0).fit(Z, grade, qid=np.arange(200) // 10)
    assert model.predictor_.evidence is None
