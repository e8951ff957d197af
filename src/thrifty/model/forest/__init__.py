"""Forests: boosted sums, averaged distributions and votes of trees are one kind of frozen model.

==============  ===================================================================================
`forest`        `Forest`: the arrays of all trees; scores, used features and leaves of a table
`nodes`         the 16-byte record of a node, and the checks before a file's arrays become a forest
`walk`          `ForestWalk`: one example that requests features as its trees need them
==============  ===================================================================================

A batch goes through `Forest.score` or `Forest.used`, to `thrifty.kernels.descent` and through the
link. A walk goes through `Forest.walk` and `ForestWalk.tell`.
"""

from __future__ import annotations

from thrifty.model.forest.forest import Forest
from thrifty.model.forest.walk import ForestWalk

__all__ = ["Forest", "ForestWalk"]
