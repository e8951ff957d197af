"""Gates by margin and at random: known results, and the laws of all estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from thrifty import BudgetError, Call, GreedyMiserClassifier, LeavesFamily, Prices
from thrifty.checks import laws
from thrifty.learn.baselines import ConfidenceGateClassifier, UniformGateClassifier
from thrifty.model import Blend, Gate

SMALL = LeavesFamily(6, 0.5, 3, 5)
BIG = Call("big", fn=GreedyMiserClassifier(n_estimators=6, max_depth=3), folds=2)
FOREST = RandomForestClassifier(20, min_samples_leaf=3, random_state=0)
LAWS = ("walks-pandas", "unused-polars", "bills-float32", "files-pandas", "path-numbers")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("baseline", [UniformGateClassifier, ConfidenceGateClassifier])
def test_baselines_obey_the_laws(baseline, law) -> None:
    dict(laws(baseline(BIG, family=SMALL, random_state=0)))[law]()


def draw_half_hard(n=1500, seed=0):
    """Draw rows of which half are decided by column 0, half by columns 1 and 2."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 3))
    return X, np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] * X[:, 2] > 0)


def test_confidence_sends_the_smallest_margins() -> None:
    X, y = draw_half_hard()
    model = ConfidenceGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    margin = np.abs(model.model_.local.raw(X)[:, 0])
    sent = model.sent(X)
    assert margin[sent].max() < margin[~sent].min()
    assert 0.2 < sent.mean() <= 0.3


def test_a_random_gate_sends_its_share() -> None:
    X, y = draw_half_hard()
    model = UniformGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0).fit(X, y)
    assert isinstance(model.model_, Blend)
    assert model.sent(X).mean() == pytest.approx(0.3, abs=0.05)


def test_a_random_gate_interpolates_to_meet_its_target() -> None:
    X, y = draw_half_hard()
    validation = draw_half_hard(seed=1)
    model = UniformGateClassifier(FOREST, share=0.3, family=SMALL, random_state=0)
    model.set_params(target={"quality": 0.9}).fit(X, y, validation=validation)
    assert model.score(*validation) == pytest.approx(0.9, abs=0.03)
    with pytest.raises(BudgetError):
        model.set_params(target={"quality": 1.0}).fit(X, y, validation=validation)
    model.set_params(target={"bill": 2.9}).fit(X, y, validation=validation)
    assert 2.5 < model.bill(validation[0]).mean() <= 3.0


def test_prices_are_the_second_parameter() -> None:
    X, y = draw_half_hard(300)
    prices = Prices([1.0, 2.0, 4.0])
    model = ConfidenceGateClassifier(FOREST, prices, share=0.3, family=SMALL, random_state=0)
    model.fit(X, y)
    assert isinstance(model.model_, Gate)
    assert model.bill(X[model.sent(X)]).max() == 7.0
