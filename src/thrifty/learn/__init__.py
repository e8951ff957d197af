"""The methods: estimators that end in a frozen model, one folder for each family.

| folder | estimators | source |
|---|---|---|
| `boosting` | `GreedyMiserClassifier`, `-Regressor`, `-Ranker` | Xu 2014, ch. 2 |
| `budget_forest` | `BudgetForestClassifier` | Nan et al. 2015 |
| `pruning` | `PrunedForestClassifier` | Nan 2018, ch. 4 |
| `ladder` | `LadderClassifier`, `-Regressor`, `-Ranker` | Thrifty |
| `policy` | `PolicyClassifier` | Thrifty; after Covert et al. 2023, Gadgil et al. 2024 |
| `cost_tree` | `CostTreeClassifier`, `-Regressor`, `CostCascadeClassifier` | Xu 2014, ch. 3 |
| `submodular_tree` | `SubmodularTreeClassifier`, `-Regressor` | Kusner et al. 2014 |
| `anytime` | `AnytimeClassifier` | Xu 2014 |
| `neighbors` | `MarginNeighborsClassifier` | Nan 2018 |
| `svm` | `CompressedSVC` | Xu 2014, ch. 4 |
| `gates` | `GatedClassifier`, `GatedRegressor`, `GatedRanker`, `Call` | Nan 2018, ch. 5 |
| `edge_cloud` | `EdgeCloudClassifier`, `EdgeCloudRegressor` | Nan 2018 |
| `adopt` | `adopt`: models of other libraries | |
| `baselines` | what the papers compare with | |

The modules beside the folders are shared by all: `dataset` (tables, read once), `base` (what every
estimator does), `point` (operating points), `crossfit` (scores out of fold), `extra_trees`,
`linear`, `binned`, `purchases`, `losses`, `folds`, `calibration`, `encoding`, `targets`. Families
build on the layers below them and not on their siblings; the contract is in `pyproject.toml`.
"""

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
from thrifty.learn.cost_tree.ranker import CostTreeRanker
from thrifty.learn.edge_cloud.classifier import EdgeCloudClassifier
from thrifty.learn.edge_cloud.regressor import EdgeCloudRegressor
from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.classifier import GatedClassifier
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.gates.ranker import GatedRanker
from thrifty.learn.gates.regressor import GatedRegressor
from thrifty.learn.ladder.classifier import LadderClassifier
from thrifty.learn.ladder.ranker import LadderRanker
from thrifty.learn.ladder.regressor import LadderRegressor
from thrifty.learn.neighbors.classifier import MarginNeighborsClassifier
from thrifty.learn.point import Point
from thrifty.learn.policy.classifier import PolicyClassifier
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
    "CostTreeRanker",
    "CostTreeRegressor",
    "EdgeCloudClassifier",
    "EdgeCloudRegressor",
    "GatedClassifier",
    "GatedRanker",
    "GatedRegressor",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Impurity",
    "LadderClassifier",
    "LadderRanker",
    "LadderRegressor",
    "LeavesFamily",
    "LinearFamily",
    "MarginNeighborsClassifier",
    "Point",
    "PolicyClassifier",
    "Polynomial",
    "Powers",
    "PrunedForestClassifier",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
    "ThresholdPairs",
]
