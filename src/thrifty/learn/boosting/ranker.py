"""GreedyMiser for ranking: rows are ordered within their query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedRanker
from thrifty.learn.boosting.base import GreedyMiser
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.losses import LambdaLoss, Loss, SquaredLoss
from thrifty.learn.point import Point

__all__ = ["GreedyMiserRanker"]


class GreedyMiserRanker(PricedRanker, GreedyMiser):
    """Gradient boosting for ranking that pays for each feature once.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default.
    penalty : float
        Mean loss that one unit of price must save (lambda).
    loss : {"lambda", "squared"}
        LambdaMART's pairwise loss, weighted by the change of NDCG, or the squared error of the
        grades.
    charge : {"model", "example"}
        Whether a feature is paid once, by the first split of the model that reads it, or by
        each example that reads it.
    n_estimators : int
        Boosting rounds, one tree each.
    learning_rate : float
        Factor for each tree.
    max_depth : int
        Largest number of splits on the way to a leaf, at most 12.
    min_samples_leaf : float
        Smallest number of rows, or sum of their weights, in a leaf.
    random_state : int, RandomState or None
        Draws the sample that places the bins of a table of more than 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0], [0.5, 1.5])  # grades 0, 1, 2
    >>> qid = np.repeat(np.arange(30), 10)
    >>> model = GreedyMiserRanker(n_estimators=20).fit(X, y, qid=qid)
    >>> round(model.score(X, y, qid=qid), 2)  # NDCG@5
    0.99
    """

    # The scores alone do not say that they are meant for an order.
    _origin: ClassVar[Mapping[str, str]] = {"task": "ranking"}
    _reads_files = _reads_dask = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiser._parameter_constraints,
        "loss": [StrOptions({"lambda", "squared"})],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        loss: str = "lambda",
        charge: str = "model",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 4,
        min_samples_leaf: float = 20,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            prices, penalty, charge, n_estimators, learning_rate, max_depth, min_samples_leaf,
            random_state,
        )  # fmt: skip
        self.loss = loss

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, ...] | None = None,
        qid: Any = None,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table.
        y : array of shape (n,)
            Relevance grades from 0 up; a grade g gains 2^g - 1.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv) or (Xv, yv, qidv), optional
            A validation set for early stopping.
        qid : array of shape (n,), optional
            Query of each row; without it all rows are one query.
        """
        return self._fit(self._read_training(X, y, sample_weight, qid), validation)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, ...],
        sample_weight: Any = None,
        qid: Any = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Yield operating points, cheapest first, with NDCG@5 as quality.

        See `GreedyMiserClassifier.path`.
        """
        return self._path(self._read_training(X, y, sample_weight, qid), validation, penalties)

    def _loss(self, data: TrainingSet | ValidationSet, weight: NDArray[np.float64] | None) -> Loss:
        if self.loss == "squared":
            return SquaredLoss(data.y, weight)
        assert data.query is not None
        return LambdaLoss(data.y, weight, data.query)
