"""Points and curves made by hand."""

from __future__ import annotations

import numpy as np

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.frontier import Curve, CurvePoint
from thrifty.model import Forest

CONSTANT = Forest.constant([0.0], "sum", n_features=1)
MODEL = Predictor(CONSTANT, Schema.of([[0.0]]), Prices([1.0], unit="CAD").bind(1))


def point(bill, quality, name="", **changes):
    """Make a point whose rows all have the same bill and gain, unless given otherwise."""
    given = {
        "learner": "hand",
        "knob": {"name": name} if name else {},
        "model": MODEL,
        "bill": float(bill),
        "quality": float(quality),
        "bills": np.full(20, float(bill)),
        "bill_interval": (float(bill), float(bill)),
        "quality_interval": (quality - 0.1, quality + 0.1),
        "ceiling": float(bill),
        "gains": np.full(20, float(quality)),
        **changes,
    }
    return CurvePoint(**given)


def curve(*points, **changes):
    given = {"scoring": "accuracy", "task": "classification", "unit": "CAD", "full": 100.0}
    return Curve(points, **{**given, **changes})
