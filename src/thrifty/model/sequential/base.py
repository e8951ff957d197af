"""The interface of models whose rows buy one feature at a time until they are confident.

A `SequentialState` follows one example: it names the next feature, takes its value, and updates its
estimate. A walk wraps one state, and a batch runs one state for each row, so their bits agree.

What a row does does not depend on the threshold, only when it stops does. One run without early
stopping therefore says where each row would stop at any threshold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.model.base import Frozen, Price, Walk
from thrifty.model.motive import End

__all__ = [
    "SequentialModel",
    "SequentialState",
    "SequentialStates",
    "SequentialWalk",
    "Step",
    "class_probabilities",
    "run_row_by_row",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The predicted class has at least this much more than its uniform share, so that it is the argmax.
MIN_LEAD = 1e-6


class Step(NamedTuple):
    """What is known of an example after one purchase."""

    estimate: float
    """Estimated accuracy, which is compared with the threshold."""

    p_correct: float
    """Probability of the predicted class."""

    predicted: int
    """The predicted class."""


class SequentialState(ABC):
    """One example: what it has bought, what it buys next, and its prediction so far.

    Parameters
    ----------
    prior : float array (K,)
        Class frequencies: the scores before any purchase.
    next_feature : int or None
        The first feature to buy.

    Attributes
    ----------
    next_feature : int or None
        The feature to buy now; None when the example is done.
    bought : list of int
        Features in the order of purchase.
    history : list of Step
        One entry for each purchase.
    """

    def __init__(self, prior: Floats, next_feature: int | None) -> None:
        self.prior, self.next_feature = prior, next_feature
        self.bought: list[int] = []
        self.history: list[Step] = []

    @abstractmethod
    def observe(self, value: float) -> None:
        """Take the value of `next_feature`; update the prediction, and choose what comes next."""

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) of the prediction so far."""
        if not self.history:
            return self.prior.copy()
        last = self.history[-1]
        row: Floats = class_probabilities(
            np.array([last.p_correct]), np.array([last.predicted]), len(self.prior)
        )[0]
        return row

    def run(self, row: NDArray[np.floating]) -> None:
        """Buy from a complete row (n_features,) until done."""
        while self.next_feature is not None:
            self.observe(float(row[self.next_feature]))


def class_probabilities(p_correct: Floats, predicted: Ints, n_classes: int) -> Floats:
    """Return class probabilities (n, K): `p_correct` for the predicted class, the rest uniform.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.model.sequential.base import class_probabilities
    >>> class_probabilities(np.array([0.75]), np.array([2]), 3)
    array([[0.125, 0.125, 0.75 ]])
    """
    p_correct = np.maximum(p_correct, (1.0 + MIN_LEAD) / n_classes)
    rest = ((1.0 - p_correct) / (n_classes - 1))[:, np.newaxis]
    scores = np.repeat(rest, n_classes, axis=1)
    scores[np.arange(len(predicted)), predicted] = p_correct
    return scores


class SequentialStates(NamedTuple):
    """The purchases of all rows of a batch, step by step; m is the number of buyable features."""

    feature: Ints
    """(n, m): the feature bought in each step; -1 after the last one."""

    estimate: Floats
    """(n, m): estimated accuracy after each step; 0 after the last one."""

    p_correct: Floats
    """(n, m): probability of the predicted class after each step."""

    predicted: Ints
    """(n, m): predicted class after each step."""

    steps: Ints
    """(n,): number of purchases of each row."""

    @classmethod
    def empty(cls, n: int, m: int) -> Self:
        """Return the states of n rows before any purchase."""
        estimate, p_correct = np.zeros((2, n, m))
        feature, predicted = np.full((n, m), -1, np.int64), np.zeros((n, m), np.int64)
        return cls(feature, estimate, p_correct, predicted, np.zeros(n, np.int64))

    def steps_at(self, threshold: float) -> Ints:
        """Return after how many purchases each row stops, (n,), at another threshold.

        It must not be above the threshold of this run.
        """
        taken = np.arange(self.feature.shape[1]) < self.steps[:, np.newaxis]
        confident = (self.estimate > threshold) & taken
        first = confident.argmax(axis=1) + 1 if confident.shape[1] else self.steps
        return np.where(confident.any(axis=1), first, self.steps)


class SequentialModel(Frozen):
    """Base class of the models that buy one feature at a time."""

    order: Ints
    """(m,): features that may be bought; earlier ones win ties."""

    threshold: float
    """A row stops when its estimate is above; before any purchase that is the largest prior."""

    prior: Floats
    """(K,): class frequencies."""

    weighted_price: Floats
    """(d,): what a feature loses in the choice, in units of the estimate."""

    group: Ints
    """(d,): group of each feature; -1 for none."""

    weighted_group_price: Floats
    """(g,): what the first feature of a group loses in addition."""

    @abstractmethod
    def start(self) -> SequentialState:
        """Return the state of a new example."""

    @abstractmethod
    def with_threshold(self, threshold: float) -> Self:
        """Return the same model with another threshold."""

    @property
    def buys_anything(self) -> bool:
        """Whether rows buy at all: not if the largest prior is above the threshold."""
        return len(self.order) > 0 and not self.prior.max() > self.threshold

    @property
    def n_scores(self) -> int:
        """Number of classes."""
        return len(self.prior)

    def price_now(self, features: Ints, bought: list[int]) -> Floats:
        """Return the weighted price of `features` for an example that has `bought` others.

        The price of a group is due until one of its features is bought.
        """
        is_open = np.isin(self.group[features], self.group[bought])
        group_price = np.append(self.weighted_group_price, 0.0)[self.group[features]]
        return np.asarray(self.weighted_price[features] + np.where(is_open, 0.0, group_price))

    def run(self, X: NDArray[np.floating]) -> SequentialStates:
        """Return every step of every row of X (n, n_features)."""
        self.check_columns(X)
        if not self.buys_anything or not len(X):
            return SequentialStates.empty(len(X), len(self.order))
        return self._run(np.asarray(X, dtype=np.float64))

    def _run(self, X: Floats) -> SequentialStates:
        """Return the steps of rows that all buy something; a subclass may have a kernel for it."""
        return run_row_by_row(self, X)

    def score(self, X: NDArray[np.floating]) -> Floats:
        """Return class probabilities (n, K): that of the predicted class, the rest uniform."""
        states = self.run(X)
        return self.scores_after(states, states.steps)

    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which features each row buys, (n, n_features)."""
        states = self.run(X)
        return self.used_after(states, states.steps)

    def evaluations(self, X: NDArray[np.floating]) -> Ints:
        """Return the scans of the training rows for each row, (n,): one for each purchase."""
        return self.run(X).steps

    @property
    def most_evaluations(self) -> int:
        """The number of features that may be bought."""
        return int(self.support.sum())

    @property
    def support(self) -> NDArray[np.bool_]:
        """The features that may be bought, (n_features,)."""
        support = np.zeros(self.n_features, dtype=bool)
        support[self.order] = self.buys_anything
        return support

    def walk(self, price: Price | None = None) -> SequentialWalk:
        """Start one example; it chooses by the model's weighted prices and ignores `price`."""
        return SequentialWalk(self.start(), len(self.order))

    def scores_after(self, states: SequentialStates, steps: Ints) -> Floats:
        """Return class probabilities (n, K) of rows that stop after `steps` (n,) purchases."""
        scores = np.tile(self.prior, (len(steps), 1))
        buyers = np.flatnonzero(steps)
        last = (buyers, steps[buyers] - 1)
        scores[buyers] = class_probabilities(
            states.p_correct[last], states.predicted[last], self.n_scores
        )
        return scores

    def used_after(self, states: SequentialStates, steps: Ints) -> NDArray[np.bool_]:
        """Return what rows have bought after `steps` (n,) purchases, (n, n_features)."""
        used = np.zeros((len(steps), self.n_features), dtype=bool)
        row, step = np.nonzero(np.arange(states.feature.shape[1]) < steps[:, np.newaxis])
        used[row, states.feature[row, step]] = True
        return used


def run_row_by_row(model: SequentialModel, X: Floats) -> SequentialStates:
    """Return every step of every row, one `SequentialState` after another.

    Models without a kernel run this way, and those with one are tested against it.
    """
    states = SequentialStates.empty(len(X), len(model.order))
    for row, values in enumerate(X):
        state = model.start()
        state.run(values)
        states.steps[row] = steps = len(state.bought)
        states.feature[row, :steps] = state.bought
        states.estimate[row, :steps] = [step.estimate for step in state.history]
        states.p_correct[row, :steps] = [step.p_correct for step in state.history]
        states.predicted[row, :steps] = [step.predicted for step in state.history]
    return states


class SequentialWalk(Walk):
    """A walk that asks for one feature at a time.

    A value that arrives early waits until the state needs it, so what is read does not depend on
    the order of arrival.

    Parameters
    ----------
    state : SequentialState
    n_buyable : int
        Number of features that may be bought.
    """

    def __init__(self, state: SequentialState, n_buyable: int) -> None:
        self._state, self._n_buyable = state, n_buyable
        self._waiting: dict[int, float] = {}

    @property
    def asks(self) -> tuple[int, ...]:
        """The feature to buy next; empty when the example is done."""
        return () if self._state.next_feature is None else (self._state.next_feature,)

    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, requested or not, and move on as far as they allow."""
        self._waiting.update(values)
        while self._state.next_feature is not None and self._state.next_feature in self._waiting:
            self._state.observe(self._waiting.pop(self._state.next_feature))

    @property
    def touched(self) -> tuple[int, ...]:
        """Features bought so far, in the order of purchase."""
        return tuple(self._state.bought)

    @property
    def scores(self) -> Floats:
        """Class probabilities (K,) of the prediction so far."""
        return self._state.scores

    @property
    def evaluations(self) -> int:
        """Scans of the training rows so far: one for each purchase."""
        return len(self._state.bought)

    @property
    def end(self) -> End:
        """ "sure" if there was more to buy."""
        return "sure" if len(self._state.bought) < self._n_buyable else "complete"

    def evaluations_after(self, features: Collection[int]) -> int:
        """Return a scan for each purchase that these features, and those at hand, may allow."""
        return len(self._state.bought) + len({*features, *self._waiting})
