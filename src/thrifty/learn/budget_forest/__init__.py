"""BudgetRF: random forests of cheap trees (Nan et al. 2015; Nan 2018, ch. 3).

What is where:

- `classifier.py`: the estimator, algorithm 1: add trees while the mean bill is within the budget.
- `grower.py`: GreedyTree of algorithm 1: one tree from one seed; frozen trees.
- `cluster.py`: the same by the workers of a cluster, which share the trees.
- `impurities.py`: the admissible impurities, eq. 11 and Nan 2018, eq. 3.12 and 3.13.
- `reference_tree.py`: the same algorithm in plain NumPy, for any impurity.
- `prefixes.py`: bills and errors of every prefix of a forest, in one pass.

`fit` calls, in this order: `TrainingSet.read` (encode), `Binned.of` (bin), `TreeGrower.grow` (trees
from seeds drawn up front), `freeze_trees`; with a budget, `PrefixScorer.add` after each batch.
`path` grows one forest for each alpha and yields its prefixes.
"""

from __future__ import annotations

from thrifty.learn.budget_forest.classifier import BudgetForestClassifier
from thrifty.learn.budget_forest.impurities import Impurity, Polynomial, Powers, ThresholdPairs

__all__ = ["BudgetForestClassifier", "Impurity", "Polynomial", "Powers", "ThresholdPairs"]
