"""Select support vectors by least angle regression (Xu 2014, sec. 4.4, eq. 4.9).

With the bias fixed and the hinge dropped, the objective of an SVM is one of least squares: the
labels minus the bias, regressed on the columns of the kernel matrix, plus the squared norm. Least
angle regression (LARS; Efron et al. 2004) on it adds one vector at a time, so one run orders the
vectors for every size.

A problem of several classes has one response for each pair. The correlation of a candidate is then
the length of the vector of its correlations with all responses (Similä and Tikka 2005); for two
classes this is plain LARS.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.svm.svm_model import KernelSVM

__all__ = ["LeastAnglePath", "least_angle_order", "select_vectors"]

Floats = NDArray[np.float64]
# A candidate with less than this share of its squared length outside of the span of the active
# candidates counts as a combination of them.
DEPENDENCE_TOL = 1e-10
# LARS stops when all correlations are below this share of the largest at the start, squared.
CORRELATION_TOL = 1e-20
# Shares of a step below this are rounding errors of a candidate that has just entered.
STEP_TOL = 1e-12
# LARS needs the products of all pairs of candidates; of more vectors than this, it gets a sample.
MAX_CANDIDATES = 6000


def select_vectors(svm: KernelSVM, count: int, random: RandomState) -> NDArray[np.intp]:
    """Return the positions of `count` support vectors in the order in which LARS adds them.

    There may be fewer, if the rest is linearly dependent on them. All pairs of classes choose
    together. The response of a pair is the label for the vectors of its two classes, and the
    decision of the SVM for the others.
    """
    candidates = np.arange(len(svm.vectors))
    if len(candidates) > MAX_CANDIDATES:
        candidates = np.sort(random.permutation(candidates)[:MAX_CANDIDATES])
    S = svm.vectors[candidates]
    labels = svm.labels[candidates]
    targets = np.where(labels != 0, labels, svm.decisions(S)) - svm.intercepts
    K = svm.kernel.matrix(S, S)
    order = least_angle_order(K.T @ K + K / svm.C, K.T @ targets, min(count, len(S)))
    return candidates[order]


def least_angle_order(gram: Floats, products: Floats, steps: int) -> NDArray[np.intp]:
    """Return the candidates in the order in which they become active, at most `steps`.

    Parameters
    ----------
    gram : array of shape (s, s)
        Inner products of the candidates.
    products : array of shape (s, P)
        Inner products of the candidates with the responses.
    steps : int
        How many to take; there are fewer once the rest explains nothing more.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.svm.selection import least_angle_order
    >>> least_angle_order(np.eye(3), np.array([[1.0], [-3.0], [2.0]]), 2)
    array([1, 2])
    """
    path = LeastAnglePath(gram, products, steps)
    while len(path.active) < steps and path.enter():
        path.advance()
    return np.array(path.active, dtype=np.intp)


class LeastAnglePath:
    """The state of least angle regression.

    No equations are solved on the way: a candidate that enters adds a column to a Cholesky factor
    of `gram`, and what that column explains is subtracted from `target_correlations`.

    Attributes
    ----------
    active : list of int
        Candidates that have entered, in order.
    available : bool array of shape (s,)
        Candidates that have neither entered nor been found dependent.
    correlations : array of shape (s, P)
        Correlations of the candidates with the current residuals.
    target_correlations : array of shape (s, P)
        Correlations with the residuals of the least squares fit of the active candidates, towards
        which the path moves.
    """

    def __init__(self, gram: Floats, products: Floats, steps: int) -> None:
        self.gram = gram
        self.active: list[int] = []
        self.available = np.ones(len(products), dtype=bool)
        self.correlations, self.target_correlations = products.copy(), products.copy()
        self._factor = np.empty((len(products), steps))
        self._active_length = 0.0
        self._least_length = CORRELATION_TOL * float(_row_dots(products, products).max(initial=0.0))

    def enter(self) -> bool:
        """Activate the candidate of the longest correlation; return False if none is left."""
        lengths = np.where(self.available, _row_dots(self.correlations, self.correlations), -1.0)
        while True:
            new = int(lengths.argmax())
            if lengths[new] <= self._least_length:
                return False
            self.available[new] = False
            self._active_length, lengths[new] = float(lengths[new]), -1.0
            k = len(self.active)
            before, row = self._factor[:, :k], self._factor[new, :k]
            rest = self.gram[new, new] - row @ row
            if rest <= DEPENDENCE_TOL * self.gram[new, new]:
                continue
            column = (self.gram[new] - before @ row) / np.sqrt(rest)
            self._factor[:, k] = column
            explained = self.target_correlations[new] / np.sqrt(rest)
            self.target_correlations -= np.outer(column, explained)
            self.active.append(new)
            return True

    def advance(self) -> None:
        """Move towards the least squares fit until another candidate is as correlated.

        The step is the smallest share g of the way at which the correlation of an available
        candidate, ``|correlations - g direction|``, has the length of that of the active ones,
        ``(1 - g)`` times what it was.
        """
        direction = self.correlations - self.target_correlations
        among = self.available
        a = _row_dots(direction, direction)[among] - self._active_length
        b = _row_dots(self.correlations, direction)[among] - self._active_length
        c = _row_dots(self.correlations, self.correlations)[among] - self._active_length
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            # Both roots of a g^2 - 2 b g + c, in the forms that do not cancel.
            far = b + np.where(b < 0, -root, root)
            shares = np.concatenate([far / a, c / far])
        inside = shares[(shares > STEP_TOL) & (shares <= 1.0)]
        self.correlations -= float(inside.min(initial=1.0)) * direction


def _row_dots(first: Floats, second: Floats) -> Floats:
    """Inner product of each row of the first array with the same row of the second, (s,)."""
    return np.asarray(np.einsum("ij,ij->i", first, second))
