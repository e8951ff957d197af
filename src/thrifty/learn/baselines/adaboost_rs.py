"""AdaBoostRS: trees of AdaBoost drawn by lot, cheap ones more often (L. Reyzin, ICML 2011).

The vote of all trees is estimated from a few: each draw takes a tree with a probability that is
proportional to its weight in the vote over its price, and speaks for all of them.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.learn.adopt.adopting import read
from thrifty.learn.baselines.base import Knob, Learner, Rival, Task
from thrifty.learn.baselines.boosted import joined
from thrifty.learn.budget_forest.grower import constant_forest
from thrifty.model import Forest, Frozen

__all__ = ["AdaBoostRSClassifier"]

Floats = NDArray[np.float64]
POINTS = 16
# What is free counts as this share of a mean price, so that its probability is finite.
FLOOR = 1e-3
# A tree without errors speaks as if it had this share of them.
FEWEST_ERRORS = 1e-6


class AdaBoostRSClassifier(Rival):
    """A sample of the trees of AdaBoost.

    Simplified: trees are drawn once, when the model is learnt, where the paper draws anew for each
    example until its budget is spent; so all rows are answered by the same trees, and a tree that
    is drawn again is evaluated once and counts twice.

    Parameters
    ----------
    prices : Prices, optional
        What features and evaluations of trees cost; one unit a feature when left out.
    draws : int or None
        How many trees are drawn; None keeps every tree with its own vote.
    n_estimators : int
        Rounds of AdaBoost.
    max_depth : int
        Largest number of questions on the way to a leaf.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws the trees.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import AdaBoostRSClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> model = AdaBoostRSClassifier(draws=5, random_state=0).fit(X, y)
    >>> len(model.model_.roots) <= 5
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Rival._parameter_constraints,
        "draws": [Interval(Integral, 1, None, closed="left"), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        prices: Prices | None = None,
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

    def _learner(self, task: Task) -> Learner:
        random = check_random_state(self.random_state)
        votes = _adaboost(task, self.n_estimators, self.max_depth, random)
        return _Draws(task, votes, random.randint(np.iinfo(np.int32).max))


class _Vote(NamedTuple):
    """A tree, as the share of each class at its nodes, and its weight in the vote."""

    tree: Forest
    weight: float


def _adaboost(task: Task, rounds: int, depth: int, random: Any) -> list[_Vote]:
    """SAMME, which is AdaBoost where there are two classes."""
    votes, weight, k = list[_Vote](), task.weights, task.n_classes
    for _ in range(rounds):
        seed = random.randint(np.iinfo(np.int32).max)
        tree = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        tree.fit(task.X, task.codes, sample_weight=weight)
        wrong = tree.predict(task.X) != task.codes
        error = float(weight @ wrong)
        if error >= 1.0 - 1.0 / k - 1e-12 or tree.tree_.node_count == 1:
            break
        voice = np.log1p(-error) - np.log(max(error, FEWEST_ERRORS)) + np.log(k - 1.0)
        votes.append(_Vote(read(tree).forest, float(voice)))
        if error < FEWEST_ERRORS:
            break
        weight = weight * np.where(wrong, np.exp(voice), 1.0)
        weight /= weight.sum()
    return votes


class _Draws:
    """The trees, and one sequence of draws from them; a sample is a prefix of it."""

    def __init__(self, task: Task, votes: list[_Vote], seed: int) -> None:
        self.task, self.votes, self.seed = task, votes, seed
        voices = np.array([vote.weight for vote in votes])
        prices = np.array([_price(task, vote.tree) for vote in votes])
        prices = np.maximum(prices, FLOOR * prices.mean()) if prices.any() else prices + 1.0
        self.voices = voices
        self.chances = voices / prices / np.sum(voices / prices)

    def model(self, knob: Knob) -> Frozen:
        """The trees that are drawn, each as often."""
        draws = knob["draws"]
        if draws is None or not self.votes:
            return self._forest(np.arange(len(self.votes)), self.voices)
        random = np.random.RandomState(self.seed)
        drawn = random.choice(len(self.votes), draws, p=self.chances)
        trees, first, counts = np.unique(drawn, return_index=True, return_counts=True)
        # Divided by its chance, a draw speaks for all trees: the mean over draws is their vote.
        voices = counts * self.voices[trees] / self.chances[trees] / draws
        order = np.argsort(first)
        return self._forest(trees[order], voices[order])

    def knobs(self) -> list[Knob]:
        """From one draw to ten times as many as there are trees, and the whole vote."""
        most = 10 * max(len(self.votes), 1)
        counts = np.unique(np.geomspace(1, most, POINTS).astype(int))
        return [*({"draws": int(count)} for count in counts), {"draws": None}]

    def _forest(self, trees: NDArray[np.int64], voices: Floats) -> Forest:
        if not len(trees):
            return constant_forest(self.task.shares, len(self.task.schema))
        parts = [_speaking(self.votes[t].tree, v) for t, v in zip(trees, voices, strict=True)]
        if self.task.n_classes == 2:
            return joined(parts, [0.0], "sigmoid")
        return joined(parts, [0.0] * self.task.n_classes, "softmax")


def _speaking(tree: Forest, voice: float) -> Forest:
    """A tree that votes for one class: log odds of class 1 of two, or a vote for each class."""
    member = np.eye(tree.values.shape[1])[tree.values.argmax(axis=1)]
    if member.shape[1] > 2:
        return replace(tree, values=voice * member)
    return replace(tree, values=voice * (2.0 * member[:, 1:] - 1.0), base=np.zeros(1), link="sum")


def _price(task: Task, tree: Forest) -> float:
    """What a row pays that reads all features of a tree."""
    return float(task.prices.bill(tree.support[np.newaxis], 1)[0])
