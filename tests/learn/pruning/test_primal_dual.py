"""The primal-dual method encloses the optimum, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from closure_cases import Case

from thrifty import threads
from thrifty.learn.pruning.primal_dual import solve_dual


def test_the_primal_dual_encloses_the_optimum():
    gaps = []
    for seed in range(80):
        pruning = Case(seed).pruning
        for penalty in (0.003, 0.03, 0.2):
            best = pruning.value(pruning.solve(penalty), penalty)
            found = solve_dual(pruning, penalty, iterations=100)
            assert found.bound >= best - 1e-12
            assert found.value <= best + 1e-12
            assert pruning.value(found.keep, penalty) == pytest.approx(found.value, abs=1e-12)
            assert found.gap >= -1e-12 and found.iterations <= 100
            gaps.append(found.gap)
    assert np.mean(np.array(gaps) < 1e-3) > 0.9


def test_the_primal_dual_does_not_depend_on_the_number_of_threads():
    for seed in range(20):
        pruning = Case(seed).pruning
        alone = solve_dual(pruning, 0.02, iterations=30)
        with threads(3):
            together = solve_dual(pruning, 0.02, iterations=30)
        np.testing.assert_array_equal(alone.keep, together.keep)
        assert (alone.value, alone.bound) == (together.value, together.bound)
