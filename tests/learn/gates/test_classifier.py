"""ADAPT: known results are found."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

import thrifty
from thrifty import Call, GatedClassifier, LinearFamily
from thrifty.data import four_clusters
from thrifty.model import Gate, KernelMachine, LeafGate

FOREST = RandomForestClassifier(15, min_samples_leaf=3, random_state=0)


def test_four_clusters_cost_one_and_a_half() -> None:
    table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    model = GatedClassifier(
        SVC(gamma=1.0, C=10.0), table.prices, share=0.5, penalty=0.03,
        family=LinearFamily(starts=24), random_state=0,
    ).fit(table.X, table.y)  # fmt: skip
    assert isinstance(model.model_.expensive, KernelMachine)
    assert model.score(table.X, table.y) == 1.0
    assert model.bill(table.X).mean() == 1.5
    np.testing.assert_array_equal(model.sent(table.X), table.X["feature_2"] > 0)


@pytest.mark.parametrize("family", ["boosted", "linear", "leaves"])
def test_hard_rows_are_sent_and_the_share_is_kept(family, half_hard, families) -> None:
    X, y = half_hard(1500)
    Xv, yv = half_hard(1500, seed=1)
    model = GatedClassifier(
        FOREST, share=0.5, penalty=0.002, family=families[family], random_state=0
    ).fit(X, y, validation=(Xv, yv))
    sent = model.sent(Xv)
    assert 0.4 < sent.mean() <= 0.5
    if family != "linear":  # a linear gate cannot single out the middle
        assert np.mean(np.abs(Xv[sent, 0]) < 0.5) > 0.9
        assert model.score(Xv, yv) > 0.93
    why = model.why(Xv[:50])
    assert [line.startswith("sent to expensive") for line in why] == sent[:50].tolist()
    assert (np.diff(model.history_) <= 1e-9 * abs(model.history_[0])).all()


def test_stages_nest(tmp_path, half_hard, families) -> None:
    X, y = half_hard(800)
    inner = GatedClassifier(
        FOREST, share=0.5, family=families["boosted"], alternations=1, random_state=0
    ).fit(X, y)
    outer = GatedClassifier(
        Call("inner", fn=inner, folds=None), share=0.6, penalty=0.01,
        family=families["leaves"], random_state=0,
    ).fit(X, y)  # fmt: skip
    assert isinstance(outer.model_.expensive, Gate)
    assert isinstance(outer.model_.gate, LeafGate)
    sent = outer.sent(X)
    np.testing.assert_array_equal(outer.predict(X[sent]), inner.predict(X[sent]))
    outer.save(tmp_path / "two.thrifty")
    loaded = thrifty.load(tmp_path / "two.thrifty")
    np.testing.assert_array_equal(loaded.predict(X), outer.predict(X))
