"""Adopt models that other libraries have fitted: they become frozen forests with bills and walks.

What is where:

- `adopting.py`: `adopt`, from a fitted model or a file to a predictor with names and prices.
- `scikit_learn.py`, `lightgbm.py`, `xgboost.py`: readers; the last two read the model file, without
  the library.
- `trees.py`: trees in the numbering of their source, thresholds for doubles, the frozen forest.
- `columns.py`: whether a model was trained on the columns of a table.

`adopt` calls, in this order: `read` (which library), its reader (trees, names, classes), `freeze`,
and joins the forest with schema and prices.
"""

from __future__ import annotations

from thrifty.learn.adopt.adopting import adopt, adopt_forest

__all__ = ["adopt", "adopt_forest"]
