"""Validation rows, as a fit or a path uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.losses import Loss

__all__ = ["HeldOut"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Encoded rows, the loss bound to their target, and the quality of outputs (n, k) on them."""

    X: NDArray[np.floating]
    loss: Loss
    quality: Callable[[NDArray[np.float64]], float]
