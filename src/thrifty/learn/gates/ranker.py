"""ADAPT for ranking: rows are ordered within their query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.base import PricedRanker
from thrifty.learn.gates.adapt import AdaptGate
from thrifty.learn.gates.losses import GradeLoss
from thrifty.learn.point import Point

__all__ = ["GatedRanker"]


class GatedRanker(PricedRanker, AdaptGate):
    """A low-cost local model, and a gate that decides which rows need an expensive ranker.

    Each row of a query goes its own way. As `GatedRegressor`, with the squared error of the grades
    as loss; what counts in the end is the order of each query, by scores of both models. They are
    comparable: the grades are predicted by a line in the scores of the expensive model, and the
    local model, which predicts grades, is brought to the unit of these scores.

    Parameters
    ----------
    expensive : estimator, Predictor, function, URL or Call, optional
        The model to be called rarely, as in `GatedClassifier`. By default, a large
        boosted model of the grades is trained. One whose scores order the rows of a query only,
        and say nothing across queries, makes a poor mixture.
    prices : Prices, mapping or sequence, optional
        Prices of the features; one unit each by default.
    share : float
        Largest share of the training rows that may be sent (P_full).
    penalty : float or "auto"
        Half the mean squared error of the grades that one unit of price must save (gamma).
        ``"auto"`` tries several, and takes the cheapest whose NDCG@5 on the validation rows is
        within one standard error of the best.
    family : {"boosted", "linear", "leaves"} or GateFamily
        Kind of gate and local model, as in `GatedClassifier`. Leaves have no margin here: their
        gate starts at 0, or as a prediction of which rows have large errors.
    distance : {"kl", "symmetric"}
        Distance between gate and q: Kullback-Leibler, or squared difference of log-odds.
    alternations : int
        Maximum number of rounds; the search ends earlier if the objective stops falling.
    target : dict, optional
        What the threshold of the gate must meet on the validation rows, as in `GatedClassifier`;
        a quality is NDCG@5.
    random_state : int, RandomState or None
        Assigns rows to folds, and draws random initial models.

    Attributes
    ----------
    model_ : thrifty.model.Gate
        The frozen model.
    history_ : tuple of float
        The objective after each half step; it never increases.

    Examples
    --------
    Half of the rows have a grade that the first column knows:

    >>> import numpy as np
    >>> from thrifty import GatedRanker
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(2000, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 0] > 0.5, 2 * (X[:, 1] * X[:, 2] > 0.1))  # grades 0, 1, 2
    >>> qid = np.repeat(np.arange(200), 10)
    >>> model = GatedRanker(share=0.5, penalty=0.01, random_state=0).fit(X, y, qid=qid)
    >>> sent = model.sent(X)
    >>> round(model.score(X, y, qid=qid), 2), round(sent.mean().item(), 2)
    (1.0, 0.49)
    >>> model.bill(X[~sent]).mean().item(), model.bill(X[sent]).mean().item()
    (1.0, 3.0)
    """

    _gate_loss = GradeLoss()
    # The scores alone do not say that they are meant for an order.
    _origin: ClassVar[Mapping[str, str]] = {"task": "ranking"}

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, ...] | None = None,
        expensive_values: Any = None,
        qid: Any = None,
    ) -> Self:
        """Train a gate and a local model for the expensive model, and place the threshold.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The table; text and categorical columns are read as categories, NaN as missing.
        y : array of shape (n,)
            Relevance grades from 0 up; a grade g gains 2^g - 1.
        sample_weight : array of shape (n,), optional
            Sample weights.
        validation : (Xv, yv) or (Xv, yv, qidv), optional
            Rows to place the threshold on; the training rows by default, unless the target is a
            quality, which cannot be measured on them.
        expensive_values : array of shape (n,), optional
            Scores of the expensive model on X, for example out of fold; computed by default.
        qid : array of shape (n,), optional
            Query of each row; without it all rows are one query.
        """
        return self._fit(X, y, sample_weight, validation, expensive_values, qid)

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, ...],
        sample_weight: Any = None,
        expensive_values: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
        qid: Any = None,
    ) -> Iterator[Point]:
        """Return the Pareto-optimal points over shares, penalties and thresholds, cheapest first.

        Quality is NDCG@5; see `GatedClassifier.path`.
        """
        return self._path(X, y, sample_weight, validation, expensive_values, shares, penalties, qid)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row, by which a query is sorted; calls are made as needed.

        If a call fails, the local model predicts its rows, and there is a warning.
        """
        return self._scores(X)
