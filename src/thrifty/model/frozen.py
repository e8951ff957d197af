"""The seam that every frozen model shares: three faces and a state.

A frozen model knows columns by position and values as floats (categories are codes,
a missing value is NaN). Names, classes and prices belong to the bundle.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["Frozen", "Price", "Walk"]

# What feature j would cost now: the walk orders its questions by it. The model
# itself never learns the prices, so whoever starts the walk hands them in.
Price = Callable[[int], float]


class Walk(ABC):
    """One example asking for features by position; it does no input or output.

    A walk is deterministic: the values told so far are its whole state.
    """

    @property
    @abstractmethod
    def asks(self) -> tuple[int, ...]:
        """Features wanted now, the most useful per price first; empty when done."""

    @abstractmethod
    def tell(self, values: Mapping[int, float]) -> None:
        """Take values, asked for or not, and move on as far as they allow."""

    @property
    @abstractmethod
    def touched(self) -> tuple[int, ...]:
        """Features the evaluation has read so far, in the order of first reading."""

    @property
    @abstractmethod
    def scores(self) -> NDArray[np.float64]:
        """Scores (k,) of the best answer so far; once done, the row of `Frozen.score`."""

    @property
    @abstractmethod
    def evaluations(self) -> int:
        """Evaluations made so far; once done, the row of `Frozen.evaluations`."""


class Frozen(ABC):
    """A trained model that only reads: arrays that no one writes to any more."""

    kind: ClassVar[str]
    """Name of this kind of model in a model file."""

    n_features: int
    """Number of columns of the table."""

    @property
    @abstractmethod
    def n_scores(self) -> int:
        """Number of classes that `score` tells apart; 1 for a model of values."""

    @abstractmethod
    def score(self, X: NDArray[np.floating]) -> NDArray[np.float64]:
        """Class probabilities (n, K), or values (n,) for regression and ranking."""

    @abstractmethod
    def used(self, X: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Which features each row touched, (n, n_features)."""

    @property
    @abstractmethod
    def support(self) -> NDArray[np.bool_]:
        """Which features any example may touch at all, (n_features,)."""

    @abstractmethod
    def evaluations(self, X: NDArray[np.floating]) -> NDArray[np.int64]:
        """How many evaluations (trees, kernels) each row took, (n,)."""

    @property
    @abstractmethod
    def most_evaluations(self) -> int:
        """How many evaluations an example takes at most."""

    @abstractmethod
    def walk(self, price: Price | None = None) -> Walk:
        """Start one example; `price` tells what a feature would cost now."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file keeps: plain JSON values, and arrays by name."""

    @classmethod
    @abstractmethod
    def build(cls, plain: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Audit what a model file holds and build the model from it.

        Raises
        ------
        BundleError
            If anything is missing, out of range, cyclic, misshapen or not finite.
        """
