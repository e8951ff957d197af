"""Simpler ways to the same end, to measure the methods against."""

from __future__ import annotations

from thrifty.learn.rivals.cost_complexity import CostComplexityClassifier
from thrifty.learn.rivals.early_stopping import EarlyStoppingClassifier
from thrifty.learn.rivals.fewer_trees import FewerTreesClassifier
from thrifty.learn.rivals.greedy_prune import GreedyPruneClassifier

__all__ = [
    "CostComplexityClassifier",
    "EarlyStoppingClassifier",
    "FewerTreesClassifier",
    "GreedyPruneClassifier",
]
