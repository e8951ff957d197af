"""
Which method is best for my table, and is the difference real?
==============================================================

``compare`` splits the rows several times, traces the curve of every learner on each split, and
reports the quality that each reaches at every budget, with intervals that know that splits share
rows. The table is Wine Recognition: 13 chemical measurements with illustrative prices, some of
which share a preparation.
"""

import matplotlib.pyplot as plt

from thrifty import (
    BudgetForestClassifier,
    CurveDisplay,
    GreedyMiserClassifier,
    PrunedForestClassifier,
    SubmodularTreeClassifier,
    compare,
    trace,
)
from thrifty.data import wine

table = wine()
learners = {
    "GreedyMiser": GreedyMiserClassifier(table.prices, n_estimators=40, min_samples_leaf=5),
    "BudgetRF": BudgetForestClassifier(table.prices, n_estimators=20, random_state=0),
    "BudgetPrune": PrunedForestClassifier(prices=table.prices, n_estimators=20, random_state=0),
    "ASTC": SubmodularTreeClassifier(table.prices, max_depth=2),
}

# %%
# The area is the mean accuracy over all budgets, on a logarithmic scale from 2% to 100% of the
# full price. A pair is "ahead" only if its 95% interval excludes 0.

found = compare(learners, table.X, table.y, splits=3)
print(found)

# %%
# The plot: the curves on one split.

curves = {name: trace(learner, table.X, table.y) for name, learner in learners.items()}
CurveDisplay.from_curves(curves)
plt.show()
