"""GreedyMiserClassifier: probabilities, labels and decisions agree."""

from __future__ import annotations

import numpy as np
import pytest
from miser_cases import draw

from thrifty.learn import GreedyMiserClassifier


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_probabilities_labels_and_decisions_agree(loss, classes):
    X, _, labels = draw(classes=classes)
    names = np.array(["a", "b", "c", "d", "e"])[labels]
    model = GreedyMiserClassifier(loss=loss, n_estimators=30).fit(X, names)
    p, decision = model.predict_proba(X), model.decision_function(X)
    assert p.shape == (len(X), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.classes_.tolist() == sorted(set(names))
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    if classes == 2:
        assert decision.shape == (len(X),)
        np.testing.assert_array_equal(decision > 0, p[:, 1] > 0.5)
    else:
        assert decision.shape == (len(X), classes)
    assert model.score(X, names) > 0.7
