"""Simpler ways to the same end, to measure the methods against."""

from __future__ import annotations

from thrifty.learn.rivals.adaboost_rs import AdaBoostRSClassifier
from thrifty.learn.rivals.and_or import AndOrClassifier
from thrifty.learn.rivals.confidence_gate import ConfidenceGateClassifier
from thrifty.learn.rivals.cost_complexity import CostComplexityClassifier
from thrifty.learn.rivals.cronus import CronusClassifier
from thrifty.learn.rivals.distilled import DistilledClassifier
from thrifty.learn.rivals.early_exit import EarlyExitClassifier
from thrifty.learn.rivals.early_stopping import EarlyStoppingClassifier
from thrifty.learn.rivals.fewer_trees import FewerTreesClassifier
from thrifty.learn.rivals.fixed_order import FixedOrderClassifier
from thrifty.learn.rivals.greedy_gate import GreedyGateClassifier
from thrifty.learn.rivals.greedy_prune import GreedyPruneClassifier
from thrifty.learn.rivals.least_angle_svc import LeastAngleSVC
from thrifty.learn.rivals.linear_svm import LinearSVMClassifier
from thrifty.learn.rivals.price_subsets import PriceSubsetsClassifier
from thrifty.learn.rivals.priced_l1 import PricedL1Classifier
from thrifty.learn.rivals.priced_l1_regressor import PricedL1Regressor
from thrifty.learn.rivals.proximity_exit import ProximityExitClassifier
from thrifty.learn.rivals.random_order import RandomOrderClassifier
from thrifty.learn.rivals.random_svc import RandomSubsetSVC
from thrifty.learn.rivals.reduced_svc import ReducedSVC
from thrifty.learn.rivals.single_cost import SingleCostClassifier
from thrifty.learn.rivals.uniform_gate import UniformGateClassifier
from thrifty.learn.rivals.value_of_classifier import ValueOfClassifier

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
