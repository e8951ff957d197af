"""Trees whose nodes are linear models: a row buys what the nodes on its path read.

A node computes a linear function of a few inputs to route a row left or right, and another one to
predict it. A row exits where a child is missing and gets the prediction of the node that it leaves
from. Trees, cascades (one child at each node) and single linear models are all of this kind. It is
the frozen form of

- ASTC, the approximately submodular tree of classifiers (Kusner et al. 2014),
- CSTC and CSCC, the cost-sensitive tree and cascade of classifiers (Xu 2014, sec. 3.3-3.5), on
  encoded columns or on boosted trees as inputs (sec. 3.6),
- ADAPT-LIN, whose gate and local model have a single node each (Nan and Saligrama 2017).

``linear_tree`` holds the model, ``node`` one node and the two kinds of inputs that it can read,
``walk`` the walk of one example, and ``audit`` the checks of a model file.
"""

from __future__ import annotations

from thrifty.model.linear_tree.linear_tree import LinearTree

__all__ = ["LinearTree"]
