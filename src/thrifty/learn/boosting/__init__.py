"""GreedyMiser (Xu 2014, ch. 2): gradient boosting that pays for what its trees read.

What is where:

- `base.py`: the estimator, algorithm 3; `classifier.py`, `regressor.py`, `ranker.py`: its losses.
- `ensemble.py`: one round of algorithm 3: gradient, tree, step; grown trees become a forest.
- `grower.py`: one tree under the cost-weighted criterion of eq. 2.5, by histograms.
- `early_stopping.py`: stop when the validation loss no longer improves.
- `penalty_path.py`: the whole range of penalties from two runs.
- `validation_tracker.py`: bills and losses of the validation set, tree by tree.

`fit` calls, in this order: `TrainingSet.read` (encode), `Binned.of` (bin; a `Table` is encoded and
binned by `LongTrainingSet.read_files`), `Grower` and `Boosting`
(allocate), `boost` (round after round: `Loss.derivatives`, `Grower.grow`, `Grower.values`,
`ForestBuilder.add`), `Boosting.freeze`. `path` runs `PenaltyPath.decrease` and `PenaltyPath.hold`
in place of `boost`, and makes a point of each checkpoint of the `ValidationTracker`.
"""

from __future__ import annotations

from thrifty.learn.boosting.classifier import GreedyMiserClassifier
from thrifty.learn.boosting.ranker import GreedyMiserRanker
from thrifty.learn.boosting.regressor import GreedyMiserRegressor

__all__ = ["GreedyMiserClassifier", "GreedyMiserRanker", "GreedyMiserRegressor"]
