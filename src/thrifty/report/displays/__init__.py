"""Pictures in scikit-learn's style: a display holds the data, and `plot` draws them."""

from __future__ import annotations

from thrifty.report.displays.calibration_display import CalibrationDisplay
from thrifty.report.displays.curve_display import CurveDisplay
from thrifty.report.displays.purchase_display import PurchaseDisplay
from thrifty.report.displays.tree_display import TreeDisplay

__all__ = ["CalibrationDisplay", "CurveDisplay", "PurchaseDisplay", "TreeDisplay"]
