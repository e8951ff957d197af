"""The methods: estimators that learn a predictor and end in a frozen model."""

from __future__ import annotations

from thrifty.learn.anytime_classifier import AnytimeClassifier
from thrifty.learn.budget_forest import BudgetForestClassifier
from thrifty.learn.call import Call
from thrifty.learn.compressed_svc import CompressedSVC
from thrifty.learn.cost_cascade import CostCascadeClassifier
from thrifty.learn.cost_tree import CostTreeClassifier, CostTreeRegressor
from thrifty.learn.edge_cloud import EdgeCloudClassifier
from thrifty.learn.gate_boosted import BoostedFamily
from thrifty.learn.gate_leaves import LeavesFamily
from thrifty.learn.gate_linear import LinearFamily
from thrifty.learn.gated_classifier import GatedClassifier
from thrifty.learn.greedy_miser_classifier import GreedyMiserClassifier
from thrifty.learn.greedy_miser_ranker import GreedyMiserRanker
from thrifty.learn.greedy_miser_regressor import GreedyMiserRegressor
from thrifty.learn.impurities import Impurity, Polynomial, Powers, ThresholdPairs
from thrifty.learn.ladder_classifier import LadderClassifier
from thrifty.learn.ladder_regressor import LadderRegressor
from thrifty.learn.margin_neighbors import MarginNeighborsClassifier
from thrifty.learn.point import Point
from thrifty.learn.pruned_forest import PrunedForestClassifier
from thrifty.learn.submodular_tree import SubmodularTreeClassifier, SubmodularTreeRegressor

__all__ = [
    "AnytimeClassifier",
    "BoostedFamily",
    "BudgetForestClassifier",
    "Call",
    "CompressedSVC",
    "CostCascadeClassifier",
    "CostTreeClassifier",
    "CostTreeRegressor",
    "EdgeCloudClassifier",
    "GatedClassifier",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Impurity",
    "LadderClassifier",
    "LadderRegressor",
    "LeavesFamily",
    "LinearFamily",
    "MarginNeighborsClassifier",
    "Point",
    "Polynomial",
    "Powers",
    "PrunedForestClassifier",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
    "ThresholdPairs",
]
