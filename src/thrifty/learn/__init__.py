"""The methods: estimators that learn a predictor and end in a frozen model."""

from __future__ import annotations

from thrifty.learn.budget_forest import BudgetForestClassifier
from thrifty.learn.greedy_miser_classifier import GreedyMiserClassifier
from thrifty.learn.greedy_miser_ranker import GreedyMiserRanker
from thrifty.learn.greedy_miser_regressor import GreedyMiserRegressor
from thrifty.learn.impurities import Impurity, Polynomial, Powers, ThresholdPairs
from thrifty.learn.point import Point

__all__ = [
    "BudgetForestClassifier",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Impurity",
    "Point",
    "Polynomial",
    "Powers",
    "ThresholdPairs",
]
