"""Thrifty: predictors that pay for what they look at.

Names are loaded when they are first used, so that `from thrifty import load` needs numpy only
and the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.bundle import Predictor, describe, load
    from thrifty.costs import Prices
    from thrifty.errors import (
        BudgetError,
        BundleError,
        DataError,
        PriceError,
        SourceError,
        ThriftyError,
    )
    from thrifty.frontier import (
        BudgetClassifier,
        BudgetRanker,
        BudgetRegressor,
        Curve,
        CurvePoint,
        blend,
        choose,
        compare,
        trace,
    )
    from thrifty.kernels.threads import threads
    from thrifty.learn import (
        AnytimeClassifier,
        BudgetForestClassifier,
        CompressedSVC,
        GreedyMiserClassifier,
        GreedyMiserRanker,
        GreedyMiserRegressor,
        Impurity,
        LadderClassifier,
        LadderRegressor,
        MarginNeighborsClassifier,
        Point,
        Polynomial,
        Powers,
        PrunedForestClassifier,
        ThresholdPairs,
    )
    from thrifty.learn.adopt import adopt
    from thrifty.learn.short_circuit import short_circuit
    from thrifty.report.displays import CalibrationDisplay, CurveDisplay, PurchaseDisplay

__version__ = "0.1.0"

__all__ = [
    "AnytimeClassifier",
    "BudgetClassifier",
    "BudgetError",
    "BudgetForestClassifier",
    "BudgetRanker",
    "BudgetRegressor",
    "BundleError",
    "CalibrationDisplay",
    "CompressedSVC",
    "Curve",
    "CurveDisplay",
    "CurvePoint",
    "DataError",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Impurity",
    "LadderClassifier",
    "LadderRegressor",
    "MarginNeighborsClassifier",
    "Point",
    "Polynomial",
    "Powers",
    "Predictor",
    "PriceError",
    "Prices",
    "PrunedForestClassifier",
    "PurchaseDisplay",
    "SourceError",
    "ThresholdPairs",
    "ThriftyError",
    "__version__",
    "adopt",
    "blend",
    "choose",
    "compare",
    "describe",
    "load",
    "short_circuit",
    "threads",
    "trace",
]

# Where each public name lives; the block above says the same to type checkers.
_HOMES = {
    "AnytimeClassifier": "thrifty.learn",
    "BudgetClassifier": "thrifty.frontier",
    "BudgetError": "thrifty.errors",
    "BudgetForestClassifier": "thrifty.learn",
    "BudgetRanker": "thrifty.frontier",
    "BudgetRegressor": "thrifty.frontier",
    "BundleError": "thrifty.errors",
    "CalibrationDisplay": "thrifty.report.displays",
    "CompressedSVC": "thrifty.learn",
    "Curve": "thrifty.frontier",
    "CurveDisplay": "thrifty.report.displays",
    "CurvePoint": "thrifty.frontier",
    "DataError": "thrifty.errors",
    "GreedyMiserClassifier": "thrifty.learn",
    "GreedyMiserRanker": "thrifty.learn",
    "GreedyMiserRegressor": "thrifty.learn",
    "Impurity": "thrifty.learn",
    "LadderClassifier": "thrifty.learn",
    "LadderRegressor": "thrifty.learn",
    "MarginNeighborsClassifier": "thrifty.learn",
    "Point": "thrifty.learn",
    "Polynomial": "thrifty.learn",
    "Powers": "thrifty.learn",
    "Predictor": "thrifty.bundle",
    "PriceError": "thrifty.errors",
    "Prices": "thrifty.costs",
    "PrunedForestClassifier": "thrifty.learn",
    "PurchaseDisplay": "thrifty.report.displays",
    "SourceError": "thrifty.errors",
    "ThresholdPairs": "thrifty.learn",
    "ThriftyError": "thrifty.errors",
    "adopt": "thrifty.learn.adopt",
    "blend": "thrifty.frontier",
    "choose": "thrifty.frontier",
    "compare": "thrifty.frontier",
    "describe": "thrifty.bundle",
    "load": "thrifty.bundle",
    "short_circuit": "thrifty.learn.short_circuit",
    "threads": "thrifty.kernels.threads",
    "trace": "thrifty.frontier",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
