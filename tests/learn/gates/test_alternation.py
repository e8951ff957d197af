"""The alternation over q, gate and local model never raises its objective."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.learn.gates.alternation import alternate
from thrifty.learn.gates.assignment import DISTANCES


@pytest.mark.parametrize("distance", ["kl", "symmetric"])
@pytest.mark.parametrize("family", ["boosted", "linear", "leaves"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_objective_never_increases(
    family, distance, classes, half_hard, problem_of, families
) -> None:
    X, y = half_hard(300, classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    problem = problem_of(X, y, weight)
    metric = DISTANCES[distance]
    starts = families[family].initial_pairs(problem, 0.003, metric, np.random.RandomState(0))
    improved = 0
    for start in starts:
        pair, q, history = alternate(start, problem, metric, 0.3, 6)
        assert np.average(q, weights=weight) <= 0.3 + 1e-9
        assert (np.diff(history) <= 1e-9 * abs(history[0])).all()
        # The objective is what the paper says.
        losses = (1 - q) * pair.local_loss + q * problem.expensive_loss
        expected = np.average(losses + metric.value(q, pair.gate_values), weights=weight)
        assert history[-1] == pytest.approx(expected + pair.cost, rel=1e-9)
        improved += history[-1] < history[0]
    assert improved


def test_a_share_of_zero_leaves_the_pair_as_it_is(half_hard, problem_of, families) -> None:
    X, y = half_hard(100)
    problem = problem_of(X, y)
    metric = DISTANCES["kl"]
    (start,) = families["leaves"].initial_pairs(problem, 0.0, metric, np.random.RandomState(0))
    pair, q, history = alternate(start, problem, metric, 0.0, 6)
    assert pair is start and not q.any() and len(history) == 1
