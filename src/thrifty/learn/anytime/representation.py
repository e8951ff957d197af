"""A representation that grows dimension by dimension, with the SVM that reads it.

`Representation.add_dimensions` and `Representation.refine` are the inner loops of AFR
(Xu 2014, algorithm 4); with more than two classes each class has a representation against the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.anytime.hinge_svm import HingeSVM, validation_gradient
from thrifty.learn.anytime.trees import DimensionTrees, TreeCheckpoint
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.folds import split_by_hash
from thrifty.model.row_hash import hash_rows

__all__ = ["Representation", "RowSplit"]

Floats = NDArray[np.float64]

# Step of log C per unit of its derivative of the mean error, and the largest step (gamma of
# algorithm 4, line 9).
C_STEP = 1.0
MAX_C_STEP = 0.7
# Dimensions that memory is allocated for at a time.
BUFFER_DIMENSIONS = 16
# Keeps a mean over rows of no weight finite.
MIN_WEIGHT = 1e-300


@dataclass(frozen=True, eq=False)
class RowSplit:
    """The rows of a training set in the order training, validation, early stopping.

    Parameters
    ----------
    rows : TrainingSet
        All rows, in this order.
    row_hash : uint64 array of shape (n,)
        Hash of each row.
    training : slice
        Rows that SVMs are fitted to (T).
    validation : slice
        Rows that the error of the SVMs is counted on (V).
    growing : slice
        Training and validation rows together: trees are grown on them.
    stopping : slice
        Rows for early stopping (O) and for the calibration of probabilities.
    """

    rows: TrainingSet
    row_hash: NDArray[np.uint64]
    training: slice
    validation: slice
    growing: slice
    stopping: slice

    @classmethod
    def of(cls, train: TrainingSet, seed: int) -> Self:
        """Split the rows 50/40/10 by their hashes, class by class (Xu 2014, sec. 2.2.3)."""
        order, (first, second) = split_by_hash(train.X, train.y, train.weight, seed)
        rows = train.take(order)
        return cls(
            rows,
            hash_rows(rows.X, seed),
            training=slice(0, first),
            validation=slice(first, second),
            growing=slice(0, second),
            stopping=slice(second, None),
        )


class _Checkpoint(NamedTuple):
    """A state of a representation that can be restored."""

    n_dimensions: int
    svm: HingeSVM
    loss: float
    stopping_outputs: Floats
    dimension: int
    """The dimension that is about to change."""

    values: Floats
    """(n,): its values."""

    trees: TreeCheckpoint


class Representation:
    """One class against the rest: the representation phi and the SVM that reads it.

    Parameters
    ----------
    split : RowSplit
    code : int
        Code of the positive class.
    trees : DimensionTrees
        Shared by all representations.
    first_column : int
        Dimension s of this representation is output column ``first_column + s`` of the trees.

    Attributes
    ----------
    n_dimensions : int
        Dimensions so far, with the bias.
    svm : HingeSVM
        Fitted to the training rows of the present representation.
    stopping_outputs : array
        Decision values of the early stopping rows.
    loss : float
        Mean squared hinge loss of the early stopping rows.
    """

    def __init__(
        self, split: RowSplit, code: int, trees: DimensionTrees, first_column: int
    ) -> None:
        self.split, self.trees, self.first_column = split, trees, first_column
        self.sign = np.where(split.rows.y == code, 1.0, -1.0)
        self.weight = split.rows.weights
        self._buffer = np.zeros((BUFFER_DIMENSIONS, len(self.sign)))
        self._buffer[0] = 1.0
        self.n_dimensions = 1
        self.svm = self._new_svm(1.0)
        self._fit_svm(0)

    @property
    def phi(self) -> Floats:
        """The representation (dimensions, n) so far; the first dimension is all ones."""
        return self._buffer[: self.n_dimensions]

    def add_dimensions(self, most: int) -> Iterator[None]:
        """Run GreedyMiser for up to `most` rounds; each tree starts a dimension (line 3).

        GreedyMiser restarts from the constant: older dimensions that fit their training rows
        perfectly would leave it nothing to gain. Each tree is grown on half of the rows. The
        dimensions up to the smallest early stopping loss are kept. Yields after each tree.
        """
        old, new_svm = self.n_dimensions, self._new_svm(self.svm.C)
        best, smallest_loss = self._checkpoint(old), self.loss
        for _ in range(most):
            new = np.r_[0, old : self.n_dimensions]
            new_svm.fit(self._buffer[new, self.split.training], len(new) - 1)
            slack = self._slack(new_svm.beta @ self._buffer[new, self.split.growing])
            if not self._grow_tree(self.trees.subsample(slack), self.n_dimensions):
                break
            self.n_dimensions += 1
            self._fit_svm(self.n_dimensions - 1)
            if self.loss < smallest_loss:
                best, smallest_loss = self._checkpoint(self.n_dimensions), self.loss
            yield
        self._restore(best)

    def refine(self, dimension: int, most: int) -> Iterator[None]:
        """Add up to `most` trees to a dimension while the loss decreases (lines 5 to 13).

        Each tree is fitted to the negative gradient of the validation error; C takes a step too.
        The gradient with respect to phi is as small as the SVM's weight of the dimension. It is
        scaled to the size of the slack, so that the penalty means the same as in `add_dimensions`.
        Yields after each tree that is kept.
        """
        split, weight = self.split, self.weight[self.split.growing]
        for _ in range(most):
            before = self._checkpoint(dimension)
            gradient = validation_gradient(
                self.svm,
                self.phi[:, split.training],
                self.phi[:, split.validation],
                self.sign[split.validation],
                self.weight[split.validation],
            )
            target = -gradient.by_dimension(dimension) / weight
            size = float(np.average(target * target, weights=weight))
            if size > 0.0:
                slack = self._slack(gradient.outputs)
                slack_size = float(np.average(slack * slack, weights=weight))
                target = target * np.sqrt(slack_size / size)
            total = max(float(self.weight[split.validation].sum()), MIN_WEIGHT)
            step = C_STEP * self.svm.C * gradient.c_gradient / total
            self.svm.C *= float(np.exp(-np.clip(step, -MAX_C_STEP, MAX_C_STEP)))
            grown = self._grow_tree(target, dimension)
            if grown:
                self._fit_svm(dimension)
            if not grown or self.loss >= before.loss:
                self._restore(before)
                return
            yield

    def _slack(self, outputs: Floats) -> Floats:
        """Return the negative gradient of half the squared hinge at outputs of the growing rows."""
        sign = self.sign[self.split.growing]
        return np.asarray(sign * np.maximum(0.0, 1.0 - sign * outputs))

    def _grow_tree(self, target: Floats, dimension: int) -> bool:
        """Add a tree to a dimension; return False if no split is worth its price."""
        if dimension == len(self._buffer):
            more = np.zeros((BUFFER_DIMENSIONS, self._buffer.shape[1]))
            self._buffer = np.concatenate([self._buffer, more])
        return self.trees.grow(target, self.first_column + dimension, self._buffer[dimension])

    def _fit_svm(self, changed: int) -> None:
        """Fit the SVM after one dimension changed; update the early stopping outputs and loss."""
        stopping = self.split.stopping
        self.svm.fit(self.phi[:, self.split.training], changed)
        self.stopping_outputs = self.svm.beta @ self.phi[:, stopping]
        slack = np.maximum(0.0, 1.0 - self.sign[stopping] * self.stopping_outputs)
        weight = self.weight[stopping]
        self.loss = float(weight @ (slack * slack)) / max(float(weight.sum()), MIN_WEIGHT)

    def _new_svm(self, C: float) -> HingeSVM:
        """Return an SVM for the training rows that has no dimensions yet."""
        return HingeSVM(self.sign[self.split.training], self.weight[self.split.training], C)

    def _checkpoint(self, dimension: int) -> _Checkpoint:
        """Return the present state, before `dimension` changes."""
        is_allocated = dimension < len(self._buffer)
        return _Checkpoint(
            self.n_dimensions,
            self.svm.copy(),
            self.loss,
            self.stopping_outputs,
            dimension,
            self._buffer[dimension].copy() if is_allocated else np.zeros(0),
            self.trees.checkpoint(),
        )

    def _restore(self, checkpoint: _Checkpoint) -> None:
        """Undo what was changed since a checkpoint."""
        self._buffer[checkpoint.n_dimensions : self.n_dimensions] = 0.0
        self.n_dimensions, self.svm = checkpoint.n_dimensions, checkpoint.svm
        self.loss, self.stopping_outputs = checkpoint.loss, checkpoint.stopping_outputs
        if checkpoint.dimension < self.n_dimensions:
            self._buffer[checkpoint.dimension] = checkpoint.values
        self.trees.restore(checkpoint.trees)
