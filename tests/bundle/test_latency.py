"""Latencies, and walks through a clinic: X-ray before MRI, a blood panel, minutes."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.bundle import Predictor, Schema
from thrifty.bundle.latency import largest_latency, latencies
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.model import Average, Branch, Forest, Stages

NAMES = ["age", "xray", "mri", "chol", "fbs"]
TABLE = {name: [1.0, 2.0] for name in NAMES}
PRICES = Prices(
    {"age": 1, "xray": 20, "mri": 300, "chol": 5, "fbs": 3},
    groups={"blood": ["chol", "fbs"]}, shared={"blood": 2}, panels=["blood"],
    requires={"mri": ["xray"]}, delays={"xray": 10, "mri": 45, "blood": 30}, delay_unit="min",
    unit="CAD",
)  # fmt: skip


def reading(*names):
    constant = Forest.constant([0.25], "sum", n_features=5)
    return Average.of([constant], [0.0], reads=np.isin(NAMES, names))


@pytest.fixture
def predictor():
    return Predictor(reading("age", "mri", "fbs"), Schema.of(TABLE), PRICES.bind(NAMES))


def test_a_walk_asks_for_what_is_required_first_and_for_panels_whole(predictor):
    walk = predictor.walk()
    assert walk.asks == ("age", "fbs", "xray", "chol")
    assert walk.price("mri") == 320
    walk.tell({"age": 50, "fbs": 1.0, "xray": 2.0, "chol": 3.0})
    assert walk.asks == ("mri",)
    assert walk.price("mri") == 300
    walk.tell({"mri": 4.0})
    assert walk.done
    receipt = walk.receipt
    assert [(p.feature, p.price, p.why) for p in receipt.purchases] == [
        ("age", 1.0, "asked"), ("fbs", 10.0, "asked"), ("chol", 0.0, "required"),
        ("xray", 20.0, "required"), ("mri", 300.0, "asked"),
    ]  # fmt: skip
    assert receipt.total == predictor.bill(TABLE)[0] == 331
    assert receipt.latency == predictor.latency(TABLE)[0] == 75
    assert receipt.rounds == (("age", "fbs", "xray", "chol"), ("mri",))
    assert str(receipt).endswith("latency: 75 min in 2 rounds")


def test_what_is_known_is_not_required_again(predictor):
    walk = predictor.walk({"xray": 1.0, "chol": 2.0})
    assert walk.asks == ("age", "fbs", "mri")
    assert walk.price("mri") == 300
    walk.tell(dict.fromkeys(walk.asks, 1.0))
    assert walk.receipt.total == 311  # the panel costs what it costs
    assert walk.receipt.latency == 45
    assert walk.receipt.unread == ()


def test_who_knows_the_mri_needs_no_xray(predictor):
    walk = predictor.walk({"mri": 1.0})
    assert walk.asks == ("age", "fbs", "chol")


def test_a_value_that_comes_unasked_is_paid_with_what_it_requires(predictor):
    walk = predictor.walk()
    walk.tell({"mri": 1.0, "age": 1.0, "fbs": 1.0})
    assert walk.asks == ("xray", "chol")
    assert walk.answer is None
    walk.tell({"xray": 1.0, "chol": 1.0})
    assert walk.receipt.total == 331
    assert walk.receipt.latency == 75


def test_skipping_what_is_required_skips_what_requires_it(predictor):
    walk = predictor.walk()
    walk.skip("xray")
    assert walk.asks == ("age", "fbs", "chol")
    assert walk.skipped == ("xray", "mri")
    walk.tell(dict.fromkeys(walk.asks, 1.0))
    assert walk.done
    assert walk.receipt.total == 11
    assert walk.receipt.latency == 30


def test_skipping_one_value_of_a_panel_leaves_the_others(predictor):
    walk = predictor.walk()
    walk.skip("chol")
    assert walk.asks == ("age", "fbs", "xray")


def test_what_was_bought_for_more_is_paid_if_the_walk_stops(predictor):
    walk = predictor.walk()
    walk.tell({"xray": 1.0})
    walk.stop("no magnet")
    receipt = walk.receipt
    assert [(p.feature, p.why) for p in receipt.purchases] == [("xray", "required")]
    assert receipt.total == 20
    assert receipt.latency == 10


def test_without_delays_there_is_no_latency(predictor):
    bare = Predictor(predictor.model, predictor.schema, Prices().bind(NAMES))
    with pytest.raises(DataError, match="the price list has no delays; add them"):
        bare.latency(TABLE)
    receipt = bare.walk().receipt
    assert (receipt.latency, receipt.rounds) == (None, ())


def test_each_rung_is_a_round_unless_it_asks_for_nothing_new():
    ladder = Stages.of([reading(), reading("age", "chol"), reading("age", "chol"), reading("mri")])
    bound = PRICES.bind(NAMES)
    X = np.zeros((3, 5))
    assert latencies(ladder, bound, X).tolist() == [85.0] * 3  # blood, X-ray, MRI
    assert largest_latency(ladder, bound) == 85


def test_a_split_is_a_round_and_the_slowest_side_bounds_the_latency():
    branch = Branch.of(reading("age"), reading("mri"), NAMES.index("chol"), [0.0], 0.0)
    X = np.array([[0.0] * 5, [1.0] * 5])
    bound = PRICES.bind(NAMES)
    assert latencies(branch, bound, X).tolist() == [30, 85]
    assert largest_latency(branch, bound) == 85


def test_models_that_know_no_rounds_are_walked_and_bounded_by_one_feature_at_a_time():
    from thrifty.model.forest.nodes import empty_nodes

    nodes = empty_nodes(5)
    nodes[0] = (0.0, 1, NAMES.index("age"))
    nodes[2] = (0.0, 3, NAMES.index("mri"))
    tree = Forest(nodes, np.zeros((5, 1)), np.array([0]), np.array([0]), np.zeros(1), "sum", 5)
    X = np.array([[-1.0] * 5, [1.0] * 5])
    bound = PRICES.bind(NAMES)
    assert tree.rounds(X) is None
    assert latencies(tree, bound, X).tolist() == [0, 55]
    assert largest_latency(tree, bound) == 55
    assert largest_latency(tree, Prices(delays={2: 3}).bind(5)) == 3
    ladder = Stages.of([reading("age"), tree])
    assert ladder.rounds(X) is None
    assert ladder.longest_paths() is None
    side = Branch.of(ladder, reading(), 0, [0.0], 0.0)
    assert side.rounds(X) is None
    assert side.longest_paths() is None
    assert latencies(side, bound, X).tolist() == [0, 0]


def test_what_comes_after_the_end_takes_no_time(predictor):
    walk = predictor.walk()
    walk.tell({"xray": 1.0})
    walk.stop("no magnet")
    walk.tell({"mri": 1.0})
    receipt = walk.receipt
    assert (receipt.unread, receipt.total) == (("mri",), 20)
    assert (receipt.rounds, receipt.latency) == ((("xray",),), 10)
