"""Curves and choice: which point of a path to take under a budget."""

from __future__ import annotations

from thrifty.frontier.choice import choose, undominated
from thrifty.frontier.fitting import BudgetFit, Figures, fit_budget

__all__ = ["BudgetFit", "Figures", "choose", "fit_budget", "undominated"]
