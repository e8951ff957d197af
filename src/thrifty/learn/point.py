"""One operating point of a method: what it costs and how good it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thrifty.bundle import Predictor

__all__ = ["Point"]


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
    """

    knob: dict[str, Any]
    model: Predictor
    bill: float
    quality: float
