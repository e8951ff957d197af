"""GreedyMiser for classification."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedClassifier
from thrifty.learn.boosting.base import GreedyMiser
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.losses import LogLoss, Loss, SquaredHinge
from thrifty.learn.point import Point
from thrifty.model import Forest

__all__ = ["GreedyMiserClassifier"]

LOSSES = {"log_loss": LogLoss, "squared_hinge": SquaredHinge}


class GreedyMiserClassifier(PricedClassifier, GreedyMiser):
    """Gradient boosting that buys a feature only where it saves more loss than it costs.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        Mean loss that one unit of price must save (lambda). At 0 this is plain boosting.
    loss : {"log_loss", "squared_hinge"}
        Logistic or softmax loss, or the squared hinge loss one-vs-rest.
    charge : {"model", "example"}
        Whether a feature is paid once, by the first split of the model that reads it, or by
        each example that reads it.
    n_estimators : int
        Boosting rounds; each adds one tree, or one per class if there are more than two.
    learning_rate : float
        Factor for each tree.
    max_depth : int
        Largest number of splits on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws the sample that places the bins of a table of more than 100,000 rows.

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
    >>> X[:, 2] = X[:, 0]  # a copy of the first column, but more expensive
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1.0, 1.0, 9.0]), penalty=0.001).fit(X, y)
    >>> model.used(X).any(axis=0)  # the copy is never bought
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
        prices: PriceList | None = None,
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
        y: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : pandas, polars or Dask DataFrame, array of shape (n, d), or thrifty.Table
            The table; text and categorical columns are read as categories, NaN as missing. A
            `Table` is read from its files, which may be larger than memory. The rows of a Dask
            DataFrame stay on its cluster; then target and weights are Dask Series.
        y : sequence of shape (n,)
            Labels; those of a `Table` are in its files.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            A validation set for early stopping: boosting stops after 20 rounds in which its loss
            has not improved, and the rounds up to the best are kept.
        """
        return self._fit(self._read_training(X, y, sample_weight), validation)

    def path(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Yield operating points from two runs of boosting, cheapest first.

        In one run the penalty decreases. It starts just below the largest at which anything is
        bought; when a set of features has had its rounds, it drops to just below the largest at
        which something more is bought. The trees so far are kept, so the purchases are nested; the
        learning rate is doubled, because each set has few rounds. The other run is the fit with
        penalty 0 and early stopping. Neither has more than `n_estimators` rounds. Every prefix of
        the trees of a run is a candidate; it is left out if another one of the same run costs no
        more and has no larger validation loss. The first point is the constant, at bill 0. The
        knob of a point is its number of trees, and the penalty at which the last of them was
        grown. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            The validation set: bill and quality are measured on it, and it stops boosting.
        penalties : sequence of float, optional
            The penalties of the decreasing run, from the largest on; the smallest one is that of
            the other run, so a single penalty gives the prefixes of the fit with it.
        """
        return self._path(self._read_training(X, y, sample_weight), validation, penalties)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the summed trees before the link: (n,) for two classes, (n, K) for more."""
        rows = self.schema_.encode(self._checked(X))
        raw = cast(Forest, self.model_).raw(rows)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _bind_loss(self) -> Callable[[NDArray[Any]], Loss]:
        return partial(LOSSES[self.loss], weight=None, n_classes=len(self.classes_))

    def _loss(self, data: TrainingSet | ValidationSet, weight: NDArray[np.float64] | None) -> Loss:
        return LOSSES[self.loss](data.y, weight, len(self.classes_))
