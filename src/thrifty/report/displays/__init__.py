"""Plots in the style of scikit-learn's displays: an object holds the data, `plot` draws them."""

from __future__ import annotations

from thrifty.report.displays.calibration_display import CalibrationDisplay
from thrifty.report.displays.curve_display import CurveDisplay
from thrifty.report.displays.purchase_display import PurchaseDisplay
from thrifty.report.displays.tree_display import TreeDisplay

__all__ = ["CalibrationDisplay", "CurveDisplay", "PurchaseDisplay", "TreeDisplay"]
