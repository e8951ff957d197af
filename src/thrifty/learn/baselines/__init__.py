"""Simpler and older methods to compare with: one knob each, the same interface as the methods.

Baselines that train from a table derive from `BaselineEstimator` (base.py). Its `fit` calls

1. `_read_training`: read, encode and weight the table,
2. `_fit_path`: do all training that does not depend on the knob (`_fit_binary` for two classes;
   more classes are trained one-vs-rest),
3. `FittedPath.model`: make the frozen model for the value of the knob.

`path` calls `FittedPath.model` for each of `FittedPath.knobs`. The others derive from the base
class of the method that they are compared with.

================= ==================================================================================
file              baselines
================= ==================================================================================
`early_exit`      boosted trees with exits by score and by proximity (Cambazoglu et al. 2010)
`cronus`          boosted trees reordered into a cascade (Chen et al. 2012)
`and_or`          linear stages trained together (Dundar and Bi 2007)
`adaboost_rs`     a random sample of AdaBoost's trees (Reyzin 2011)
`price_subsets`   boosting on the features up to a price (Xu 2014, sec. 2.1.4)
`l1`              L1 norms weighted by prices (Xu 2014, sec. 2.1.4 and 3.3)
`linear`          one priced linear classifier (Xu 2014, sec. 3.7.2), a linear SVM (sec. 2.2.4)
`pruning`         smaller forests, to compare with BudgetPrune (Nan 2018, ch. 4)
`gates`           gates by confidence and at random (Nan and Saligrama 2017, sec. 5 and 7.7)
`learned_gates`   a gate that predicts errors, and a distilled model (Nan 2018, sec. 5.1 and 5.4)
`feature_order`   feature orders to compare with FMCC (Nan 2018, sec. 2.4)
`svm`             smaller SVMs, to compare with CVM (Xu 2014, sec. 4.4)
================= ==================================================================================

Shared parts: `boosted` (plain boosted trees), `stage_inputs` (columns or trees as inputs of linear
stages), `priced_weights` (a linear classifier that pays for its inputs).
"""

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
from thrifty.learn.baselines.linear import LinearSVMClassifier, SingleCostClassifier
from thrifty.learn.baselines.price_subsets import PriceSubsetsClassifier
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
