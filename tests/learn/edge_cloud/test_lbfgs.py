"""L-BFGS: reaches minima and keeps to its steps."""

from __future__ import annotations

import numpy as np

from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs


def rosenbrock(x):
    a, b = 1.0 - x[0], x[1] - x[0] ** 2
    return a * a + 100.0 * b * b, np.array([-2.0 * a - 400.0 * x[0] * b, 200.0 * b])


def test_the_minimum_of_a_curved_valley_is_found() -> None:
    found, value = minimize_lbfgs(rosenbrock, np.array([-1.2, 1.0]), 200)
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-4)
    assert value == rosenbrock(found)[0] < 1e-8


def test_few_steps_never_end_above_the_start() -> None:
    start = np.array([-1.2, 1.0])
    values = [minimize_lbfgs(rosenbrock, start, steps)[1] for steps in (1, 5, 50)]
    assert rosenbrock(start)[0] >= values[0] >= values[1] >= values[2]
