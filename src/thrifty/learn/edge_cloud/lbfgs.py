"""Going downhill: a smooth function of many parameters, by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

__all__ = ["descend"]

Floats = NDArray[np.float64]


def descend(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, max_steps: int
) -> tuple[Floats, float]:
    """Where the objective is least near `start`, and its value there; never above the start's.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.edge_cloud.lbfgs import descend
    >>> def bowl(x):
    ...     return float(x @ x), 2.0 * x
    >>> descend(bowl, np.array([3.0, -4.0]), max_steps=10)[1] < 1e-9
    True
    """
    options = {"maxiter": max_steps, "maxfun": 4 * max_steps + 10, "ftol": 1e-12, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x), float(found.fun)
