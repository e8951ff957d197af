"""How much the predictions of a model depend on each feature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.model import Frozen

__all__ = ["score_changes"]


def score_changes(model: Frozen, X: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean change of a row's scores when one feature is shuffled among rows, (d,).

    It needs no target, is never negative, and is 0 for a feature that the model does not read. The
    order of the columns decides nothing.

    Parameters
    ----------
    model : Frozen
    X : array of shape (n, d)
        Encoded rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.learn.importances import score_changes
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> model = GreedyMiserRegressor(random_state=0).fit(X, 2 * X[:, 0] + X[:, 1])
    >>> score_changes(model.model_, X).round(1)
    array([2.2, 1. , 0.1])
    """
    before = model.score(X)
    other = np.random.default_rng(0).permutation(len(X))
    changes = np.zeros(X.shape[1])
    for j in np.flatnonzero(model.support):
        shuffled = X.copy()
        shuffled[:, j] = X[other, j]
        changes[j] = np.abs(model.score(shuffled) - before).mean()
    return changes
