"""The records of a growing tree refuse arrays of the wrong type and read what they are given."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.kernels.growth import Blocks, Table, Tree


def tree(**changes):
    """Return a tree with room for three nodes."""
    arrays = {
        "left": np.empty(3, np.int32), "feature": np.empty(3, np.int32),
        "cut": np.empty(3, np.int32), "goes_left": np.empty((3, 256), np.uint8),
        "depth": np.empty(3, np.int32), "count": np.empty(3, np.int64),
        "slot": np.empty(3, np.int32),
    }  # fmt: skip
    return Tree(**{**arrays, **changes})


def blocks(**changes):
    """Return two blocks of five rows, with room for three nodes."""
    arrays = {
        "begin": np.array([0, 3, 5]), "part": np.array([0, 1]), "base": np.array([0, 3]),
        "first": np.empty((2, 3), np.int64), "last": np.empty((2, 3), np.int64),
        "rows": np.empty(5, np.uint32), "spare": np.empty(4, np.uint32),
        "partial": np.empty((1, 1, 2, 256), np.int64),
    }  # fmt: skip
    return Blocks(**{**arrays, **changes})


def test_a_new_tree_has_no_nodes_and_does_not_let_them_be_set():
    made = tree()
    assert made.nodes == 0
    with pytest.raises(AttributeError):
        made.nodes = 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"left": np.empty(3, np.int64)},
        {"count": np.empty(3, np.int32)},
        {"goes_left": np.empty((256, 3), np.uint8).T},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_array_of_the_wrong_type_or_order_is_refused(wrong):
    with pytest.raises(ValueError):
        tree(**wrong)


@pytest.mark.parametrize("wrong", [{"rows": np.empty(5, np.int32)}, {"begin": np.zeros(3)}])
def test_rows_of_the_wrong_type_are_refused(wrong):
    with pytest.raises(ValueError):
        blocks(**wrong)


def test_blocks_show_their_rows():
    made = blocks(rows=np.arange(5, dtype=np.uint32))
    assert np.asarray(made.rows).tolist() == [0, 1, 2, 3, 4]
    assert np.asarray(made.base).tolist() == [0, 3]


def test_a_table_may_be_read_only():
    bins = np.zeros((1, 2, 4), np.uint8)
    bins.flags.writeable = False
    Table(bins, np.zeros(2, np.uint8), np.ones(2, np.int64))
