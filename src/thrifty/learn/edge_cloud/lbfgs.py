"""Minimize a smooth function of many parameters by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["minimize_lbfgs"]

Floats = NDArray[np.float64]


def minimize_lbfgs(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, max_steps: int
) -> tuple[Floats, float]:
    """Return a local minimum near `start` and its value, which is never above that of `start`.

    `objective` returns the value and the gradient at a point.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.edge_cloud.lbfgs import minimize_lbfgs
    >>> def bowl(x):
    ...     return float((x - 1.0) @ (x - 1.0)), 2.0 * (x - 1.0)
    >>> minimum, value = minimize_lbfgs(bowl, np.array([3.0, -4.0]), max_steps=10)
    >>> minimum.round(6), round(value, 6)
    (array([1., 1.]), 0.0)
    """
    options = {"maxiter": max_steps, "maxfun": 4 * max_steps + 10, "ftol": 1e-12, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x), float(found.fun)
