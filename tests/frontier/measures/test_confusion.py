"""Metrics of the confusion matrix agree with scikit-learn; influences add up."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from thrifty.frontier.measures import confusion

NAMES = ["accuracy", "balanced_accuracy", "precision", "recall", "f1", "matthews_corrcoef"]


def labels(seed: int, k: int, n: int = 80):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, size=n)
    return y, np.where(rng.random(n) < 0.6, y, rng.integers(0, k, size=n))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [2, 4])
def test_metrics_are_scikit_learns(name, k):
    y, said = labels(0, k)
    mean = {"average": "binary" if k == 2 else "macro"} if name in NAMES[2:5] else {}
    theirs = getattr(metrics, name if name == NAMES[-1] else f"{name}_score")
    value = getattr(confusion, name)(confusion.confusion(y, said, k))
    assert float(value) == pytest.approx(theirs(y, said, **mean))


@pytest.mark.parametrize("name", NAMES)
def test_the_influence_is_what_a_row_more_changes(name):
    y, said = labels(1, 3)
    metric = getattr(confusion, name)
    gains = confusion.influence(metric, y, said, 3)
    value = float(metric(confusion.confusion(y, said, 3)))
    assert gains.mean() == pytest.approx(value)
    for row in range(5):
        more = confusion.confusion(np.append(y, y[row]), np.append(said, said[row]), 3)
        change = (float(metric(more)) - value) * (len(y) + 1)
        assert gains[row] - value == pytest.approx(change, abs=0.1)


def test_a_class_that_is_never_predicted_counts_0():
    table = np.array([[5.0, 0.0], [3.0, 0.0]])
    assert confusion.precision(table) == 0.0 and confusion.f1(table) == 0.0
    assert confusion.matthews_corrcoef(table) == 0.0
