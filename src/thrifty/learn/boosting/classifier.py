"""GreedyMiser for classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from thrifty.costs import Prices
from thrifty.learn.base import PricedClassifier
from thrifty.learn.boosting.base import GreedyMiser, Task
from thrifty.learn.boosting.validation_tracker import HeldOut
from thrifty.learn.losses import LogLoss, Loss, SquaredHinge
from thrifty.learn.point import Point
from thrifty.model import Forest
from thrifty.model.links import apply_link

__all__ = ["GreedyMiserClassifier"]

LOSSES = {"log_loss": LogLoss, "squared_hinge": SquaredHinge}


class GreedyMiserClassifier(PricedClassifier, GreedyMiser):
    """Boosted trees that buy a feature only where it saves more loss than it costs.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    penalty : float
        Mean loss that one unit of price must save (lambda). 0 is plain boosting.
    loss : {"log_loss", "squared_hinge"}
        What is minimized: logistic or softmax loss, or the squared hinge of each class against
        the rest.
    charge : {"model", "example"}
        Whether a feature is paid once, by the first split of the model that reads it, or by
        each example that comes to read it.
    n_estimators : int
        Rounds of boosting; each adds one tree, or one per class when there are more than two.
    learning_rate : float
        Share of each tree that is added.
    max_depth : int
        Largest number of questions on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws the rows that place the bins of a table of more than 100,000 rows.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Forest
        The frozen model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> X[:, 2] = X[:, 0]  # the same as the first column, and dearer
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1.0, 1.0, 9.0]), penalty=0.001).fit(X, y)
    >>> model.used(X).any(axis=0)
    array([ True,  True, False])
    >>> model.bill(X).max().item()
    2.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiser._parameter_constraints,
        "loss": [StrOptions(set(LOSSES))],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        prices: Prices | None = None,
        penalty: float = 0.0,
        loss: str = "log_loss",
        charge: str = "model",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prices, penalty, charge, n_estimators, learning_rate, max_depth, min_samples_leaf,
            random_state,
        )  # fmt: skip
        self.loss = loss
        self.class_weight = class_weight

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Learn from a table and its labels.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Held-out rows: boosting stops when their loss has not fallen for 20 rounds, and keeps
            the rounds up to the least.
        """
        return self._fit(self._task(X, y, sample_weight), validation)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points from two runs of boosting, cheapest first.

        In one run the penalty falls. It starts just below the largest at which anything is bought;
        when a set of features has had its rounds, it falls to just below the largest at which
        something more is bought. The trees so far are kept, so what is bought is nested; steps
        are twice the `learning_rate`, as each set has few rounds. The other run is the fit with
        penalty 0 and early stopping. Neither has more than `n_estimators` rounds. Every prefix of
        the trees of a run is a candidate; it is left out where one of the same run that costs no
        more has no more validation loss. The first point is the constant, at bill 0. The knob of
        a point is its number of trees, and the penalty at which the last of them was grown.
        Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured and boosting is stopped.
        penalties : sequence of float, optional
            The penalties to fall through, from the largest on; the smallest has the run of
            its own, so a single one gives prefixes of the fit with it.
        """
        return self._path(self._task(X, y, sample_weight), validation, penalties)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Summed trees before the link: (n,) for two classes, (n, K) for more."""
        rows = self.schema_.encode(self._checked(X))
        raw = cast(Forest, self.model_).raw(rows)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _task(self, X: Any, y: Any, sample_weight: Any) -> Task:
        self._validate_params()
        schema, prices, rows, codes, weight = self._read_labeled(X, y, sample_weight)
        loss = self._loss(codes, weight, len(self.classes_))
        return Task(schema, prices, rows, loss, weight, self.classes_)

    def _loss(
        self, codes: NDArray[np.int64], weight: NDArray[np.float64] | None, n_classes: int
    ) -> Loss:
        return LOSSES[self.loss](codes, weight, n_classes)

    def _held_out(self, task: Task, validation: Sequence[Any]) -> HeldOut:
        rows = self._validation_rows(task, validation)
        codes = self._codes(validation[1], len(rows))

        def accuracy(raw: NDArray[np.float64]) -> float:
            return float(np.mean(apply_link(task.loss.link, raw).argmax(axis=1) == codes))

        return HeldOut(rows, self._loss(codes, None, len(self.classes_)), accuracy)
