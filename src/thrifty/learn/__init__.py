"""The methods: estimators that learn a predictor and end in a frozen model."""

from __future__ import annotations

from thrifty.learn.anytime_classifier import AnytimeClassifier
from thrifty.learn.budget_forest import BudgetForestClassifier
from thrifty.learn.compressed_svc import CompressedSVC
from thrifty.learn.greedy_miser_classifier import GreedyMiserClassifier
from thrifty.learn.greedy_miser_ranker import GreedyMiserRanker
from thrifty.learn.greedy_miser_regressor import GreedyMiserRegressor
from thrifty.learn.impurities import Impurity, Polynomial, Powers, ThresholdPairs
from thrifty.learn.ladder_classifier import LadderClassifier
from thrifty.learn.ladder_regressor import LadderRegressor
from thrifty.learn.margin_neighbors import MarginNeighborsClassifier
from thrifty.learn.point import Point
from thrifty.learn.pruned_forest import PrunedForestClassifier

__all__ = [
    "AnytimeClassifier",
    "BudgetForestClassifier",
    "CompressedSVC",
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
    "PrunedForestClassifier",
    "ThresholdPairs",
]
