"""Simpler ways to the same end, to measure the methods against."""

from __future__ import annotations

from thrifty.learn.baselines.adaboost_rs import AdaBoostRSClassifier
from thrifty.learn.baselines.and_or import AndOrClassifier
from thrifty.learn.baselines.cronus import CronusClassifier
from thrifty.learn.baselines.early_exit import EarlyExitClassifier, ProximityExitClassifier
from thrifty.learn.baselines.feature_order import (
    FixedOrderClassifier,
    RandomOrderClassifier,
    ValueOfClassifier,
)
from thrifty.learn.baselines.gates import ConfidenceGateClassifier, UniformGateClassifier
from thrifty.learn.baselines.l1 import PricedL1Classifier, PricedL1Regressor
from thrifty.learn.baselines.learned_gates import DistilledClassifier, GreedyGateClassifier
from thrifty.learn.baselines.linear import (
    LinearSVMClassifier,
    PriceSubsetsClassifier,
    SingleCostClassifier,
)
from thrifty.learn.baselines.pruning import (
    CostComplexityClassifier,
    EarlyStoppingClassifier,
    FewerTreesClassifier,
    GreedyPruneClassifier,
)
from thrifty.learn.baselines.svm import LeastAngleSVC, RandomSubsetSVC, ReducedSVC

__all__ = [
    "AdaBoostRSClassifier",
    "AndOrClassifier",
    "ConfidenceGateClassifier",
    "CostComplexityClassifier",
    "CronusClassifier",
    "DistilledClassifier",
    "EarlyExitClassifier",
    "EarlyStoppingClassifier",
    "FewerTreesClassifier",
    "FixedOrderClassifier",
    "GreedyGateClassifier",
    "GreedyPruneClassifier",
    "LeastAngleSVC",
    "LinearSVMClassifier",
    "PriceSubsetsClassifier",
    "PricedL1Classifier",
    "PricedL1Regressor",
    "ProximityExitClassifier",
    "RandomOrderClassifier",
    "RandomSubsetSVC",
    "ReducedSVC",
    "SingleCostClassifier",
    "UniformGateClassifier",
    "ValueOfClassifier",
]
