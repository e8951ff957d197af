"""Thrifty: predictors that pay for what they look at.

Names are loaded when they are first used, so that `from thrifty import load` needs numpy only
and the command line starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.bundle import (
        OperatingPoints,
        Predictor,
        describe,
        load,
        load_points,
        score_batches,
        unpack_used,
    )
    from thrifty.costs import Prices
    from thrifty.errors import (
        BudgetError,
        BundleError,
        DataError,
        LedgerError,
        PriceError,
        ResumeError,
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
        progress,
        trace,
    )
    from thrifty.kernels.threads import threads
    from thrifty.learn import (
        AnytimeClassifier,
        BoostedFamily,
        BudgetForestClassifier,
        Call,
        CompressedSVC,
        EdgeCloudClassifier,
        EdgeCloudRegressor,
        GatedClassifier,
        GatedRanker,
        GatedRegressor,
        GreedyMiserClassifier,
        GreedyMiserRanker,
        GreedyMiserRegressor,
        Impurity,
        LadderClassifier,
        LadderRanker,
        LadderRegressor,
        LeavesFamily,
        LinearFamily,
        MarginNeighborsClassifier,
        Point,
        PolicyClassifier,
        Polynomial,
        Powers,
        PrunedForestClassifier,
        ThresholdPairs,
    )
    from thrifty.learn.adopt import adopt
    from thrifty.learn.cost_tree.estimators import (
        CostCascadeClassifier,
        CostTreeClassifier,
        CostTreeRegressor,
    )
    from thrifty.learn.cost_tree.ranker import CostTreeRanker
    from thrifty.learn.pipeline import Pipeline
    from thrifty.learn.short_circuit import short_circuit
    from thrifty.learn.submodular_tree.estimators import (
        SubmodularTreeClassifier,
        SubmodularTreeRegressor,
    )
    from thrifty.long_table import Table
    from thrifty.report.displays import (
        CalibrationDisplay,
        CurveDisplay,
        PurchaseDisplay,
        TreeDisplay,
    )
    from thrifty.serve import OnlineGate

__version__ = "0.1.0"

__all__ = [
    "AnytimeClassifier",
    "BoostedFamily",
    "BudgetClassifier",
    "BudgetError",
    "BudgetForestClassifier",
    "BudgetRanker",
    "BudgetRegressor",
    "BundleError",
    "CalibrationDisplay",
    "Call",
    "CompressedSVC",
    "CostCascadeClassifier",
    "CostTreeClassifier",
    "CostTreeRanker",
    "CostTreeRegressor",
    "Curve",
    "CurveDisplay",
    "CurvePoint",
    "DataError",
    "EdgeCloudClassifier",
    "EdgeCloudRegressor",
    "GatedClassifier",
    "GatedRanker",
    "GatedRegressor",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Impurity",
    "LadderClassifier",
    "LadderRanker",
    "LadderRegressor",
    "LeavesFamily",
    "LedgerError",
    "LinearFamily",
    "MarginNeighborsClassifier",
    "OnlineGate",
    "OperatingPoints",
    "Pipeline",
    "Point",
    "PolicyClassifier",
    "Polynomial",
    "Powers",
    "Predictor",
    "PriceError",
    "Prices",
    "PrunedForestClassifier",
    "PurchaseDisplay",
    "ResumeError",
    "SourceError",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
    "Table",
    "ThresholdPairs",
    "ThriftyError",
    "TreeDisplay",
    "__version__",
    "adopt",
    "blend",
    "choose",
    "compare",
    "describe",
    "load",
    "load_points",
    "progress",
    "score_batches",
    "short_circuit",
    "threads",
    "trace",
    "unpack_used",
]

# Where each public name lives; the block above says the same to type checkers.
_HOMES = {
    "AnytimeClassifier": "thrifty.learn",
    "BoostedFamily": "thrifty.learn",
    "BudgetClassifier": "thrifty.frontier",
    "BudgetError": "thrifty.errors",
    "BudgetForestClassifier": "thrifty.learn",
    "BudgetRanker": "thrifty.frontier",
    "BudgetRegressor": "thrifty.frontier",
    "BundleError": "thrifty.errors",
    "CalibrationDisplay": "thrifty.report.displays",
    "Call": "thrifty.learn",
    "CompressedSVC": "thrifty.learn",
    "CostCascadeClassifier": "thrifty.learn.cost_tree.estimators",
    "CostTreeClassifier": "thrifty.learn.cost_tree.estimators",
    "CostTreeRanker": "thrifty.learn.cost_tree.ranker",
    "CostTreeRegressor": "thrifty.learn.cost_tree.estimators",
    "Curve": "thrifty.frontier",
    "CurveDisplay": "thrifty.report.displays",
    "CurvePoint": "thrifty.frontier",
    "DataError": "thrifty.errors",
    "EdgeCloudClassifier": "thrifty.learn",
    "EdgeCloudRegressor": "thrifty.learn",
    "GatedClassifier": "thrifty.learn",
    "GatedRanker": "thrifty.learn",
    "GatedRegressor": "thrifty.learn",
    "GreedyMiserClassifier": "thrifty.learn",
    "GreedyMiserRanker": "thrifty.learn",
    "GreedyMiserRegressor": "thrifty.learn",
    "Impurity": "thrifty.learn",
    "LadderClassifier": "thrifty.learn",
    "LadderRanker": "thrifty.learn",
    "LadderRegressor": "thrifty.learn",
    "LeavesFamily": "thrifty.learn",
    "LinearFamily": "thrifty.learn",
    "MarginNeighborsClassifier": "thrifty.learn",
    "OnlineGate": "thrifty.serve",
    "OperatingPoints": "thrifty.bundle",
    "Pipeline": "thrifty.learn.pipeline",
    "Point": "thrifty.learn",
    "PolicyClassifier": "thrifty.learn",
    "Polynomial": "thrifty.learn",
    "Powers": "thrifty.learn",
    "Predictor": "thrifty.bundle",
    "LedgerError": "thrifty.errors",
    "PriceError": "thrifty.errors",
    "Prices": "thrifty.costs",
    "PrunedForestClassifier": "thrifty.learn",
    "PurchaseDisplay": "thrifty.report.displays",
    "ResumeError": "thrifty.errors",
    "SourceError": "thrifty.errors",
    "SubmodularTreeClassifier": "thrifty.learn.submodular_tree.estimators",
    "SubmodularTreeRegressor": "thrifty.learn.submodular_tree.estimators",
    "Table": "thrifty.long_table",
    "ThresholdPairs": "thrifty.learn",
    "ThriftyError": "thrifty.errors",
    "TreeDisplay": "thrifty.report.displays",
    "adopt": "thrifty.learn.adopt",
    "blend": "thrifty.frontier",
    "choose": "thrifty.frontier",
    "compare": "thrifty.frontier",
    "describe": "thrifty.bundle",
    "load": "thrifty.bundle",
    "load_points": "thrifty.bundle",
    "progress": "thrifty.frontier",
    "score_batches": "thrifty.bundle",
    "short_circuit": "thrifty.learn.short_circuit",
    "threads": "thrifty.kernels.threads",
    "trace": "thrifty.frontier",
    "unpack_used": "thrifty.bundle",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
