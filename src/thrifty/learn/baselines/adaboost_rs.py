"""AdaBoostRS: a random sample of AdaBoost's trees, in which cheap ones are drawn more often.

The vote of all trees is estimated from a few (Reyzin 2011): each draw takes a tree with a
probability proportional to its vote weight divided by its price. Dividing the vote by that
probability makes the estimate unbiased.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.learn._sklearn import Interval
from thrifty.learn.adopt.adopting import read
from thrifty.learn.baselines.base import BaselineClassifier, FittedPath, Knob, normalized_weights
from thrifty.learn.baselines.boosted import concatenate_forests
from thrifty.learn.dataset import TrainingSet
from thrifty.model import Forest, Frozen

__all__ = ["AdaBoostRSClassifier"]

Floats = NDArray[np.float64]

# Numbers of draws on a path; the largest is this many times the number of trees.
N_POINTS = 16
MAX_DRAWS_PER_TREE = 10
# A free tree counts as this share of the mean price, so that its probability is finite.
MIN_PRICE_SHARE = 1e-3
# A tree without errors gets the vote of one with this error rate.
MIN_ERROR = 1e-6
# A tree is no better than chance if it gains less than this.
CHANCE_TOL = 1e-12


class AdaBoostRSClassifier(BaselineClassifier):
    """A random sample of the trees of AdaBoost (Reyzin 2011).

    One simplification: trees are drawn once, in `fit`, while the paper draws anew for each example
    until its budget is spent. All rows get the same trees, and a tree that is drawn twice is
    evaluated once and counts twice.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        What features and evaluations of trees cost; by default one unit per feature.
    draws : int or None
        Number of draws; None keeps every tree with its own vote.
    n_estimators : int
        Rounds of AdaBoost.
    max_depth : int
        Largest depth of a tree.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Seeds the trees and the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import AdaBoostRSClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> model = AdaBoostRSClassifier(draws=5, random_state=0).fit(X, y)
    >>> len(model.model_.roots)  # five draws, no tree twice
    5
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaselineClassifier._parameter_constraints,
        "draws": [Interval(Integral, 1, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        draws: int | None = None,
        n_estimators: int = 100,
        max_depth: int = 2,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.draws = draws
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.class_weight = class_weight
        self.random_state = random_state

    def _knob(self) -> Knob:
        return {"draws": None if self.draws is None else int(self.draws)}

    def _fit_path(self, train: TrainingSet) -> FittedPath:
        random = check_random_state(self.random_state)
        voters = self._train_adaboost(train, random)
        seed = random.randint(np.iinfo(np.int32).max)
        votes = np.array([voter.vote for voter in voters])
        # The price of a tree is that of all features it may read, and of its evaluation.
        prices = np.array(
            [float(train.prices.bill(tree.support[np.newaxis], 1)[0]) for tree, _ in voters]
        )
        prices = np.maximum(prices, MIN_PRICE_SHARE * prices.mean()) if prices.any() else prices + 1
        probabilities = votes / prices / np.sum(votes / prices)
        trees = [voter.tree for voter in voters]
        return _AdaBoostSample(train, trees, votes, probabilities, seed)

    def _train_adaboost(self, train: TrainingSet, random: RandomState) -> list[_Voter]:
        """Run SAMME, which for two classes is AdaBoost."""
        voters, weight, n_classes = list[_Voter](), normalized_weights(train), train.n_classes
        for _ in range(self.n_estimators):
            seed = random.randint(np.iinfo(np.int32).max)
            tree = DecisionTreeClassifier(max_depth=self.max_depth, random_state=seed)
            tree.fit(train.X, train.y, sample_weight=weight)
            wrong = tree.predict(train.X) != train.y
            error = float(weight @ wrong)
            if error >= 1.0 - 1.0 / n_classes - CHANCE_TOL or tree.tree_.node_count == 1:
                break
            vote = np.log1p(-error) - np.log(max(error, MIN_ERROR)) + np.log(n_classes - 1.0)
            voters.append(_Voter(read(tree).forest, float(vote)))
            if error < MIN_ERROR:
                break
            weight = weight * np.where(wrong, np.exp(vote), 1.0)
            weight /= weight.sum()
        return voters


class _Voter(NamedTuple):
    """A tree, whose nodes have class shares as values, and the weight of its vote."""

    tree: Forest
    vote: float


@dataclass(frozen=True, eq=False)
class _AdaBoostSample:
    """The T trees of AdaBoost, and one sequence of draws, of which each sample is a prefix.

    Attributes
    ----------
    train : TrainingSet
    trees : list of Forest
        One tree each.
    votes : array of shape (T,)
        Weights of the trees in the whole vote.
    probabilities : array of shape (T,)
        Of a tree in each draw.
    seed : int
        Seed of the draws.
    """

    train: TrainingSet
    trees: list[Forest]
    votes: Floats
    probabilities: Floats
    seed: int

    def model(self, knob: Knob) -> Frozen:
        """Return the forest of the trees drawn; a tree counts as often as it was drawn."""
        draws = knob["draws"]
        if not self.trees:
            return self.train.constant
        if draws is None:
            return self._weighted_forest(np.arange(len(self.trees)), self.votes)
        drawn = RandomState(self.seed).choice(len(self.trees), draws, p=self.probabilities)
        trees, first, counts = np.unique(drawn, return_index=True, return_counts=True)
        # Divided by the probabilities, the mean over the draws estimates the whole vote.
        votes = counts * self.votes[trees] / self.probabilities[trees] / draws
        order = np.argsort(first)
        return self._weighted_forest(trees[order], votes[order])

    def knobs(self) -> list[Knob]:
        """Return numbers of draws up to a multiple of the number of trees, and None at the end."""
        most = MAX_DRAWS_PER_TREE * max(len(self.trees), 1)
        counts = np.unique(np.geomspace(1, most, N_POINTS).astype(int))
        return [*({"draws": int(count)} for count in counts), {"draws": None}]

    def _weighted_forest(self, trees: NDArray[np.int64], votes: Floats) -> Forest:
        """Make a forest in which each leaf votes for its most frequent class."""
        voting = []
        for index, vote in zip(trees, votes, strict=True):
            tree = self.trees[index]
            one_hot = np.eye(tree.values.shape[1])[tree.values.argmax(axis=1)]
            if one_hot.shape[1] > 2:
                voting.append(replace(tree, values=vote * one_hot))
            else:  # one output, the log odds of class 1
                values = vote * (2.0 * one_hot[:, 1:] - 1.0)
                voting.append(replace(tree, values=values, base=np.zeros(1), link="sum"))
        if self.train.n_classes == 2:
            return concatenate_forests(voting, [0.0], "sigmoid")
        return concatenate_forests(voting, [0.0] * self.train.n_classes, "softmax")
