"""CSTC for ranking: a tree of linear regressions of the grades, judged by NDCG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from thrifty.costs import PriceList
from thrifty.learn.base import PricedRanker
from thrifty.learn.cost_tree.base import CostLinear, TreeTarget
from thrifty.learn.cost_tree.estimators import DEPTH_CONSTRAINT, scaled_target, trees_up_to
from thrifty.learn.cost_tree.objective import SoftObjective
from thrifty.learn.cost_tree.prefixes import EXIT_IF_LOW, ExitShape
from thrifty.learn.cost_tree.soft_tree import SoftTree
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import Point

__all__ = ["CostTreeRanker"]


class CostTreeRanker(PricedRanker, CostLinear):
    """A tree of linear models that orders the rows of a query (CSTC).

    The grades are learned by their squared error, as in Xu (2014, sec. 3.7.2); the validation set
    judges trees by the order of the rows.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features cost; by default one unit each.
    penalty : float
        Half the mean squared error that one unit of price must save (lambda).
    max_depth : int
        Number of decisions before a leaf, at most 10; 0 is a single linear model.
    base : {"raw", "boosted"}
        Inputs of the linear models: the columns of the table, or boosted trees.
    n_estimators : int
        Number of boosted trees, for ``base="boosted"``.
    shrinkage : float, optional
        Weight of the l1 norm (rho), with the grades scaled to unit variance; by default as in
        `CostTreeClassifier`.
    max_sweeps : int
        Maximum number of sweeps over the nodes; at 0 the tree is only initialized.
    criterion : {"ndcg@5", "precision@5", "loss"}
        What trees are judged by on the validation set; the number may be another.
    random_state : int, RandomState or None
        Seed of the sample of rows that places the bins of boosted trees, if the table has more
        than 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import CostTreeRanker, Prices
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.5, 1.5])  # grades 0, 1, 2
    >>> qid = np.repeat(np.arange(30), 10)
    >>> model = CostTreeRanker(Prices([1, 1, 9]), penalty=0.001, max_depth=1).fit(X, y, qid=qid)
    >>> round(model.score(X, y, qid=qid), 2), model.bill(X).max().item()  # NDCG@5
    (1.0, 2.0)
    """

    # The scores alone do not say that they are meant for an order.
    _origin: ClassVar[Mapping[str, str]] = {"task": "ranking"}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CostLinear._parameter_constraints,
        **DEPTH_CONSTRAINT,
        "criterion": [str],
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
        criterion: str = "ndcg@5",
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.penalty = penalty
        self.max_depth = max_depth
        self.base = base
        self.n_estimators = n_estimators
        self.shrinkage = shrinkage
        self.max_sweeps = max_sweeps
        self.criterion = criterion
        self.random_state = random_state

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
            Relevance grades from 0 up.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv, qidv), optional
            Rows that judge trees by the criterion; by default the training rows do, by the loss.
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

        See `CostTreeClassifier.path`.
        """
        return self._path(self._read_training(X, y, sample_weight, qid), validation, penalties)

    def _initial_trees(self) -> list[Callable[[SoftObjective], SoftTree]]:
        return trees_up_to(self.max_depth)

    def _exits(self) -> ExitShape | None:
        return EXIT_IF_LOW if self.max_depth else None

    def _targets(self, train: TrainingSet, validation: ValidationSet | None) -> list[TreeTarget]:
        return [scaled_target(train, validation)]
