"""BudgetPrune: prune a forest for a budget (Nan 2018, ch. 4).

What is where:

- `classifier.py`: the estimator; the best prunings for all penalties at once.
- `base.py`: what it shares with the baselines: reading a fitted forest or training one.
- `closure_problem.py`: the integer program IP as a maximum closure, and pruned forests.
- `feature_drops.py`: features given up one after another, to fill the largest jump of the bill.
- `primal_dual.py`: algorithm 3, the approximation of the thesis, with its gap.

`fit` calls, in this order: `read_forest` or a random forest of scikit-learn, `node_gains` (errors
that each split saves), `ClosureProblem.of` (what rows pay), `PruningPath.solve` (one parametric
minimum cut in `kernels.closure`), `prune`. `path` yields a forest for each step of the bill.
"""

from __future__ import annotations

from thrifty.learn.pruning.classifier import PrunedForestClassifier

__all__ = ["PrunedForestClassifier"]
