"""ASTC: a tree of linear models whose nodes buy greedily (004).

Each node selects what explains most of the target per price in the rows that come to it, for what
the nodes above have not paid yet, until its budget is spent; then it fits least squares, and sends
the upper half of its answers to one child and the lower half to the other.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import StrOptions

from thrifty.costs import Prices
from thrifty.learn.base import PricedClassifier
from thrifty.learn.calibration import Scaling, platt
from thrifty.learn.submodular_tree.base import SubmodularTree, Task
from thrifty.learn.submodular_tree.grower import GrownTree, constant_tree, freeze_tree
from thrifty.learn.targets import numbers
from thrifty.model import LinearTree

__all__ = ["SubmodularTreeClassifier", "SubmodularTreeRegressor"]

Floats = NDArray[np.float64]
# Rows that tell the probabilities of answers, at most.
CALIBRATED = 5_000


class SubmodularTreeClassifier(SubmodularTree, PricedClassifier):
    """A tree of linear models for classes that buys greedily (ASTC).

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    node_budget : float, optional
        What each node may spend on features that the nodes above have not bought. Left out,
        nodes buy all that explains more than chance would.
    max_depth : int
        Nodes on the longest path; 1 is a single linear model.
    routing : {"hard", "soft"}
        Whether a node learns from the rows that come to it, or from all rows, weighted by how
        near they are to coming. Predictions route hard in both cases.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, at a node.
    class_weight : dict, "balanced" or None
        Weights of the classes.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.LinearTree
        The frozen model.

    Notes
    -----
    Least squares on -1 and 1, one output for two classes and one a class for more; all outputs
    share what is bought. With several, a node routes by the mixture of them along which its answers
    vary most. Platt scaling on the training rows makes probabilities of the answers.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeClassifier
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0
    >>> prices = Prices([1.0, 5.0, 5.0])
    >>> model = SubmodularTreeClassifier(prices, node_budget=5, max_depth=2).fit(X, y)
    >>> model.bill(X).max().item(), model.model_.support.sum().item()  # no row buys all three
    (6.0, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SubmodularTree._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        node_budget: float | None = None,
        max_depth: int = 4,
        routing: str = "hard",
        min_samples_leaf: float = 50,
        class_weight: dict[Any, float] | str | None = None,
    ) -> None:
        self.prices = prices
        self.node_budget = node_budget
        self.max_depth = max_depth
        self.routing = routing
        self.min_samples_leaf = min_samples_leaf
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Floats:
        """Log odds of the second of two classes, (n,); with more, a score for each, (n, K)."""
        model = self.model_
        assert isinstance(model, LinearTree)
        raw = model.raw(self.schema_.encode(self._checked(X)))
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows, codes, weight = self._read_labeled(X, y, sample_weight)
        classes = np.arange(len(self.classes_))[1 if len(self.classes_) == 2 else 0 :]
        targets = np.where(codes[:, np.newaxis] == classes, 1.0, -1.0)
        return Task(schema, prices, *self._encoded(schema, rows, targets, weight), codes)

    def _frozen(self, task: Task, tree: GrownTree, level: int) -> LinearTree:
        scaling = self._scaling(task, tree.levels[level])
        return freeze_tree(tree, level, task.encoding, task.n_features, self._link, *scaling)

    def _constant(self, task: Task) -> LinearTree:
        nothing = np.zeros_like(task.rows.Y)
        return constant_tree(self._scaling(task, nothing).offset, self._link, task.n_features)

    def _scaling(self, task: Task, answers: Floats) -> Scaling:
        some = slice(None, None, -(-len(answers) // CALIBRATED))
        weight = task.rows.mass[some]
        return platt(answers[some], task.codes[some], weight, len(self.classes_))

    @property
    def _link(self) -> str:
        return "sigmoid" if len(self.classes_) == 2 else "softmax"

    def _held_target(self, y: Any, rows: int) -> NDArray[np.int64]:
        return self._codes(y, rows)

    def _quality(self, scores: Floats, target: NDArray[Any]) -> float:
        return float((scores.argmax(axis=1) == target).mean())


class SubmodularTreeRegressor(RegressorMixin, SubmodularTree):  # type: ignore[misc]
    """A tree of linear models for numbers that buys greedily (ASTC).

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    node_budget : float, optional
        What each node may spend on features that the nodes above have not bought. Left out,
        nodes buy all that explains more than chance would.
    max_depth : int
        Nodes on the longest path; 1 is a single linear model.
    routing : {"hard", "soft"}
        Whether a node learns from the rows that come to it, or from all rows, weighted by how
        near they are to coming. Predictions route hard in both cases.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, at a node.

    Attributes
    ----------
    model_ : thrifty.model.LinearTree
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices, SubmodularTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> y = 3.0 * X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    >>> prices = Prices([1.0, 5.0, 5.0])
    >>> model = SubmodularTreeRegressor(prices, node_budget=5, max_depth=2).fit(X, y)
    >>> sorted(set(model.bill(X).tolist())), bool(model.score(X, y) > 0.95)
    ([6.0], True)
    """

    def __init__(
        self,
        prices: Prices | None = None,
        node_budget: float | None = None,
        max_depth: int = 4,
        routing: str = "hard",
        min_samples_leaf: float = 50,
    ) -> None:
        self.prices = prices
        self.node_budget = node_budget
        self.max_depth = max_depth
        self.routing = routing
        self.min_samples_leaf = min_samples_leaf

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows = self._read(X)
        target = numbers(y, len(rows))
        rows, target, weight = self._kept(self._weights(sample_weight, rows), rows, target)
        # Standardized, so that sums of squares are as exact for a target far from 0.
        center, scale = _standard(target, weight)
        targets = ((target - center) / scale)[:, np.newaxis]
        return Task(schema, prices, *self._encoded(schema, rows, targets, weight), target)

    def _frozen(self, task: Task, tree: GrownTree, level: int) -> LinearTree:
        center, scale = _standard(task.codes, task.rows.weight)
        offset = np.array([center])
        return freeze_tree(tree, level, task.encoding, task.n_features, "sum", scale, offset)

    def _constant(self, task: Task) -> LinearTree:
        center, _ = _standard(task.codes, task.rows.weight)
        return constant_tree(np.array([center]), "sum", task.n_features)

    def _held_target(self, y: Any, rows: int) -> Floats:
        return numbers(y, rows)

    def _quality(self, scores: Floats, target: NDArray[Any]) -> float:
        return float(r2_score(target, scores))


def _standard(target: Floats, weight: Floats | None) -> tuple[float, float]:
    """Mean and deviation; a deviation of 1 where nothing varies."""
    center = float(np.average(target, weights=weight))
    scale = float(np.sqrt(np.average(np.square(target - center), weights=weight)))
    return center, scale if scale > 0.0 else 1.0
