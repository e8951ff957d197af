"""The estimators: cost-sensitive trees (CSTC) and cascades (CSCC) of linear models.

CSTC is a tree of linear models in which each path buys features of its own (Xu 2014, sec. 3.4 and
3.6). CSCC is a cascade of linear classifiers for rare classes (sec. 3.5, eq. 3.20 to 3.25).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.cost_tree.base import CostLinear, CostLinearClassifier, TreeTarget
from thrifty.learn.cost_tree.fit import MAX_FULL_DEPTH, grow_tree, initial_tree
from thrifty.learn.cost_tree.inputs import OutputScale
from thrifty.learn.cost_tree.objective import HalfSquaredError, SoftObjective
from thrifty.learn.cost_tree.prefixes import (
    CASCADE_EXIT,
    EXIT_BOTH_SIDES,
    EXIT_IF_LOW,
    ExitShape,
)
from thrifty.learn.cost_tree.soft_tree import SoftTree, TreeShape
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.model import Forest

__all__ = ["CostCascadeClassifier", "CostTreeClassifier", "CostTreeRegressor"]

DEPTH_CONSTRAINT = {"max_depth": [Interval(Integral, 0, 10, closed="both")]}


def trees_up_to(max_depth: int) -> list[Callable[[SoftObjective], SoftTree]]:
    """Return functions that make full trees of all depths up to one, or a grown one beyond 4."""
    full = [TreeShape.full(depth) for depth in range(min(max_depth, MAX_FULL_DEPTH) + 1)]
    deep = [partial(grow_tree, max_depth=max_depth)] if max_depth > MAX_FULL_DEPTH else []
    return [*(partial(initial_tree, shape=shape) for shape in full), *deep]


def scaled_target(train: TrainingSet, validation: ValidationSet | None) -> TreeTarget:
    """Scale numbers to mean 0 and variance 1, for the squared error."""
    mean = float(np.average(train.y, weights=train.weight))
    deviation = float(np.sqrt(np.average(np.square(train.y - mean), weights=train.weight)))
    factor = deviation if deviation > 0 else 1.0
    return TreeTarget(
        y=(train.y - mean) / factor,
        balance=np.ones(len(train)),
        validation_y=None if validation is None else (validation.y - mean) / factor,
        validation_balance=None if validation is None else np.ones(len(validation)),
        loss=HalfSquaredError("sum"),
        scale=OutputScale(factor, mean),
        constant=Forest.constant([mean], "sum", train.n_features),
    )


class CostTreeClassifier(CostLinearClassifier):
    """A tree of linear classifiers, trained as a whole with the cost of every path (CSTC).

    A row goes from node to node by thresholds on linear functions of its features. It pays for the
    features of the nodes that it visits, each feature once, and is predicted by the last node. With
    more than two classes, each class has a tree of its own, against the rest, and a feature that
    one tree buys is free for the others.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Mean loss that one unit of price must save (lambda). At 0, features are free.
    max_depth : int
        Number of decisions before a leaf, at most 10; 0 is a single linear model. All smaller
        depths are tried too. Beyond 4, the leaves with the largest loss are split first, and the
        tree has 63 nodes at most.
    loss : {"log_loss", "squared"}
        Log-loss, or half the squared error with targets -1 and 1.
    base : {"raw", "boosted"}
        Inputs of the linear models: the columns of the table, or boosted trees. A row evaluates,
        and pays for, the boosted trees that the nodes of its path use. The sums of the first
        boosted trees, with and without an early exit, are then tried as well.
    n_estimators : int
        Number of boosted trees, for ``base="boosted"``.
    shrinkage : float, optional
        Weight of the l1 norm (rho). By default 1e-4 on columns; on boosted trees, which know the
        training rows already, a single linear model chooses among 1e-4, 1e-3, 0.01 and 0.03 on the
        validation set, and it is 0.01 without one.
    max_sweeps : int
        Maximum number of sweeps over the nodes; at 0 the tree is only initialized. More than 30
        classes, which have a tree each, share the sweeps of 30 trees, and a warning says how many
        each has. Instead of every depth, they try 0 and the largest with at most one leaf for two
        rows of a class.
    criterion : {"loss", "ndcg@5", "precision@5"}
        What trees are judged by on the validation set; the number may be another. The last two need
        two classes, and ``validation=(Xv, yv, qidv)``.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss; costs are not weighted.
    random_state : int, RandomState or None
        Seed of the sample of rows that places the bins of boosted trees, if the table has more
        than 100,000 rows.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree or OneVsRest
        The frozen model.

    Examples
    --------
    The sign of the first feature, which costs 1, says which of the other two, at 5 each, decides.
    The tree has learned to buy just that one:

    >>> import numpy as np
    >>> from thrifty import CostTreeClassifier, Prices
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1] + 0.7, X[:, 2] - 0.7) > 0
    >>> model = CostTreeClassifier(Prices([1.0, 5.0, 5.0]), penalty=0.005, max_depth=1).fit(X, y)
    >>> round(model.score(X, y), 2), np.unique(model.bill(X)).tolist()
    (0.98, [6.0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinearClassifier._parameter_constraints,
        **DEPTH_CONSTRAINT,
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        max_depth: int = 3,
        loss: str = "log_loss",
        base: str = "raw",
        n_estimators: int = 200,
        shrinkage: float | None = None,
        max_sweeps: int = 10,
        criterion: str = "loss",
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.max_depth = max_depth
        self.loss = loss
        self.base = base
        self.n_estimators = n_estimators
        self.shrinkage = shrinkage
        self.max_sweeps = max_sweeps
        self.criterion = criterion
        self.class_weight = class_weight
        self.random_state = random_state

    def _initial_trees(self) -> list[Callable[[SoftObjective], SoftTree]]:
        return trees_up_to(self.max_depth)

    def _exits(self) -> ExitShape | None:
        return (None, EXIT_IF_LOW, EXIT_BOTH_SIDES)[min(self.max_depth, 2)]


class CostTreeRegressor(RegressorMixin, CostLinear):  # type: ignore[misc]
    """A tree of linear regressions, trained as a whole with the cost of every path (CSTC).

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Half the mean squared error that one unit of price must save (lambda).
    max_depth : int
        Number of decisions before a leaf, at most 10; 0 is a single linear model. All smaller
        depths are tried too. Beyond 4, the leaves with the largest loss are split first, and the
        tree has 63 nodes at most.
    base : {"raw", "boosted"}
        Inputs of the linear models: the columns of the table, or boosted trees.
    n_estimators : int
        Number of boosted trees, for ``base="boosted"``.
    shrinkage : float, optional
        Weight of the l1 norm (rho), with the target scaled to unit variance; by default as in
        `CostTreeClassifier`.
    max_sweeps : int
        Maximum number of sweeps over the nodes; at 0 the tree is only initialized.
    random_state : int, RandomState or None
        Seed of the sample of rows that places the bins of boosted trees, if the table has more
        than 100,000 rows.

    Examples
    --------
    Two signs, which cost 1 each, say which of four columns, at 10 each, holds the target:

    >>> from thrifty import CostTreeRegressor
    >>> from thrifty.data import quadrants
    >>> table = quadrants(400, random_state=0)
    >>> model = CostTreeRegressor(table.prices, penalty=0.01, max_depth=2).fit(table.X, table.y)
    >>> round(model.score(table.X, table.y), 4), set(model.bill(table.X).tolist())
    (1.0, {12.0})
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        **DEPTH_CONSTRAINT,
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        max_depth: int = 3,
        base: str = "raw",
        n_estimators: int = 200,
        shrinkage: float | None = None,
        max_sweeps: int = 10,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.max_depth = max_depth
        self.base = base
        self.n_estimators = n_estimators
        self.shrinkage = shrinkage
        self.max_sweeps = max_sweeps
        self.random_state = random_state

    def _initial_trees(self) -> list[Callable[[SoftObjective], SoftTree]]:
        return trees_up_to(self.max_depth)

    def _exits(self) -> ExitShape | None:
        return EXIT_IF_LOW if self.max_depth else None

    def _targets(self, train: TrainingSet, validation: ValidationSet | None) -> list[TreeTarget]:
        return [scaled_target(train, validation)]


class CostCascadeClassifier(CostLinearClassifier):
    """A cascade of linear classifiers that rejects likely negatives early (CSCC).

    A row that is not above the threshold of a stage exits there and is predicted by that stage;
    the others go on to the next stage and buy more. The loss of a stage counts only for the rows
    that exit there, and all stages are trained together with the cost of every exit. Rows of the
    second of two classes go on; with more than two, each class has a cascade of its own.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    n_stages : int
        Maximum number of stages.
    loss : {"log_loss", "squared"}
        Log-loss, or half the squared error with targets -1 and 1.
    base : {"raw", "boosted"}
        Inputs of the linear models: the columns of the table, or boosted trees.
    n_estimators : int
        Number of boosted trees, for ``base="boosted"``.
    shrinkage : float, optional
        Weight of the l1 norm (rho). By default 1e-4 on columns; on boosted trees, which know the
        training rows already, a single linear model chooses among 1e-4, 1e-3, 0.01 and 0.03 on the
        validation set, and it is 0.01 without one.
    max_sweeps : int
        Maximum number of sweeps over the stages. More than 30 classes, which have a cascade each,
        share the sweeps of 30, and a warning says how many each has. They try a single stage and
        the longest cascade with at most one stage for two rows of a class.
    criterion : {"loss", "ndcg@5", "precision@5"}
        What cascades are judged by on the validation set; the number may be another. The last two
        need two classes, and ``validation=(Xv, yv, qidv)``.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss (mu); costs are not weighted.
    random_state : int, RandomState or None
        Seed of the sample of rows that places the bins of boosted trees, if the table has more
        than 100,000 rows.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree or OneVsRest
        The frozen model.

    Examples
    --------
    Few rows are positive, and none without a large first feature: most rows never buy the second.

    >>> import numpy as np
    >>> from thrifty import CostCascadeClassifier, Prices
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 1)
    >>> model = CostCascadeClassifier(
    ...     Prices([1.0, 10.0]), penalty=0.003, n_stages=2, class_weight="balanced").fit(X, y)
    >>> recall, bill = model.predict(X)[y].mean(), model.bill(X).mean()
    >>> round(recall.item(), 2), round(bill.item(), 2)
    (1.0, 2.5)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinearClassifier._parameter_constraints,
        "n_stages": [Interval(Integral, 1, 32, closed="both")],
    }
    at_exit: ClassVar[bool] = True

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        n_stages: int = 4,
        loss: str = "log_loss",
        base: str = "raw",
        n_estimators: int = 200,
        shrinkage: float | None = None,
        max_sweeps: int = 10,
        criterion: str = "loss",
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.n_stages = n_stages
        self.loss = loss
        self.base = base
        self.n_estimators = n_estimators
        self.shrinkage = shrinkage
        self.max_sweeps = max_sweeps
        self.criterion = criterion
        self.class_weight = class_weight
        self.random_state = random_state

    def _initial_trees(self) -> list[Callable[[SoftObjective], SoftTree]]:
        """Return cascades of 1, 2, 4, ... stages, and of all."""
        counts = sorted({*(2**k for k in range(self.n_stages.bit_length())), self.n_stages})
        shapes = [TreeShape.chain(stages) for stages in counts if stages <= self.n_stages]
        return [partial(initial_tree, shape=shape) for shape in shapes]

    def _exits(self) -> ExitShape | None:
        return CASCADE_EXIT if self.n_stages > 1 else None
