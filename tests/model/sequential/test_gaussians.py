"""Local Gaussians: Bayes' rule, the choice of features, batches, and the model file."""

from __future__ import annotations

import numpy as np
import pytest
from sequential_models import draw_gaussians

from thrifty.model import KINDS, LocalGaussians


def shifted(n=400, price=(0.0, 0.0, 0.0)):
    """Two classes of three standard normal features; the middle one is 3 higher in the second."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    X = rng.normal(size=(n, 3))
    X[:, 1] += 3.0 * labels
    model = LocalGaussians(
        X, labels, np.zeros(3), np.ones(3), np.array(price), np.full(3, -1), np.zeros(0),
        np.arange(3), ridge=0.5, threshold=0.9,
    )  # fmt: skip
    return model, X, labels


def test_the_feature_that_separates_the_classes_is_bought_first():
    model, X, labels = shifted()
    assert model.start().next_feature == 1
    assert model.used(X[:20])[:, 1].all()
    assert np.mean(model.score(X[:100]).argmax(axis=1) == labels[:100]) > 0.85


def test_a_high_price_postpones_a_feature():
    model, _, _ = shifted(price=(0.0, 0.9, 0.0))
    assert model.start().next_feature != 1


def test_the_first_update_is_the_rule_of_bayes_for_two_gaussians():
    model, X, labels = shifted()
    state = model.start()
    state.observe(1.2)
    likelihood = []
    for label in (0, 1):
        column = X[labels == label, 1]
        likelihood.append(np.exp(-0.5 * (1.2 - column.mean()) ** 2 / column.var()) / column.std())
    posterior = model.prior * likelihood / np.sum(model.prior * likelihood)
    assert state.history[0].p_correct == pytest.approx(posterior.max(), rel=1e-6)
    assert state.history[0].predicted == posterior.argmax()


def test_a_missing_value_does_not_change_the_class_probabilities():
    model, _, _ = shifted()
    state = model.with_threshold(1.0).start()
    state.run(np.full(3, np.nan))
    assert [step.p_correct for step in state.history] == pytest.approx([model.prior.max()] * 3)


def test_a_constant_feature_and_a_huge_value_give_finite_probabilities():
    model = LocalGaussians(
        np.column_stack([np.zeros(6), np.arange(6.0)]), np.arange(6) % 2, np.zeros(2), np.ones(2),
        np.zeros(2), np.full(2, -1), np.zeros(0), np.arange(2), ridge=0.5, threshold=1.0,
    )  # fmt: skip
    assert np.isfinite(model.score(np.array([[1e300, -1e300], [0.0, 1.0]]))).all()


def test_a_state_is_rebuilt_by_its_kind():
    model, rows = draw_gaussians(0, classes=3)
    again = KINDS["local-gaussians"].build(*model.state())
    np.testing.assert_array_equal(again.score(rows), model.score(rows))
    with pytest.raises(ValueError, match="read-only"):
        again.standard_scores[0, 0] = 9.0
