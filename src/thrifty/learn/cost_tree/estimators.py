"""CSTC: a tree of linear models, each path with features of its own (Xu 2014, sec. 3.4, 3.6).

CSCC: a cascade of linear classifiers for rare classes (Xu 2014, sec. 3.5, eq. 3.20 to 3.25).
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.cost_tree.base import CostLinear, CostLinearClassifier, Table, Target
from thrifty.learn.cost_tree.inputs import Scale
from thrifty.learn.cost_tree.objective import HalfSquare
from thrifty.learn.cost_tree.soft_tree import Shape
from thrifty.learn.targets import numbers
from thrifty.model import Forest, Frozen
from thrifty.model.forest.nodes import empty_nodes

__all__ = ["CostCascadeClassifier", "CostTreeClassifier", "CostTreeRegressor"]

Floats = NDArray[np.float64]

DEPTH = {"max_depth": [Interval(Integral, 0, 8, closed="both")]}


class CostTreeClassifier(CostLinearClassifier):
    """A tree of linear classifiers that is learnt as a whole, with the price of every path.

    A row goes from node to node by thresholds on linear values, pays for what the nodes on its
    way weigh, each feature once, and is answered by the last. With more than two classes each
    has a tree of its own, against the rest, and what one tree buys is free for the others.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    max_depth : int
        Decisions on the way to a leaf, at most 8; 0 is a single linear model.
    loss : {"log_loss", "squared"}
        Log-loss, or half the squared error of targets -1 and 1.
    base : {"raw", "boosted"}
        What the nodes weigh: columns of the table, or boosted trees, of which an example
        evaluates, and pays for, those that its path weighs.
    n_estimators : int
        Boosted trees, for ``base="boosted"``.
    shrinkage : float
        Weight of the l1 norm (rho).
    max_sweeps : int
        Sweeps over the nodes, at most; at 0 the tree stays as it was initialized.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss; bills are not weighted.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows, for
        ``base="boosted"``.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree or OneVsRest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CostTreeClassifier, Prices
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1] + 0.7, X[:, 2] - 0.7) > 0  # which one to ask for?
    >>> model = CostTreeClassifier(Prices([1.0, 5.0, 5.0]), penalty=0.005, max_depth=1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), bool((model.bill(X) == 6).all())
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinearClassifier._parameter_constraints,
        **DEPTH,
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        max_depth: int = 3,
        loss: str = "log_loss",
        base: str = "raw",
        n_estimators: int = 100,
        shrinkage: float = 1e-4,
        max_sweeps: int = 10,
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
        self.class_weight = class_weight
        self.random_state = random_state

    def _shape(self) -> Shape:
        return Shape.full(self.max_depth)


class CostTreeRegressor(RegressorMixin, CostLinear):  # type: ignore[misc]
    """A tree of linear models of a number, learnt as a whole with the price of every path.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Half the mean squared error that one unit of price must save (lambda).
    max_depth : int
        Decisions on the way to a leaf, at most 8; 0 is a single linear model.
    base : {"raw", "boosted"}
        What the nodes weigh: columns of the table, or boosted trees.
    n_estimators : int
        Boosted trees, for ``base="boosted"``.
    shrinkage : float
        Weight of the l1 norm (rho), with the target scaled to unit variance.
    max_sweeps : int
        Sweeps over the nodes, at most; at 0 the tree stays as it was initialized.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows, for
        ``base="boosted"``.

    Examples
    --------
    Two cheap signs tell which of four dear columns holds the answer:

    >>> from thrifty import CostTreeRegressor
    >>> from thrifty.data import quadrants
    >>> table = quadrants(400, random_state=0)
    >>> model = CostTreeRegressor(table.prices, penalty=0.01, max_depth=2).fit(table.X, table.y)
    >>> bool(((model.predict(table.X) - table.y) ** 2).mean() < 1e-4)
    True
    >>> bool((model.bill(table.X) == 12).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        **DEPTH,
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        max_depth: int = 3,
        base: str = "raw",
        n_estimators: int = 100,
        shrinkage: float = 1e-4,
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

    def _shape(self) -> Shape:
        return Shape.full(self.max_depth)

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, validation: Sequence[Any] | None
    ) -> tuple[Table, list[Target]]:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        held = held_target = None
        if validation is not None:
            held = self._held_rows(schema, validation)
            held_target = numbers(validation[1], len(held))
        table = Table(schema, prices, rows, weight, held)
        return table, [_scaled(table, target, held_target)]

    def _joined(self, models: Sequence[Frozen]) -> Frozen:
        return models[0]

    def _quality(self, scores: Floats, y: Any) -> float:
        return float(r2_score(numbers(y, len(scores)), scores))


def _scaled(table: Table, y: Floats, held: Floats | None) -> Target:
    """A target of mean 0 and variance 1."""
    mean = float(np.average(y, weights=table.weight))
    spread = float(np.sqrt(np.average(np.square(y - mean), weights=table.weight)))
    factor = spread if spread > 0 else 1.0
    constant = Forest(
        empty_nodes(0), np.zeros((0, 1)), np.zeros(0, np.int64), np.zeros(0, np.int64),
        np.array([mean]), "sum", len(table.schema),
    )  # fmt: skip
    return Target(
        (y - mean) / factor, np.ones(len(y)), None if held is None else (held - mean) / factor,
        None, HalfSquare("sum"), Scale(factor, mean), constant,
    )  # fmt: skip


class CostCascadeClassifier(CostLinearClassifier):
    """Linear classifiers in a row, each of which lets likely negatives go.

    A row that is not above the threshold of a stage exits there, with the answer of that
    stage; the others go on, and buy more. The loss of a stage counts for the rows that exit
    there, and all stages are learnt together with the price of every exit. The second of two
    classes is the one that goes on; with more than two, each has a cascade of its own.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    n_stages : int
        Classifiers in a row, at most.
    loss : {"log_loss", "squared"}
        Log-loss, or half the squared error of targets -1 and 1.
    base : {"raw", "boosted"}
        What the stages weigh: columns of the table, or boosted trees.
    n_estimators : int
        Boosted trees, for ``base="boosted"``.
    shrinkage : float
        Weight of the l1 norm (rho).
    max_sweeps : int
        Sweeps over the stages, at most.
    class_weight : dict, "balanced" or None
        Weights of the classes in the loss (mu); bills are not weighted.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows, for
        ``base="boosted"``.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree or OneVsRest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CostCascadeClassifier, Prices
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 1)  # few; without the first there is no need to ask on
    >>> model = CostCascadeClassifier(
    ...     Prices([1.0, 10.0]), penalty=0.003, n_stages=2, class_weight="balanced").fit(X, y)
    >>> bool(model.predict(X)[y].mean() > 0.9), bool(model.bill(X).mean() < 6)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinearClassifier._parameter_constraints,
        "n_stages": [Interval(Integral, 1, 32, closed="both")],
    }
    at_exit: ClassVar[bool] = True

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        n_stages: int = 4,
        loss: str = "log_loss",
        base: str = "raw",
        n_estimators: int = 100,
        shrinkage: float = 1e-4,
        max_sweeps: int = 10,
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
        self.class_weight = class_weight
        self.random_state = random_state

    def _shape(self) -> Shape:
        return Shape.chain(self.n_stages)
