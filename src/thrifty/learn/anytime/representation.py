"""One class against the rest: a growing representation and the machine that reads it.

The validation error that a representation is learnt to lower, and its derivatives.

The machine is fitted to the training rows, the error is counted on the validation rows: a change
of the representation moves both, the first through the closed form of the machine
(Xu 2014, eqs. 2.25, 2.28-2.33). Differences to the thesis: its sigmoid in 2.25 lacks the sign of the
class, and its eq. 2.32 the factors `a` and mu; finite differences say that they belong there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from thrifty.learn.anytime.hinge_svm import HingeSvm
from thrifty.learn.anytime.trees import DimensionTrees, Mark

__all__ = ["Machine", "Slopes", "slopes", "soft_error"]

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


# How far log C goes for a unit of mean error, and at most (gamma of algorithm 4).
COST_RATE = 1.0
COST_STEP = 0.7
# Dimensions that room is made for at a time.
ROOM = 16
TINY = 1e-300


class _Moment(NamedTuple):
    """Where a machine stood; `row` is the dimension that was about to change."""

    size: int
    svm: HingeSvm
    loss: float
    held_outputs: Floats
    dimension: int
    row: Floats
    trees: Mark


class Machine:
    """Representation phi, one row a dimension and the first all ones, with its machine.

    Rows of the table stand in the order training, validation, held out.

    Parameters
    ----------
    sign : array (n,)
        -1 or 1.
    weight : array (n,)
        Weights of the rows (mu).
    starts : (int, int)
        Where the validation and the held-out rows begin.
    trees : DimensionTrees
        Shared by all machines.
    first_column : int
        Dimension s of this machine is column ``first_column + s`` of the trees.
    """

    def __init__(
        self,
        sign: Floats,
        weight: Floats,
        starts: tuple[int, int],
        trees: DimensionTrees,
        first_column: int,
    ) -> None:
        self.sign, self.weight, self.trees = sign, weight, trees
        self.first_column = first_column
        train, learnt = starts
        self.train, self.learnt = slice(0, train), slice(0, learnt)
        self.judged, self.held = slice(train, learnt), slice(learnt, None)
        self._room = np.zeros((ROOM, len(sign)))
        self._room[0] = 1.0
        self.size = 1
        self.svm = self._new_svm(1.0)
        self._fit(0)

    @property
    def phi(self) -> Floats:
        """The representation so far."""
        return self._room[: self.size]

    def widen(self, dimensions: int) -> Iterator[None]:
        """Run GreedyMiser for some rounds; each tree starts a dimension (algorithm 4, line 3).

        It starts from nothing: what the older dimensions know by heart would hide what there
        is to gain. Each tree is grown on half of the rows. The dimensions up to the least
        held-out loss are kept. Yields after each tree.
        """
        old, own = self.size, self._new_svm(self.svm.cost)
        best, least = self._moment(old), self.loss
        for _ in range(dimensions):
            here = np.r_[0, old : self.size]
            own.fit(self._room[here, self.train], len(here) - 1)
            slack = self._slack(own.beta @ self._room[here, self.learnt])
            if not self._grow(self.trees.sampled(slack), self.size):
                break
            self.size += 1
            self._fit(self.size - 1)
            if self.loss < least:
                best, least = self._moment(self.size), self.loss
            yield
        self._back_to(best)

    def refine(self, dimension: int, rounds: int) -> Iterator[None]:
        """Add trees to a dimension while the held-out loss falls (lines 5 to 13).

        Yields after each tree that is kept.
        """
        for _ in range(rounds):
            before = self._moment(dimension)
            grown = self._grow(self._descent(dimension), dimension)
            if grown:
                self._fit(dimension)
            if not grown or self.loss >= before.loss:
                self._back_to(before)
                return
            yield

    def _descent(self, dimension: int) -> Floats:
        """What lowers the validation error most, in the size of the slack; C takes a step too.

        A gradient with respect to phi is as small as the weight of the dimension; brought to the
        size of the slack, it is to a price what the target of a first tree is.
        """
        phi = self.phi
        slope = slopes(
            self.svm, phi[:, self.train], phi[:, self.judged],
            self.sign[self.judged], self.weight[self.judged],
        )  # fmt: skip
        target = -slope.along(dimension) / self.weight[self.learnt]
        slack = self._slack(slope.outputs)
        mass = max(float(self.weight[self.judged].sum()), TINY)
        step = COST_RATE * self.svm.cost * slope.cost / mass
        self.svm.cost *= float(np.exp(-np.clip(step, -COST_STEP, COST_STEP)))
        size = self._mean_square(target)
        return target * np.sqrt(self._mean_square(slack) / size) if size > 0.0 else target

    def _mean_square(self, values: Floats) -> float:
        return float(np.average(values * values, weights=self.weight[self.learnt]))

    def _slack(self, outputs: Floats) -> Floats:
        """Negative gradient of half the squared hinge."""
        sign = self.sign[self.learnt]
        return np.asarray(sign * np.maximum(0.0, 1.0 - sign * outputs))

    def _grow(self, target: Floats, dimension: int) -> bool:
        if dimension == len(self._room):
            more = np.zeros((ROOM, self._room.shape[1]))
            self._room = np.concatenate([self._room, more])
        return self.trees.grow(target, self.first_column + dimension, self._room[dimension])

    def _fit(self, changed: int) -> None:
        """Go to the optimum; take the mean squared hinge on rows that are learnt from nowhere."""
        self.svm.fit(self.phi[:, self.train], changed)
        self.held_outputs = self.svm.beta @ self.phi[:, self.held]
        slack = np.maximum(0.0, 1.0 - self.sign[self.held] * self.held_outputs)
        weight = self.weight[self.held]
        self.loss = float(weight @ (slack * slack)) / max(float(weight.sum()), TINY)

    def _new_svm(self, cost: float) -> HingeSvm:
        return HingeSvm(self.sign[self.train], self.weight[self.train], cost)

    def _moment(self, dimension: int) -> _Moment:
        row = self._room[dimension].copy() if dimension < len(self._room) else np.zeros(0)
        return _Moment(
            self.size,
            self.svm.copy(),
            self.loss,
            self.held_outputs,
            dimension,
            row,
            self.trees.mark(),
        )

    def _back_to(self, moment: _Moment) -> None:
        self._room[moment.size : self.size] = 0.0
        self.size, self.svm = moment.size, moment.svm
        self.loss, self.held_outputs = moment.loss, moment.held_outputs
        if moment.dimension < self.size:
            self._room[moment.dimension] = moment.row
        self.trees.back_to(moment.trees)
