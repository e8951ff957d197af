"""Curves and choice: what money buys, and which point to take under a budget."""

from __future__ import annotations

from thrifty.frontier.blending import blend
from thrifty.frontier.budget_estimators import BudgetClassifier, BudgetRanker, BudgetRegressor
from thrifty.frontier.choice import choose, promised, undominated
from thrifty.frontier.comparing import compare
from thrifty.frontier.comparison import Comparison
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.fit_budget import BudgetFit, Figures, fit_budget
from thrifty.frontier.race import Lap
from thrifty.frontier.splits import Rows
from thrifty.frontier.tracing import trace

__all__ = [
    "BudgetClassifier",
    "BudgetFit",
    "BudgetRanker",
    "BudgetRegressor",
    "Comparison",
    "Curve",
    "CurvePoint",
    "Figures",
    "Lap",
    "Rows",
    "blend",
    "choose",
    "compare",
    "fit_budget",
    "promised",
    "trace",
    "undominated",
]
