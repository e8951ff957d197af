"""ADAPT-GBRT: shared purchases, GreedyMiser as a special case, and the last refit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from thrifty import BoostedFamily, GatedClassifier, GreedyMiserClassifier
from thrifty.learn.gates.assignment import KLDistance

# Column 0 is worth its price, the others are not.
PENALTY = 0.02


@pytest.mark.parametrize("classes", [2, 3])
def test_without_rows_to_send_it_is_greedy_miser(classes, half_hard) -> None:
    X, y = half_hard(400, classes)
    family = {"n_estimators": 12, "learning_rate": 0.2, "max_depth": 3, "min_samples_leaf": 10}
    weight = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    miser = GreedyMiserClassifier(penalty=0.004, **family).fit(X, y, sample_weight=weight)
    forest = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)
    gated = GatedClassifier(forest, share=0.0, penalty=0.004, family=BoostedFamily(**family))
    gated.fit(X, y, sample_weight=weight)
    plain, arrays = miser.model_.state()
    same, others = gated.model_.local.state()
    assert plain == same
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name])
    assert not gated.sent(X).any()
    np.testing.assert_array_equal(gated.predict_proba(X), miser.predict_proba(X))
    np.testing.assert_array_equal(gated.bill(X), miser.bill(X))


@pytest.fixture
def initial_pair(half_hard, problem_of, families):
    """GreedyMiser with a gate of 0, at PENALTY."""
    X, y = half_hard(400)
    (pair,) = families["boosted"].initial_pairs(
        problem_of(X, y), PENALTY, KLDistance(), np.random.RandomState(0)
    )
    return pair


def test_gate_and_local_model_pay_for_a_feature_once(initial_pair) -> None:
    q = np.full(400, 0.3)
    gate, local = initial_pair.update(q).freeze()
    bought = gate.support | local.support
    assert bought.any()
    assert initial_pair.update(q).cost == pytest.approx(PENALTY * bought.sum())


def test_the_initial_gate_is_zero(initial_pair, half_hard) -> None:
    X, _ = half_hard(400)
    gate, _ = initial_pair.freeze()
    assert not initial_pair.gate_values.any()
    assert not gate.score(X).any() and not gate.support.any()


def test_a_refit_reads_only_what_was_bought(initial_pair, half_hard) -> None:
    X, _ = half_hard(400)
    pair = initial_pair.update(np.where(np.abs(X[:, 0]) < 0.5, 0.8, 0.1))
    before = pair.freeze()
    after = pair.refit(np.full(400, 0.3), share=0.5).freeze()
    bought = before[0].support | before[1].support
    assert bought.tolist() == [True, False, False, False]
    assert not ((after[0].support | after[1].support) & ~bought).any()


def test_a_pair_that_bought_nothing_is_not_refitted(half_hard, problem_of, families) -> None:
    X, y = half_hard(100)
    (pair,) = families["boosted"].initial_pairs(
        problem_of(X, y), 100.0, KLDistance(), np.random.RandomState(0)
    )
    assert pair.refit(np.zeros(100), share=0.5) is pair


def test_of_a_wide_table_only_what_greedy_miser_buys_is_read(
    half_hard, problem_of, families, monkeypatch
) -> None:
    X, y = half_hard(400)
    problem, miser = problem_of(X, y), 0.004
    # A gate that has to tell apart rows by column 3 would buy it.
    q = np.where(X[:, 3] > 0, 0.9, 0.1)

    def supports() -> list[np.ndarray]:
        (pair,) = families["boosted"].initial_pairs(
            problem, miser, KLDistance(), np.random.RandomState(0)
        )
        gate, local = pair.update(q).freeze()
        return [pair.freeze()[1].support, gate.support | local.support]

    first, every = supports()
    assert every[3] and not first[3]
    monkeypatch.setattr("thrifty.learn.gates.boosted.MAX_COLUMNS", 3)
    again, read = supports()
    np.testing.assert_array_equal(again, first)
    assert read.any() and not (read & ~first).any()
