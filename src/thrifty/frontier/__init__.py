"""Curves and choice: what money buys, and which point to take under a budget."""

from __future__ import annotations

from thrifty.frontier.blending import blend
from thrifty.frontier.budget_classifier import BudgetClassifier
from thrifty.frontier.budget_ranker import BudgetRanker
from thrifty.frontier.budget_regressor import BudgetRegressor
from thrifty.frontier.choice import choose, promised, undominated
from thrifty.frontier.comparing import compare
from thrifty.frontier.comparison import Comparison
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.fitting import BudgetFit, Figures, fit_budget
from thrifty.frontier.parts import Rows
from thrifty.frontier.race import Lap
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
