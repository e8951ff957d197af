"""The rows of a worker: sums of two parts are those of the whole table."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.tree_part import PartSetup, Split, TreePart
from thrifty.learn.losses import LogLoss

RNG = np.random.default_rng(0)
BINNED = Binned.of(RNG.normal(size=(60, 3)), np.zeros(3, bool), None)
Y = RNG.integers(0, 2, 60)
SPLIT = Split(0, 1, 2, np.packbits(np.arange(256) < 30).tobytes())


PRICES = Prices([1.0] * 3, groups={"g": [1, 2]}, shared={"g": 1.0}).bind(3)
W = RNG.uniform(0.5, 2.0, 60)


def part_of(*rows: slice, charge: str = "model") -> TreePart:
    setup = PartSetup(
        BINNED.edges, BINNED.categorical, PRICES, charge, 3,
        partial(LogLoss, weight=None, n_classes=2),
    )  # fmt: skip
    weight = None if charge == "model" else W
    part = TreePart(
        [
            (BINNED.bins[:, some], Y[some], None if weight is None else weight[some])
            for some in rows
        ],
        setup,
    )
    part.begin(np.array([0.5]), 2.0**-40)
    return part


@pytest.fixture(params=["model", "example"])
def parts(request) -> tuple[TreePart, ...]:
    """The whole table, and its two halves, one of two partitions; weighted, if each row pays."""
    halves = [slice(20)], [slice(20, 25), slice(25, None)]
    return tuple(part_of(*rows, charge=request.param) for rows in ([slice(None)], *halves))


def test_all_sums_of_two_parts_are_those_of_the_whole(parts):
    features, units = np.array([0, 2]), np.array([2.0**-50, 2.0**-50])
    whole, *halves = [part.derive() for part in parts]
    assert whole == [tuple(np.max(halves, axis=0)[0])]
    messages = [
        ("weigh", ([[2.0**-40, 2.0**-40, 2.0**-40]],)),
        ("root", (0, 2.0**-30, features)),
        ("split", ([SPLIT], 1)),
        ("sums", ([], 0, units)),
    ]
    for message in messages:
        whole, *halves = [part.run([message]) for part in parts]
        for answer, *shares in zip(whole, *halves, strict=True):
            if answer is None:
                assert shares == [None, None]  # the model pays
            elif isinstance(answer, tuple):
                assert answer[0].tolist()[2] == 0 < answer[0][0]  # the split has been paid
                for debts, *owed in zip(answer, *shares, strict=True):
                    np.testing.assert_array_equal(debts, np.sum(owed, axis=0))
            else:
                np.testing.assert_array_equal(answer, np.sum(shares, axis=0))


def test_a_tree_that_is_applied_later_adds_the_same(parts):
    values = np.array([0.0, 1.0, -1.0])
    first, later = parts[0], part_of(slice(None))
    first.run([
        ("derive", ()), ("root", (0, 2.0**-30, np.arange(3))), ("split", ([SPLIT], 2)),
        ("add_tree", (0, values)), ("add_constant", (0, 0.25)),
    ])  # fmt: skip
    later.run([("apply_tree", ([SPLIT], 0, values)), ("add_constant", (0, 0.25))])
    expected = 0.75 + np.where(BINNED.bins[2] < 30, 1.0, -1.0)
    np.testing.assert_array_equal(first.raw[0], expected)
    np.testing.assert_array_equal(later.raw[0], expected)


def test_what_an_ensemble_starts_from_is_measured_in_any_unit():
    part = part_of(slice(None))
    assert part.measure() == [1.0]
    assert part.measure([0.5]) == part.measure([0.5], True) == [2 * Y.sum()]
    weighted = part_of(slice(None), charge="example")
    assert weighted.measure() == [W[Y == 1].max(), W.max()]
    unit = 2.0**-30
    expected = [np.rint(W[rows] / unit).sum() for rows in (Y == 1, slice(None))]
    assert weighted.measure([unit, unit], True) == expected


def test_what_rows_have_paid_is_forgotten_when_an_ensemble_begins():
    part = part_of(slice(None), charge="example")
    part.run([("derive", ()), ("root", (0, 2.0**-30, np.arange(3))), ("split", ([SPLIT], 1))])
    assert part.purchases.paid[2].all() and part.purchases.group_paid[0].all()
    part.begin(np.array([0.5]), 2.0**-40)
    assert not part.purchases.paid.any() and not part.purchases.group_paid.any()


def test_an_error_is_returned(parts):
    assert isinstance(parts[0].run([("root", (5, 1.0, np.arange(3)))]), AttributeError)
