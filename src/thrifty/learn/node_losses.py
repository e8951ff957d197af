"""Losses of one linear output: value and two derivatives for each row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["HalfSquare", "Logistic", "NodeLoss"]

Floats = NDArray[np.float64]


class NodeLoss(ABC):
    """A loss of outputs (n,) or (n, N) on targets that go with their rows."""

    link: ClassVar[str]
    steps: ClassVar[int]
    """Newton steps that a leaf takes at a time; one where the loss is a parabola."""
    curvature: ClassVar[float]
    """Largest second derivative."""
    hold: ClassVar[float]
    """Ridge on the bias: keeps a node finite that has no rows, or rows of one class."""

    @abstractmethod
    def value(self, f: Floats, y: Floats) -> Floats:
        """Loss of each row."""

    @abstractmethod
    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """First and second derivative by the output."""


class HalfSquare(NodeLoss):
    """Half the squared error; for two classes, of targets -1 and 1."""

    steps = 1
    curvature = 1.0
    hold = 1e-9

    def __init__(self, link: str) -> None:
        self.link = link  # type: ignore[misc]

    def value(self, f: Floats, y: Floats) -> Floats:
        """Half the square."""
        return np.asarray(0.5 * np.square(f - y))

    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """The error, and one."""
        return f - y, np.ones_like(f)


class Logistic(NodeLoss):
    """Log-loss of targets -1 and 1."""

    link = "sigmoid"
    steps = 4
    curvature = 0.25
    hold = 1e-4

    def value(self, f: Floats, y: Floats) -> Floats:
        """The negative logarithm of the probability of the target."""
        return np.asarray(np.logaddexp(0.0, -y * f))

    def slopes(self, f: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Minus target times the probability of the other class, and its variance."""
        small = np.exp(-np.abs(f))
        other = np.where(y * f >= 0, small, 1.0) / (1.0 + small)
        return -y * other, small / np.square(1.0 + small)
