"""Curves and choice: what money buys, and which point to take within a budget."""

from __future__ import annotations

from thrifty.frontier.baselines import Baseline
from thrifty.frontier.blending import blend
from thrifty.frontier.budget_estimators import BudgetClassifier, BudgetRanker, BudgetRegressor
from thrifty.frontier.choice import Alternative, affordable, cheaper_alternative, choose
from thrifty.frontier.comparison import Comparison, compare
from thrifty.frontier.curve import Curve, CurvePoint, pareto_optimal
from thrifty.frontier.fit_budget import BudgetFit, fit_budget
from thrifty.frontier.fit_progress import Progress, progress
from thrifty.frontier.race import LearnerResult
from thrifty.frontier.results import TestPoint, TestResult, TotalCost
from thrifty.frontier.tracing import trace

__all__ = [
    "Alternative",
    "Baseline",
    "BudgetClassifier",
    "BudgetFit",
    "BudgetRanker",
    "BudgetRegressor",
    "Comparison",
    "Curve",
    "CurvePoint",
    "LearnerResult",
    "Progress",
    "TestPoint",
    "TestResult",
    "TotalCost",
    "affordable",
    "blend",
    "cheaper_alternative",
    "choose",
    "compare",
    "fit_budget",
    "pareto_optimal",
    "progress",
    "trace",
]
