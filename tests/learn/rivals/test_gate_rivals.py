"""Simpler gates: their known answers, and the laws that hold for them as for the learnt one."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from thrifty import BudgetError, Call, GreedyMiserClassifier, LeavesFamily, LinearFamily
from thrifty.checks import laws
from thrifty.data import four_clusters
from thrifty.learn.baselines import (
    ConfidenceGateClassifier,
    DistilledClassifier,
    GreedyGateClassifier,
    UniformGateClassifier,
)
from thrifty.model import Blend, Forest

SMALL = LeavesFamily(6, 0.5, 3, 5)
BIG = Call("big", fn=GreedyMiserClassifier(n_estimators=6, max_depth=3), folds=2)
RIVALS = {
    "uniform": UniformGateClassifier(BIG, family=SMALL),
    "confidence": ConfidenceGateClassifier(BIG, family=SMALL),
    "greedy": GreedyGateClassifier(BIG, family=SMALL),
    "linear greedy": GreedyGateClassifier(BIG, family=LinearFamily(), penalty=0.001),
    "distilled": DistilledClassifier(BIG, family=SMALL),
}
HELD = ("walks-pandas", "unused-polars", "bills-float32", "files-pandas", "path-numbers")


@pytest.mark.parametrize("law", HELD)
@pytest.mark.parametrize("rival", list(RIVALS))
def test_rivals_obey_the_laws(rival, law) -> None:
    checks = dict(laws(RIVALS[rival].set_params(random_state=0)))
    checks[law]()


def halves(n=1500, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    return X, np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)


FOREST = RandomForestClassifier(20, min_samples_leaf=3, random_state=0)


def test_the_l1_gate_ends_at_one_and_three_quarters() -> None:
    table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    model = GreedyGateClassifier(SVC(gamma=1.0, C=10.0), penalty=0.05, prices=table.prices)
    less = model.set_params(share=0.6).fit(table.X, table.y).score(table.X, table.y)
    assert less < 1.0
    model.set_params(share=0.75).fit(table.X, table.y)
    assert model.model_.gate.support.tolist() == [True, False]
    assert model.score(table.X, table.y) == 1.0
    assert model.bill(table.X).mean() == 1.75


def test_confidence_sends_the_smallest_margins() -> None:
    X, y = halves()
    model = ConfidenceGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    margin = np.abs(model.model_.local.raw(X)[:, 0])
    sent = model.sent(X)
    assert margin[sent].max() < margin[~sent].min()
    assert 0.2 < sent.mean() <= 0.3


def test_the_greedy_gate_sends_where_the_local_model_errs() -> None:
    X, y = halves()
    model = GreedyGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    wrong = model.model_.local.score(X).argmax(axis=1) != y
    sent = model.sent(X)
    assert wrong[sent].mean() > 2 * wrong[~sent].mean()


def test_lots_send_their_share_whatever_the_row() -> None:
    X, y = halves()
    held = halves(seed=1)
    model = UniformGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    assert isinstance(model.model_, Blend)
    assert model.sent(X).mean() == pytest.approx(0.3, abs=0.05)
    model.set_params(target={"quality": 0.9}).fit(X, y, validation=held)
    assert model.score(*held) == pytest.approx(0.9, abs=0.03)
    with pytest.raises(BudgetError):
        model.set_params(target={"quality": 1.0}).fit(X, y, validation=held)
    model.set_params(target={"bill": 2.9}).fit(X, y, validation=held)
    assert 2.5 < model.bill(held[0]).mean() <= 3.0


def test_a_student_answers_alone() -> None:
    X, y = halves()
    model = DistilledClassifier(FOREST, family=SMALL, random_state=0).fit(X, y)
    assert isinstance(model.model_, Forest)
    assert not model.sent(X).any()
    # A teacher who knows better than noisy labels is heard.
    noise = np.random.default_rng(0).random(len(y)) < 0.3
    wise, plain = (np.eye(2)[labels.astype(int)] for labels in (y, y ^ noise))
    taught, alone = (
        DistilledClassifier(FOREST, family=SMALL).fit(X, y ^ noise, answers=answers)
        for answers in (wise, plain)
    )
    assert taught.score(X, y) > alone.score(X, y)
