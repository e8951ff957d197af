"""Greedy gates and distillation: known results, and the laws of all estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from thrifty import Call, GreedyMiserClassifier, LeavesFamily, LinearFamily
from thrifty.checks import laws
from thrifty.data import four_clusters
from thrifty.learn.baselines import DistilledClassifier, GreedyGateClassifier
from thrifty.learn.baselines.learned_gates import fit_logistic
from thrifty.model import Forest

SMALL = LeavesFamily(6, 0.5, 3, 5)
BIG = Call("big", fn=GreedyMiserClassifier(n_estimators=6, max_depth=3), folds=2)
FOREST = RandomForestClassifier(20, min_samples_leaf=3, random_state=0)
BASELINES = {
    "greedy": GreedyGateClassifier(BIG, family=SMALL),
    "linear greedy": GreedyGateClassifier(BIG, family=LinearFamily(), penalty=0.001),
    "distilled": DistilledClassifier(BIG, family=SMALL),
}
LAWS = ("walks-pandas", "unused-polars", "bills-float32", "files-pandas", "path-numbers")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("baseline", list(BASELINES))
def test_baselines_obey_the_laws(baseline, law) -> None:
    dict(laws(BASELINES[baseline].set_params(random_state=0)))[law]()


@pytest.fixture
def half_hard():
    """Rows of which half are decided by column 0, half by columns 1 and 2."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(1500, 3))
    return X, np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)


def test_the_linear_gate_ends_at_one_and_three_quarters() -> None:
    table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    model = GreedyGateClassifier(SVC(gamma=1.0, C=10.0), table.prices, penalty=0.05)
    less = model.set_params(share=0.6).fit(table.X, table.y).score(table.X, table.y)
    assert less < 1.0
    model.set_params(share=0.75).fit(table.X, table.y)
    assert model.model_.gate.support.tolist() == [True, False]
    assert model.score(table.X, table.y) == 1.0
    assert model.bill(table.X).mean() == 1.75


def test_the_greedy_gate_sends_where_the_local_model_errs(half_hard) -> None:
    X, y = half_hard
    model = GreedyGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    wrong = model.model_.local.score(X).argmax(axis=1) != y
    sent = model.sent(X)
    assert wrong[sent].mean() > 2 * wrong[~sent].mean()


def test_a_logistic_regression_handles_missing_classes_and_columns() -> None:
    Z = np.random.default_rng(0).normal(size=(40, 2))
    coef, intercept = fit_logistic(Z, np.zeros(40, dtype=np.int64), None, 1)
    assert not coef.any() and intercept[0] == pytest.approx(np.log(1e-6))
    coef, intercept = fit_logistic(Z[:, :0], np.arange(40) % 4 // 3, None, 1)
    assert coef.shape == (0, 1) and intercept[0] == pytest.approx(np.log(1 / 3))
    coef, intercept = fit_logistic(Z, 2 * (Z[:, 0] > 0).astype(np.int64), None, 3)
    predicted = (Z @ coef + intercept).argmax(axis=1)
    assert set(predicted) == {0, 2}
    assert np.mean(predicted == 2 * (Z[:, 0] > 0)) > 0.9


def test_a_student_predicts_alone(half_hard) -> None:
    X, y = half_hard
    model = DistilledClassifier(FOREST, family=SMALL, random_state=0).fit(X, y)
    assert isinstance(model.model_, Forest)
    assert not model.sent(X).any()


def test_a_student_learns_from_a_teacher_that_sees_through_noise(half_hard) -> None:
    X, y = half_hard
    noise = np.random.default_rng(0).random(len(y)) < 0.3
    wise, noisy = (np.eye(2)[labels.astype(int)] for labels in (y, y ^ noise))
    taught, alone = (
        DistilledClassifier(FOREST, family=SMALL).fit(X, y ^ noise, expensive_proba=proba)
        for proba in (wise, noisy)
    )
    assert taught.score(X, y) > alone.score(X, y)
