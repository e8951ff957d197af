"""One operating point of a method: what it costs and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor

__all__ = ["Heard", "Point"]

# Numbers that a point keeps at most: 1 MB.
MOST_KEPT = 2**17


class Heard(NamedTuple):
    """What a model told the validation rows while the path was made: scores and bills."""

    scores: NDArray[np.float64]
    bills: NDArray[np.float64]

    @property
    def is_small(self) -> bool:
        """Whether there is room to keep it for every point of a path."""
        return self.scores.size + self.bills.size <= MOST_KEPT


@dataclass(frozen=True)
class Point:
    """A frozen model on the cost/quality curve.

    Parameters
    ----------
    knob : dict
        What the method turned to get here.
    model : Predictor
        The frozen model, ready to predict, walk and save.
    bill : float
        Mean bill on the validation rows.
    quality : float
        What `score` gives on the validation rows; larger is better.
    heard : Heard or None
        Scores and bills of the validation rows, where the path had them at hand and they are
        small: who measures the point on the same rows need not ask the model again.
    """

    knob: dict[str, Any]
    model: Predictor
    bill: float
    quality: float
    heard: Heard | None = field(default=None, repr=False, compare=False)
