"""What decides a tree: room for its nodes."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.tree_head import GrownTree, TreeHead
from thrifty.learn.purchases import Purchases


@pytest.mark.parametrize(
    ("rows", "max_depth", "max_leaves", "leaves"),
    [(50, 3, None, 8), (5, 3, None, 6), (50, 3, 4, 4), (5, 3, 8, 8)],
)
def test_there_is_room_for_as_many_leaves_as_rows_depth_and_limit_allow(
    rows, max_depth, max_leaves, leaves
):
    binned = Binned.of(np.zeros((rows, 2)), np.zeros(2, bool), None)
    purchases = Purchases(Prices([1.0, 2.0]).bind(2), rows, "model")
    head = TreeHead(
        binned, purchases, total_weight=rows, planes=1, penalty=0.0, max_depth=max_depth,
        min_samples_leaf=1, max_leaves=max_leaves,
    )  # fmt: skip
    assert len(head._room.left) == 2 * leaves - 1


def test_a_trimmed_tree_is_a_view():
    room = GrownTree.empty(7, 2)
    tree = room.trim(3)
    assert all(len(part) == 3 and part.base is not None for part in tree)
