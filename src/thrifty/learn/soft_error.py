"""The validation error that a representation is learnt to lower, and its derivatives.

The machine is fitted to the training rows, the error is counted on the validation rows: a change
of the representation moves both, the first through the closed form of the machine
(002 eqs. 2.25, 2.28-2.33). Differences to the thesis: its sigmoid in 2.25 lacks the sign of the
class, and its eq. 2.32 the factors `a` and mu; finite differences say that they belong there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.learn.hinge_svm import HingeSvm

__all__ = ["Slopes", "slopes", "soft_error"]

Floats = NDArray[np.float64]

# How steep the sigmoid is that stands for the step from right to wrong (a).
STEEPNESS = 5.0


def soft_error(outputs: Floats, sign: Floats, weight: Floats) -> float:
    """Weight of the rows on the wrong side, softly counted (eq. 2.25)."""
    return float(np.sum(weight * expit(-STEEPNESS * sign * outputs)))


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of the soft error at an optimum of the machine.

    Those with respect to dimension s of the representation are of rank two, see `along`.
    `outputs` are the machine's, training rows first.
    """

    outputs: Floats
    beta: Floats
    pull: Floats
    train_error: Floats
    train_pull: Floats
    validation: Floats
    cost: float

    def along(self, dimension: int) -> Floats:
        """With respect to one dimension of all rows, training rows first (eqs. 2.29-2.31)."""
        weight, pull = self.beta[dimension], self.pull[dimension]
        train = pull * self.train_error - weight * self.train_pull
        return np.concatenate([train, weight * self.validation])


def slopes(svm: HingeSvm, phi: Floats, phi_v: Floats, sign_v: Floats, weight_v: Floats) -> Slopes:
    """Derivatives at the optimum for training rows `phi`, on validation rows `phi_v`."""
    outputs = svm.beta @ phi_v
    wrong = expit(-STEEPNESS * sign_v * outputs)
    validation = -STEEPNESS * weight_v * sign_v * wrong * (1.0 - wrong)  # eq. 2.32
    # One solve for all rows and dimensions: the error pulls at [b, w] by M^-1 of this.
    pull = svm.solve(phi_v @ validation)
    active = np.where(svm.support, svm.weight, 0.0)
    return Slopes(
        outputs=np.concatenate([svm.outputs, outputs]),
        beta=svm.beta,
        pull=pull,
        train_error=active * (svm.sign - svm.outputs),
        train_pull=active * (pull @ phi),
        validation=validation,
        cost=float(pull[1:] @ svm.beta[1:]) / svm.cost**2,  # eq. 2.33
    )
