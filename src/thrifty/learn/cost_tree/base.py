"""`fit` and `path` of the trees and cascades of linear models.

A tree predicts one number: the value of a regression, or -1 or 1 for one class against the rest.
With more than two classes each class has a tree, and all are learned at the same penalty.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, compute_sample_weight

from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedClassifier, PricedEstimator, share_rounds
from thrifty.learn.cost_tree.criteria import ranking_criterion
from thrifty.learn.cost_tree.fit import Candidate, TreeLearner
from thrifty.learn.cost_tree.inputs import (
    ColumnInputs,
    Inputs,
    OutputScale,
    TreeInputs,
    grow_base_trees,
)
from thrifty.learn.cost_tree.objective import (
    HalfSquaredError,
    LogisticLoss,
    NodeLoss,
    SoftObjective,
)
from thrifty.learn.cost_tree.prefixes import ExitShape
from thrifty.learn.cost_tree.soft_tree import SoftTree
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.losses import LogLoss, Loss, SquaredLoss
from thrifty.learn.point import Point
from thrifty.model import Forest, Frozen, OneVsRest

__all__ = ["CostLinear", "CostLinearClassifier", "TreeTarget"]

Floats = NDArray[np.float64]

# Weight of the l1 norm (rho) on columns, and those to choose from on boosted trees, which know the
# training rows already; without a validation set it is the last but one.
COLUMN_SHRINKAGE = 1e-4
TREE_SHRINKAGES = (1e-4, 1e-3, 1e-2, 3e-2)
UNTESTED_SHRINKAGE = 1e-2
# Every node solves linear systems of the size of the inputs.
MAX_INPUTS = 2000
# More classes, each of which has a tree, share the sweeps of so many, and skip medium depths.
MANY_CLASSES = 30
# With several classes, a path has the trees that are best at so many penalties, down to this share
# of the largest, and at those that trees were learned for.
N_CHOICES = 40
MIN_CHOICE_SHARE = 1e-5


@dataclass(frozen=True, eq=False)
class TreeTarget:
    """The numbers that one tree learns to predict.

    Parameters
    ----------
    y : array of shape (n,)
        Target of each training row, as the loss expects it.
    balance : array of shape (n,)
        Factor of each row's loss, from the class weights. Costs are not multiplied by it.
    validation_y, validation_balance : arrays of shape (m,) or None
        The same for the validation set, if there is one.
    loss : NodeLoss
    scale : OutputScale
        Turns outputs of the tree into predictions of the model.
    constant : Frozen
        The model that buys nothing.
    """

    y: Floats
    balance: Floats
    validation_y: Floats | None
    validation_balance: Floats | None
    loss: NodeLoss
    scale: OutputScale
    constant: Frozen

    def boosting_loss(self, train: TrainingSet) -> Loss:
        """Return the loss of the nodes, for base trees."""
        weight = train.weight if (self.balance == 1.0).all() else train.weights * self.balance
        if isinstance(self.loss, LogisticLoss):
            return LogLoss((self.y > 0).astype(np.int64), weight, 2)
        return SquaredLoss(self.y, weight)


class CostLinear(PricedEstimator):
    """Base of the estimators, which differ in their targets and in the shape of the tree."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": PRICE_LISTS,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "base": [StrOptions({"raw", "boosted"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "shrinkage": [Interval(Real, 0, None, closed="left"), None],
        "max_sweeps": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _most_classes: ClassVar[tuple[int, str] | None] = (200, "each has a tree of its own")
    # Whether the loss of a node counts only for the rows that exit there, as in a cascade.
    at_exit: ClassVar[bool] = False

    penalty: float
    base: str
    n_estimators: int
    shrinkage: float | None
    # What candidates are judged by on the validation set.
    criterion: str = "loss"
    max_sweeps: int
    random_state: Any

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, ...] | None = None,
    ) -> Self:
        """Learn from a table and its target.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels or numbers.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv) or (Xv, yv, qidv), optional
            Validation set: the tree that is best on these rows is taken. By default the training
            rows decide. A ranking criterion needs the queries of the rows.
        """
        return self._fit(self._read_training(X, y, sample_weight), validation)

    def _fit(self, train: TrainingSet, validation: tuple[Any, ...] | None) -> Self:
        """Learn the model at one penalty."""
        validation_set = None if validation is None else self._read_validation(validation, train)
        learners = self._learners(train, validation_set)
        candidates = [one.candidates([self.penalty]) for one in learners]
        best = [
            one.best(some, self.penalty) for one, some in zip(learners, candidates, strict=True)
        ]
        model = self._join([one.freeze(tree) for one, tree in zip(learners, best, strict=True)])
        self._predictor = self._predictor_of(model, train, {"penalty": float(self.penalty)})
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, ...],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return operating points over the penalty, cheapest first.

        The first is the constant model, which costs nothing. Soft trees are learned from the
        largest penalty to the smallest, and each hard tree is judged at every penalty. Inputs are
        computed, and base trees grown, only once. For a regression or two classes there are also
        the trees that are best at no penalty, but that no other of their kind, learned or boosted,
        beats in both loss and bill; for more classes, those that are best at penalties between.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv) or (Xv, yv, qidv)
            Rows on which bill and quality are measured and trees are judged.
        penalties : sequence of float, optional
            By default they fall from one too large for any single input to pay, for as long as a
            linear model buys more, and end at 0.
        """
        train = self._read_training(X, y, sample_weight)
        return self._path(train, validation, penalties)

    def _path(
        self,
        train: TrainingSet,
        validation: tuple[Any, ...],
        penalties: Sequence[float] | None,
    ) -> Iterator[Point]:
        """Return the points of a path, cheapest first."""
        validation_set = self._read_validation(validation, train)
        learners = self._learners(train, validation_set)
        if penalties is None:
            chosen = max((one.path_penalties() for one in learners), key=lambda found: found[0])
        else:
            chosen = sorted({float(penalty) for penalty in penalties}, reverse=True)
            if not chosen or not chosen[-1] >= 0:
                raise DataError(f"penalties: give numbers from 0 up, got {list(penalties)[:5]}")
        candidates = [learner.candidates(chosen) for learner in learners]
        if penalties is None and len(learners) > 1:
            # Candidates may be best at a penalty that no tree was learned for.
            between = chosen[0] * np.geomspace(1.0, MIN_CHOICE_SHARE, N_CHOICES)
            chosen = sorted({*chosen, *between.tolist()}, reverse=True)
        constant = self._join([learner.constant for learner in learners])
        models: list[tuple[dict[str, float], Frozen]] = [({}, constant)]
        last: list[Candidate | None] = []
        for penalty in chosen:
            found = zip(learners, candidates, strict=True)
            best = [learner.best(some, penalty) for learner, some in found]
            if penalties is None and best == last:
                continue
            last = best
            trees = [learner.freeze(one) for learner, one in zip(learners, best, strict=True)]
            models.append(({"penalty": penalty}, self._join(trees)))
        if penalties is None and len(learners) == 1:
            for one in candidates[0]:
                knob = {} if one.penalty is None else {"penalty": one.penalty}
                models.append((knob, learners[0].freeze(one)))
        points = [
            Point.measure(self._predictor_of(model, train, knob), validation_set)
            for knob, model in models
        ]
        return iter(sorted(points, key=lambda point: point.bill))

    @abstractmethod
    def _initial_trees(self) -> list[Callable[[SoftObjective], SoftTree]]:
        """Return functions that make the soft trees to train, from the smallest on."""

    @abstractmethod
    def _exits(self) -> ExitShape | None:
        """Return how rows may exit after the first base trees; None if they may not."""

    @abstractmethod
    def _targets(self, train: TrainingSet, validation: ValidationSet | None) -> list[TreeTarget]:
        """Return what each tree learns to predict."""

    def _join(self, models: Sequence[Frozen]) -> Frozen:
        """Make one model of the trees of all targets."""
        return models[0] if len(models) == 1 else OneVsRest.of(models)

    def _learners(self, train: TrainingSet, validation: ValidationSet | None) -> list[TreeLearner]:
        """Compute the inputs of each tree, and the objective that it minimizes on them."""
        seed = int(check_random_state(self.random_state).randint(2**31))
        columns = None if self.base == "boosted" else ColumnInputs(train)
        if columns is not None and len(columns.encoding.columns) > MAX_INPUTS:
            raise DataError(
                f"table: {len(columns.encoding.columns)} inputs; every node solves linear systems "
                f"of that size, and the limit is {MAX_INPUTS}. Select columns first, or set "
                "base='boosted'"
            )
        learners = []
        targets = self._targets(train, validation)
        shrinkages: tuple[float, ...] = (COLUMN_SHRINKAGE,)
        if self.shrinkage is not None:
            shrinkages = (self.shrinkage,)
        elif self.base == "boosted":
            shrinkages = (UNTESTED_SHRINKAGE,) if validation is None else TREE_SHRINKAGES
        criterion = None
        if validation is not None:
            if self.criterion != "loss" and len(targets) > 1:
                raise DataError(f"criterion: {self.criterion!r} needs a target of two classes")
            query = validation.query if validation.clusters is None else validation.clusters
            grades = np.asarray(validation.y, dtype=float)
            criterion = ranking_criterion(self.criterion, grades, query)
        max_sweeps = share_rounds(
            self.max_sweeps, len(targets), MANY_CLASSES, "max_sweeps", "sweeps"
        )
        initial_trees = self._initial_trees()
        if len(targets) > MANY_CLASSES:
            # Each size is twice that of the one before. A class should have two rows for each leaf;
            # the largest trees are pruned, so that those of medium size add little.
            doublings = max(1, int(np.log2(len(train) / (2 * len(targets)))))
            largest = min(doublings, len(initial_trees) - 1)
            initial_trees = [initial_trees[k] for k in sorted({0, largest})]
        for target in targets:
            inputs: Inputs | None = columns
            if inputs is None:
                trees = grow_base_trees(train, target.boosting_loss(train), self.n_estimators, seed)
                inputs = TreeInputs(trees, train)
            on_validation = None
            if validation is not None:
                on_validation = self._objective(
                    inputs, target.loss, validation.X, target.validation_y,
                    np.ones(len(validation.X)), target.validation_balance,
                )  # fmt: skip
            on_train = self._objective(
                inputs, target.loss, train.X, target.y, train.weights, target.balance
            )
            learners.append(
                TreeLearner(
                    inputs, on_train, on_validation, initial_trees, max_sweeps,
                    target.scale, target.constant, shrinkages, self._exits(), criterion,
                )
            )  # fmt: skip
        return learners

    def _objective(
        self,
        inputs: Inputs,
        loss: NodeLoss,
        X: NDArray[np.floating],
        y: Floats | None,
        weight: Floats,
        balance: Floats | None,
    ) -> SoftObjective:
        """Return the objective on some rows, at a penalty of 0."""
        assert y is not None and balance is not None
        share = weight / weight.sum()
        return SoftObjective(
            inputs.transform(X), y, share, share * balance, loss, inputs.terms, 0.0, 0.0,
            self.at_exit, 1.0 / float(weight.sum()),
        )  # fmt: skip


class CostLinearClassifier(PricedClassifier, CostLinear):
    """Base of the classifiers; more than two classes are learned one against the rest."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        "loss": [StrOptions({"log_loss", "squared"})],
        "criterion": [str],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    # Class weights multiply the loss but not the cost, so they are kept apart from row weights.
    _class_weight_scales_rows: ClassVar[bool] = False

    loss: str

    def _targets(self, train: TrainingSet, validation: ValidationSet | None) -> list[TreeTarget]:
        """Return -1 and 1 for each class against the rest, with the class weights."""
        balance = np.ones(len(train))
        if self.class_weight is not None:
            balance = compute_sample_weight(self.class_weight, train.labels)
        if not np.any(balance > 0):
            raise DataError("class_weight: every class of the target has weight 0")
        # A class counts as much on the validation set as on the training set.
        class_balance = np.ones(train.n_classes)
        class_balance[train.y] = balance
        validation_balance = None if validation is None else class_balance[validation.y]
        targets = []
        # Two classes need one tree only, that of the second class.
        for k in range(1 if train.n_classes == 2 else 0, train.n_classes):
            share = float(np.average(train.y == k, weights=train.weights * balance))
            validation_y = None if validation is None else np.where(validation.y == k, 1.0, -1.0)
            targets.append(
                TreeTarget(
                    y=np.where(train.y == k, 1.0, -1.0),
                    balance=balance,
                    validation_y=validation_y,
                    validation_balance=validation_balance,
                    loss=LogisticLoss() if self.loss == "log_loss" else HalfSquaredError("hinge"),
                    scale=OutputScale(),
                    constant=Forest.constant([1.0 - share, share], "mean", train.n_features),
                )
            )
        return targets
