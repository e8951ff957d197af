"""Simpler ways to the same end, to measure the methods against."""

from __future__ import annotations

from thrifty.learn.rivals.cost_complexity import CostComplexityClassifier
from thrifty.learn.rivals.early_stopping import EarlyStoppingClassifier
from thrifty.learn.rivals.fewer_trees import FewerTreesClassifier
from thrifty.learn.rivals.fixed_order import FixedOrderClassifier
from thrifty.learn.rivals.greedy_prune import GreedyPruneClassifier
from thrifty.learn.rivals.least_angle_svc import LeastAngleSVC
from thrifty.learn.rivals.random_order import RandomOrderClassifier
from thrifty.learn.rivals.random_svc import RandomSubsetSVC
from thrifty.learn.rivals.reduced_svc import ReducedSVC
from thrifty.learn.rivals.value_of_classifier import ValueOfClassifier

__all__ = [
    "CostComplexityClassifier",
    "EarlyStoppingClassifier",
    "FewerTreesClassifier",
    "FixedOrderClassifier",
    "GreedyPruneClassifier",
    "LeastAngleSVC",
    "RandomOrderClassifier",
    "RandomSubsetSVC",
    "ReducedSVC",
    "ValueOfClassifier",
]
