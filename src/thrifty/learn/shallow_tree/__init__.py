"""Small trees of the least total cost: prices of features along each path, plus costs of errors.

- `splits.py`: the questions that a tree may ask, and the rows that answer yes.
- `search.py`: the best tree of a depth up to three, by complete search over these questions.

A tree of depth two is found from the counts of all pairs of questions at once, as in Demirović et
al. (2022) and van der Linden et al. (2023); a tree of depth three from the best pair of such trees
below each first question.
"""

from __future__ import annotations

from thrifty.learn.shallow_tree.search import TreeSearch, freeze_tree
from thrifty.learn.shallow_tree.splits import Splits

__all__ = ["Splits", "TreeSearch", "freeze_tree"]
