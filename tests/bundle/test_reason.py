"""Why a walk asks: the figures of each kind of model, and the words for them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from thrifty.bundle import Evidence, Predictor, Schema, States
from thrifty.bundle.reason import _percent
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.model import Average, Branch, Forest, Policy, ShortCircuit, Stages
from thrifty.model.forest.nodes import empty_nodes

NAMES = ("age", "chol", "thal")
PRICES = Prices({"age": 1.0, "chol": 4.0, "thal": 20.0}, unit="CAD")


def predictor_of(model, classes=(0, 1), evidence=None):
    schema = Schema.of({name: [0.0, 1.0] for name in NAMES})
    return Predictor(model, schema, PRICES.bind(NAMES), classes, evidence=evidence)


def stumps(sizes, link="sigmoid"):
    """A forest with a stump for each feature, whose leaves are +- its size."""
    nodes, values = empty_nodes(3 * len(sizes)), []
    for j, size in enumerate(sizes):
        nodes[3 * j] = (0.0, 3 * j + 1, j)
        values += [[0.0], [-size], [size]]
    roots, outputs = 3 * np.arange(len(sizes)), np.zeros(len(sizes), dtype=np.int64)
    return Forest(nodes, np.array(values), roots, outputs, np.zeros(1), link, 3)


def reading(features, p):
    """A rung that buys some features and gives the same probabilities to all rows."""
    constant = Forest.constant([1 - p, p], "mean", n_features=3)
    return Average.of([constant], [0.5, 0.5], reads=np.isin(np.arange(3), features))


@pytest.fixture
def ladder_evidence():
    """Rows that are right in 6 of 10 cases after age, and always at the end."""
    y = np.arange(200) % 10 < 6
    first = np.tile([0.4, 0.6], (200, 1))
    final = np.where(y[:, np.newaxis] == [0, 1], 0.98, 0.02)
    interim = [
        States.alike(200, np.array([0.5, 0.5]), 0.0),
        States(np.arange(200), first, np.ones(200)),
    ]
    return Evidence.of(y.astype(int), None, final, np.full(200, 25.0), interim)


def test_a_ladder_says_what_labeled_rows_gained_and_paid(ladder_evidence):
    ladder = Stages.of([reading([0], 0.6), reading([0, 1, 2], 0.99)], thresholds=[0.1, np.inf])
    walk = predictor_of(ladder, evidence=ladder_evidence).walk()
    walk.tell({"age": 3.0})
    why = walk.why
    assert why.features == walk.asks == ("chol", "thal")
    assert (why.kind, why.price, why.cost) == ("risk", 24.0, 24.0)
    assert why.gain == pytest.approx(0.4 - 0.01)
    assert why.per_price == pytest.approx(why.gain / 24)
    assert (why.runner_up.features, why.runner_up.gain) == ((), 0.0)
    assert why.text == (
        "expected to cut the risk of a wrong answer from 40% to 1%; next best: stopping here"
    )


def test_the_first_question_of_a_ladder_counts_all_that_follows(ladder_evidence):
    ladder = Stages.of([reading([0], 0.6), reading([0, 1, 2], 0.99)], thresholds=[0.1, np.inf])
    why = predictor_of(ladder, evidence=ladder_evidence).walk().why
    assert (why.features, why.price, why.cost) == (("age",), 1.0, 25.0)
    assert "(CAD 25.00 more on average by the end)" in why.text


def test_a_purchase_that_helped_nobody_is_not_called_useful():
    y = np.zeros(200, dtype=int)
    same = np.tile([0.75, 0.25], (200, 1))
    evidence = Evidence.of(y, None, same, np.ones(200), [States(np.arange(200), same, y * 1.0)])
    ladder = Stages.of([reading([0], 0.25)])
    why = predictor_of(ladder, evidence=evidence).walk().why
    assert why.gain == 0.0
    assert why.text.startswith("labeled rows gained nothing from here; the risk of a wrong answer")


@pytest.mark.parametrize(
    ("shares", "texts"),
    [
        ((0.21, 0.09), ["21%", "9%"]),
        ((0.211, 0.209), ["21.1%", "20.9%"]),
        ((0.21, 0.002), ["21.0%", "0.2%"]),
        ((0.21, 0.0), ["21%", "0%"]),
    ],
)
def test_shares_that_would_look_alike_or_like_nothing_get_a_decimal(shares, texts):
    assert _percent(*shares) == texts


def test_a_ladder_of_values_speaks_of_the_error():
    y = np.arange(200.0)
    interim = [States.alike(200, np.array([0.0]), 0.0)]
    evidence = Evidence.of(y, None, y - 1.5, np.ones(200), interim)
    rung = Average.of([Forest.constant([3.0], "sum", 3)], [0.0], reads=np.array([1, 0, 0], bool))
    why = predictor_of(Stages.of([rung]), classes=None, evidence=evidence).walk().why
    assert why.kind == "error"
    assert "the mean error from 99.5 to 1.5" in why.text


def test_a_ladder_without_evidence_says_so():
    why = predictor_of(Stages.of([reading([0, 1], 0.6)])).walk().why
    assert (why.kind, why.gain, why.runner_up) == ("plan", None, None)
    assert why.features == ("age", "chol") and why.price == 5.0
    assert "no evidence" in why.text


def test_a_ladder_of_forests_without_evidence_says_what_its_trees_can_do():
    why = predictor_of(Stages.of([stumps([1.0, 3.0])])).walk().why
    assert (why.kind, why.gain) == ("range", 2.0)


def test_a_forest_says_how_far_its_trees_can_move_the_answer():
    walk = predictor_of(stumps([1.0, 3.0, 2.0])).walk()
    why = walk.why
    assert walk.asks == ("age", "chol", "thal")
    assert (why.features, why.kind, why.gain, why.price) == (("age",), "range", 2.0, 1.0)
    assert why.runner_up.features == ("chol",) and why.runner_up.gain == 6.0
    assert why.text == "can still move the log-odds by up to 2; next best: chol (up to 6)"


def test_the_range_of_averaged_trees_is_that_of_the_probability():
    nodes = empty_nodes(6)
    nodes[0], nodes[3] = (0.0, 1, 0), (0.0, 4, 1)
    values = np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]] * 2)
    forest = Forest(nodes, values, np.array([0, 3]), np.zeros(2, int), np.zeros(2), "mean", 3)
    why = predictor_of(forest).walk().why
    assert why.gain == 0.5
    assert why.text.startswith("can still move the probability by up to 0.5;")


def test_the_last_question_of_a_forest_has_no_runner_up():
    walk = predictor_of(stumps([1.0, 3.0])).walk()
    walk.tell({"age": 1.0})
    assert walk.why.runner_up is None
    assert walk.why.text == "can still move the log-odds by up to 6"


def test_a_short_circuit_names_the_best_other_feature_per_price():
    walk = predictor_of(ShortCircuit.of(stumps([5.0, 1.0, 4.0]), order=[1, 0, 2])).walk()
    assert walk.asks == walk.why.features == ("chol",)
    assert walk.why.runner_up.features == ("age",)


def policy(**settings):
    predictor, value = stumps([3.0, 1.0, 0.5]), Forest.constant([0.5, 0.4, 0.1], "softmax", 3)
    return Policy.of(predictor, value, prices=[1.0, 4.0, 20.0], **settings)


def test_a_policy_says_what_it_estimates():
    walk = predictor_of(policy()).walk()
    why = walk.why
    assert (why.features, why.kind, why.gain, why.cost) == (("age",), "log_loss", 0.5, 1.0)
    assert (why.runner_up.features, why.runner_up.gain) == (("chol",), 0.4)
    assert why.text == (
        f"estimated to make the right answer {math.exp(0.5):.2f} times as probable; "
        f"next best: chol ({math.exp(0.4):.2f} times)"
    )


def test_a_policy_that_reads_known_features_first_says_so():
    assert "at no price" in predictor_of(policy().with_known([0])).walk().why.text


def test_a_policy_with_a_fixed_first_purchase_says_so():
    walk = predictor_of(policy().with_first(1)).walk()
    assert (walk.asks, walk.why.kind) == (("chol",), "plan")
    assert walk.why.text == "every example buys it first; it says what to buy next"
    walk.tell({"chol": 1.0})
    assert walk.why.kind == "log_loss"


def test_a_branch_says_that_its_feature_decides():
    branch = Branch.of(
        reading([1], 0.9), reading([2], 0.1), feature=0, prior=[0.5, 0.5], threshold=0.0
    )
    walk = predictor_of(branch).walk()
    assert walk.why.text == "it decides which model follows"
    walk.tell({"age": 1.0})
    assert walk.why.features == ("thal",)


def test_reading_a_reason_puts_it_on_the_receipt_and_nothing_else():
    asking, silent = predictor_of(policy()).walk(), predictor_of(policy()).walk()
    why = asking.why
    for walk in (asking, silent):
        walk.tell({"age": -1.0})
    assert asking.receipt == silent.receipt
    assert asking.receipt.purchases[0].reason == why
    assert silent.receipt.purchases[0].reason is None


def test_what_was_known_or_skipped_has_no_reason():
    walk = predictor_of(stumps([1.0, 3.0])).walk(known={"age": 1.0})
    assert walk.why is not None
    walk.skip("chol")
    assert [purchase.reason for purchase in walk.receipt.purchases] == [None, None]
    assert walk.why is None


# --- ends --------------------------------------------------------------------


def end_of(model, **values):
    walk = predictor_of(model).walk()
    walk.tell({name: values.get(name, 1.0) for name in NAMES})
    receipt = walk.receipt
    return receipt.stopped, receipt.reason


def test_a_ladder_is_sure_below_its_top_and_complete_on_it():
    rungs = [reading([0], 0.95), reading([0, 1], 0.99)]
    assert end_of(Stages.of(rungs, thresholds=[0.1, np.inf]))[0] == "sure"
    assert end_of(Stages.of(rungs, thresholds=[0.01, np.inf])) == (
        "complete",
        "complete: nothing was left to ask",
    )


def test_a_ladder_that_is_cut_off_is_complete():
    rungs = [reading([0], 0.95), reading([0, 1], 0.99)]
    assert end_of(Stages.of(rungs, thresholds=[np.inf, np.inf]))[0] == "complete"


def test_a_policy_stops_when_nothing_is_worth_its_price_fits_or_is_left():
    assert end_of(policy(cost_weight=10.0)) == (
        "not_worth_it",
        "no remaining feature is worth its price",
    )
    assert end_of(policy(cap=0.5))[0] == "cap"
    assert end_of(policy())[0] == "complete"


def test_a_short_circuit_is_settled_when_nothing_can_change_the_answer():
    model = ShortCircuit.of(stumps([5.0, 1.0, 1.0]))
    assert end_of(model)[0] == "settled"
    assert end_of(ShortCircuit.of(stumps([1.0])))[0] == "complete"


def test_a_caller_may_stop_for_a_reason_of_the_vocabulary_only():
    walk = predictor_of(stumps([1.0])).walk()
    with pytest.raises(DataError, match="'tired' is not one of stopped, cap, budget"):
        walk.stop(code="tired")
    walk.stop(code="budget")
    assert (walk.receipt.stopped, walk.receipt.reason) == ("budget", "budget spent")


def test_the_interval_of_a_walk_is_that_of_its_stage(ladder_evidence):
    ladder = Stages.of([reading([0], 0.6), reading([0, 1, 2], 0.99)], thresholds=[0.1, np.inf])
    walk = predictor_of(ladder, evidence=ladder_evidence).walk(known={"age": 1.0})
    low, high = walk.interval  # what was known counts as read: the stage is that after age
    assert low < 0.6 < high and high - low < 0.15
    assert walk.probability == 0.6
    walk.tell({"chol": 1.0, "thal": 1.0})
    assert walk.interval[0] > 0.95
    assert walk.receipt.interval == walk.interval and walk.receipt.probability == 0.99
