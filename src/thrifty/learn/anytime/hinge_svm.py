"""A linear SVM with squared hinge loss, and derivatives of the validation error through it.

The optimum has a closed form given the support vectors (Xu 2014, sec. 2.2.3): M [b, w] = z, where M
is the weighted Gram matrix of the dimensions over the support vectors. Between two fits one
dimension changes and few rows enter or leave the support, so M is updated, not recomputed.

The SVM is fitted to the training rows, and the error is counted on the validation rows. A change of
the representation moves both; the first through the closed form (eqs. 2.25, 2.28-2.33). Two
corrections of the thesis: the sigmoid in eq. 2.25 lacks the sign of the class, and eq. 2.32 lacks
the factors `a` and mu. Finite differences agree with the corrected derivatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from scipy.special import expit

__all__ = ["HingeSVM", "ValidationGradient", "soft_error", "validation_gradient"]

Floats = NDArray[np.float64]

# Active-set steps of one fit, and halvings of a step that would increase the objective.
MAX_STEPS = 50
MAX_HALVINGS = 10
# The bias is not regularized; this keeps M regular when there are no support vectors.
BIAS_RIDGE = 1e-12
# Steepness of the sigmoid that approximates the 0-1 loss (a in eq. 2.25).
STEEPNESS = 5.0


class HingeSVM:
    """Minimize ``1/2 w'w + C/2 sum_i weight_i [1 - sign_i (w'phi_i + b)]_+^2`` (eqs. 2.21, 2.26).

    A representation is an array (dimensions, n) whose first row is all ones, for the bias.

    Parameters
    ----------
    sign : array of shape (n,)
        Class of each row, -1 or 1.
    weight : array of shape (n,)
        Sample weights (mu).
    C : float
        Inverse regularization; may be changed between fits.

    Attributes
    ----------
    beta : array of shape (dimensions,)
        Bias, then the weights: [b, w].
    outputs : array of shape (n,)
        Decision values of the rows.
    support : bool array of shape (n,)
        Which rows are support vectors: those with a margin below 1.

    Examples
    --------
    Two rows, at 0 and 4, are separated at 2 with margins of 1:

    >>> import numpy as np
    >>> from thrifty.learn.anytime.hinge_svm import HingeSVM
    >>> svm = HingeSVM(np.array([-1.0, 1.0]), np.ones(2), C=1e6)
    >>> svm.fit(np.array([[1.0, 1.0], [0.0, 4.0]]))
    >>> svm.beta.round(3)
    array([-1. ,  0.5])
    """

    def __init__(self, sign: Floats, weight: Floats, C: float = 1.0) -> None:
        self.sign, self.weight, self.C = sign, weight, C
        self.beta: Floats = np.zeros(0)
        self.outputs: Floats = np.zeros(len(sign))
        self.support = np.ones(len(sign), dtype=bool)
        self._gram: Floats = np.zeros((0, 0))
        self._z: Floats = np.zeros(0)

    def fit(self, phi: Floats, changed: int | None = None) -> None:
        """Find the optimum for `phi` (dimensions, n), starting from the present one.

        With `changed`, only that dimension may differ from the last fit. Dimensions that are new
        start with weight 0.
        """
        added = len(phi) - len(self.beta)
        if added:
            self.beta = np.append(self.beta, np.zeros(added))
            self._z = np.append(self._z, np.zeros(added))
            self._gram = np.pad(self._gram, (0, added))
        if changed is None:
            rows = np.flatnonzero(self.support)
            chosen = phi[:, rows]
            weighted = chosen * self.weight[rows]
            self._gram, self._z = weighted @ chosen.T, weighted @ self.sign[rows]
        else:
            weighted = np.where(self.support, self.weight * phi[changed], 0.0)
            self._gram[changed] = self._gram[:, changed] = phi @ weighted
            self._z[changed] = weighted @ self.sign
        # A changed dimension whose weight is still 0 leaves the outputs as they are.
        if changed is None or self.beta[changed] != 0.0:
            self.outputs = self.beta @ phi
        objective = self.value(self.beta, self.outputs)
        for _ in range(MAX_STEPS):
            optimum = self.solve(self._z)
            step, objective = self._move_toward(optimum, optimum @ phi, objective)
            support = self.sign * self.outputs < 1.0
            rows = np.flatnonzero(support != self.support)
            if len(rows):  # add the rows that enter the support to M and z, subtract the others
                chosen = phi[:, rows]
                weighted = chosen * np.where(support[rows], self.weight[rows], -self.weight[rows])
                self._gram += weighted @ chosen.T
                self._z += weighted @ self.sign[rows]
                self.support = support
            if step == 0.0 or (step == 1.0 and not len(rows)):
                return

    def copy(self) -> HingeSVM:
        """Return a copy that later fits of this SVM do not change."""
        other = HingeSVM(self.sign, self.weight, self.C)
        # These three are replaced by a fit, the others are changed in place.
        other.beta, other.outputs, other.support = self.beta, self.outputs, self.support
        other._gram, other._z = self._gram.copy(), self._z.copy()
        return other

    def solve(self, rhs: Floats) -> Floats:
        """Return the inverse of M times `rhs` (dimensions,) (eq. 2.31)."""
        matrix = self._gram.copy()
        matrix.flat[:: len(matrix) + 1] += 1.0 / self.C
        matrix[0, 0] += BIAS_RIDGE * self.weight.sum() - 1.0 / self.C
        _, solution, failed = dposv(matrix, rhs)
        if not failed:
            return np.asarray(solution)
        try:  # rounding may make a nearly singular M indefinite
            return np.asarray(np.linalg.solve(matrix, rhs))
        except np.linalg.LinAlgError:  # such as that of weights that are all but 0
            return np.asarray(np.linalg.lstsq(matrix, rhs)[0])

    def value(self, beta: Floats, outputs: Floats) -> float:
        """Return the objective at `beta`, whose decision values are `outputs` (n,)."""
        slack = np.maximum(0.0, 1.0 - self.sign * outputs)
        loss = float(np.sum(self.weight * slack * slack))
        return 0.5 * float(beta[1:] @ beta[1:]) + 0.5 * self.C * loss

    def _move_toward(self, optimum: Floats, outputs: Floats, before: float) -> tuple[float, float]:
        """Move to `optimum`, or part of the way if that would increase the objective.

        The optimum for one set of support vectors may overshoot, as other rows become support
        vectors on the way. Sets `beta` and `outputs`; returns the share of the way and the
        objective there.
        """
        start, start_outputs, step = self.beta, self.outputs, 1.0
        for _ in range(MAX_HALVINGS):
            if step < 1.0:
                outputs = (start_outputs + outputs) / 2.0
            beta = optimum if step == 1.0 else start + step * (optimum - start)
            value = self.value(beta, outputs)
            if value <= before:
                self.beta, self.outputs = beta, outputs
                return step, value
            step /= 2.0
        return 0.0, before


def soft_error(outputs: Floats, sign: Floats, weight: Floats) -> float:
    """Return the weight of the misclassified rows, counted by a sigmoid (eq. 2.25)."""
    return float(np.sum(weight * expit(-STEEPNESS * sign * outputs)))


@dataclass(frozen=True, eq=False)
class ValidationGradient:
    """Derivatives of the soft error on m validation rows, at an SVM fitted to n training rows.

    Those with respect to the representation are of rank two, so they are kept as factors.

    Parameters
    ----------
    outputs : array of shape (n + m,)
        Decision values, training rows first.
    beta : array of shape (dimensions,)
        Bias and weights of the SVM.
    adjoint : array of shape (dimensions,)
        Inverse of M times the derivative with respect to [b, w].
    residual : array of shape (n,)
        Weighted residuals of the support vectors; 0 for the other training rows.
    adjoint_output : array of shape (n,)
        Weighted outputs that `adjoint` would give the support vectors.
    by_output : array of shape (m,)
        Derivative with respect to the decision value of each validation row (eq. 2.32).
    c_gradient : float
        Derivative with respect to C (eq. 2.33).
    """

    outputs: Floats
    beta: Floats
    adjoint: Floats
    residual: Floats
    adjoint_output: Floats
    by_output: Floats
    c_gradient: float

    def by_dimension(self, dimension: int) -> Floats:
        """Return the derivative (n + m,) with respect to one dimension (eqs. 2.29-2.31)."""
        weight, adjoint = self.beta[dimension], self.adjoint[dimension]
        train = adjoint * self.residual - weight * self.adjoint_output
        return np.concatenate([train, weight * self.by_output])


def validation_gradient(
    svm: HingeSVM,
    phi: Floats,
    validation_phi: Floats,
    validation_sign: Floats,
    validation_weight: Floats,
) -> ValidationGradient:
    """Differentiate the soft error on the validation rows through the fitted SVM.

    Parameters
    ----------
    svm : HingeSVM
        At its optimum for `phi`.
    phi : array of shape (dimensions, n)
        Representation of the training rows.
    validation_phi : array of shape (dimensions, m)
        Representation of the validation rows.
    validation_sign, validation_weight : arrays of shape (m,)
        Their classes, -1 or 1, and sample weights.
    """
    outputs = svm.beta @ validation_phi
    wrong = expit(-STEEPNESS * validation_sign * outputs)
    by_output = -STEEPNESS * validation_weight * validation_sign * wrong * (1.0 - wrong)
    # The adjoint method: one linear system for the derivatives of all rows and dimensions.
    adjoint = svm.solve(validation_phi @ by_output)
    support_weight = np.where(svm.support, svm.weight, 0.0)
    return ValidationGradient(
        outputs=np.concatenate([svm.outputs, outputs]),
        beta=svm.beta,
        adjoint=adjoint,
        residual=support_weight * (svm.sign - svm.outputs),
        adjoint_output=support_weight * (adjoint @ phi),
        by_output=by_output,
        c_gradient=float(adjoint[1:] @ svm.beta[1:]) / svm.C**2,
    )
