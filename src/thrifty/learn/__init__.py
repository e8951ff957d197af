"""The methods: estimators that learn a predictor and end in a frozen model."""

from __future__ import annotations

from thrifty.learn.anytime.classifier import AnytimeClassifier
from thrifty.learn.boosting.classifier import GreedyMiserClassifier
from thrifty.learn.boosting.ranker import GreedyMiserRanker
from thrifty.learn.boosting.regressor import GreedyMiserRegressor
from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import Impurity, Polynomial, Powers, ThresholdPairs
from thrifty.learn.cost_tree.estimators import (
    CostCascadeClassifier,
    CostTreeClassifier,
    CostTreeRegressor,
)
from thrifty.learn.edge_cloud.classifier import EdgeCloudClassifier
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.classifier import GatedClassifier
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.ladder.classifier import LadderClassifier
from thrifty.learn.ladder.regressor import LadderRegressor
from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
from thrifty.learn.point import Point
from thrifty.learn.pruning.classifier import PrunedForestClassifier
from thrifty.learn.submodular_tree.estimators import (
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)
from thrifty.learn.svm.classifier import CompressedSVC

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
