"""Policies as challengers: fitted where they are ahead, per side of a branch, within the cap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from thrifty import LadderClassifier, Predictor, Prices
from thrifty.learn.crossfit import CrossFit
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.ladder import EFFORTS, policies
from thrifty.learn.ladder.branching import Split
from thrifty.learn.ladder.policies import PolicyPlanner, fit_policies, lag
from thrifty.learn.ladder.rows import LadderRows
from thrifty.learn.ladder.rungs import prior_scores
from thrifty.learn.ladder.stopping import FittedBranches, Plan
from thrifty.learn.point import ValidationOutputs
from thrifty.model import Branch, Forest, Policy

N, D = 480, 7
SMALL = replace(
    policies.TRIAL, min_states=1000, max_states=1000, n_estimators=12, value_estimators=12,
    max_steps=4, min_samples_leaf=5,
)  # fmt: skip
# The second and the third column share a price; the fourth and the fifth cost nothing besides.
PRICES = Prices(
    [1.0, 2.0, 3.0, 0.0, 0.0, 1.5, 0.7],
    groups={"draw": [1, 2], "scan": [3, 4]},
    shared={"draw": 0.3, "scan": 2.0},
)
BOUND = PRICES.bind(D)


def make(n: int = N, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four classes: column 0 says which two are left, and if column 1 or 5 tells them apart."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, D))
    return X, np.where(X[:, 0] > 0, 2 + (X[:, 1] > 0), X[:, 5] > 0)


@pytest.fixture(autouse=True)
def small_policies(monkeypatch) -> None:
    """Fit small policies, also on few rows."""
    monkeypatch.setattr(policies, "TRIAL", SMALL)
    monkeypatch.setattr(policies, "FULL", replace(SMALL, n_estimators=20))
    monkeypatch.setattr(policies, "QUICK", policies.FULL)
    monkeypatch.setattr(policies, "FEWEST_ROWS", 100)
    monkeypatch.setattr(policies, "FEWEST_CELLS", 600)


@pytest.fixture
def fits(monkeypatch) -> list[tuple[str, int]]:
    """Record the policies that are fitted: trial or full, and the number of rows."""
    made = []

    def fit(table, chosen, *arguments: Any, **more: Any) -> Any:
        is_trial = chosen.n_estimators == SMALL.n_estimators
        made.append(("trial" if is_trial else "full", len(table.X)))
        return original(table, chosen, *arguments, **more)

    original = policies.fit_policy
    monkeypatch.setattr(policies, "fit_policy", fit)
    return made


@dataclass(frozen=True)
class Rival:
    """Stands for a ladder: every row pays `bill` for the right class with probability `sure`.

    At a cost weight above 1, rows pay nothing and get the class shares.
    """

    rows: LadderRows
    sure: float
    bill: float

    def plan(self, cost_weight: float, start: int = 0) -> Plan:
        prior = prior_scores(self.rows)
        n = len(self.rows.evidence)
        scores, bill = np.tile(prior, (n, 1)), 0.0
        if cost_weight <= 1:
            scores = np.full((n, len(prior)), (1 - self.sure) / (len(prior) - 1))
            scores[np.arange(n), self.rows.evidence_y] = self.sure
            bill = self.bill
        model = Forest.constant(prior, "mean", D)
        outputs = ValidationOutputs(scores, np.full(n, bill))
        return Plan(b"rival", model, lambda: outputs)


def challenge(rows: LadderRows, rival: Any, cap: float | None = None) -> PolicyPlanner | None:
    """Let policies challenge a rival."""
    random = np.random.RandomState(0)
    return fit_policies(rows, [rival], [2.0, 0.5], [0], BOUND, cap, random)


def figures(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores and the bills of the evidence."""
    scores, bills = plan.outputs()
    return scores, bills


def split_rival(rows: LadderRows) -> FittedBranches:
    """A rival that is split on column 0, and hardly better than chance on both sides."""
    split = Split(0, 0.0, -1)
    goes_left = split.goes_left(rows.X)
    left, right = (Rival(part, 0.4, 4.0) for part in rows.split(goes_left, 0))
    return FittedBranches(split, left, right, goes_left[rows.evidence], prior_scores(rows))


# --- where policies are fitted -----------------------------------------------


def test_a_full_policy_is_fitted_where_a_small_one_is_ahead(read_rows, fits) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    found = challenge(rows, Rival(rows, 0.4, 4.0))
    assert found is not None
    assert fits == [("trial", N), ("full", N)]
    assert found.cost_weights[-1] == 0.0
    assert found.cost_weights == sorted(found.cost_weights, reverse=True)


def test_no_full_policy_is_fitted_where_the_ladder_is_ahead(read_rows, fits) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    assert challenge(rows, Rival(rows, 0.99, 0.5)) is None
    assert fits == [("trial", N)]


def test_a_ladder_that_gains_nothing_has_nothing_to_be_beaten_at(read_rows) -> None:
    random = np.random.default_rng(0)
    rows = read_rows("classification", *make(), prices=PRICES)
    rows = replace(rows, y=random.permutation(rows.y))
    assert challenge(rows, Rival(rows, 0.0, 4.0)) is None


def test_where_the_ladder_has_gained_nearly_everything_nothing_is_compared(read_rows) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    rival = Rival(rows, 0.9, 1.0)
    better = PolicyPlanner(Rival(rows, 1.0, 1.0), [0.5, 0.0])
    assert lag(better, [rival], [2.0, 0.5], [0], rows) == math.inf
    # The same at half the bill, where the ladder has half of its gain.
    early = PolicyPlanner(Rival(rows, 0.9, 0.5), [0.5, 0.0])
    assert lag(early, [rival], [2.0, 0.5], [0], rows) == pytest.approx(-0.5)


def test_to_be_ahead_at_a_single_bill_is_not_enough(read_rows) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    once = PolicyPlanner(Rival(rows, 0.9, 0.5), [2.0, 0.0])
    assert lag(once, [Rival(rows, 0.9, 1.0)], [2.0, 0.5], [0], rows) == math.inf


def test_a_policy_in_branches_must_also_beat_the_plain_ladder(read_rows) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    policy = PolicyPlanner(Rival(rows, 0.9, 0.5), [0.5, 0.0])
    plain, branches = Rival(rows, 0.95, 0.6), Rival(rows, 0.9, 2.0)
    assert lag(policy, [branches], [2.0, 0.5], [0], rows) < 0
    assert lag(policy, [plain, branches], [2.0, 0.5], [0], rows) > lag(
        policy, [branches], [2.0, 0.5], [0], rows
    )


@pytest.mark.parametrize("setting", ["FEWEST_ROWS", "FEWEST_FEATURES", "FEWEST_CELLS"])
def test_small_tables_get_no_policy(read_rows, fits, monkeypatch, setting) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    monkeypatch.setattr(policies, setting, 100 * N)
    assert challenge(rows, Rival(rows, 0.4, 4.0)) is None
    assert fits == []


def test_large_tables_and_numbers_get_no_policy(read_rows, fits, monkeypatch) -> None:
    X, y = make()
    numbers = read_rows("regression", X, y.astype(float), prices=PRICES)
    assert challenge(numbers, None) is None
    monkeypatch.setattr(policies, "LARGE", N)
    assert challenge(read_rows("classification", X, y, prices=PRICES), None) is None
    assert fits == []


# --- plans -------------------------------------------------------------------


def test_the_plan_of_validation_rows_is_what_the_model_does_with_them(read_rows) -> None:
    Xv, yv = make(60, seed=1)
    rows = read_rows("classification", *make(), prices=PRICES, validation=(Xv, yv))
    found = challenge(rows, Rival(rows, 0.4, 4.0))
    assert found is not None
    for cost_weight in (found.cost_weights[0], found.cost_weights[-1]):
        plan = found.planner.plan(cost_weight)
        model, (scores, bills) = plan.model, figures(plan)
        assert isinstance(model, Policy)
        assert len(scores) == len(bills) == N + 60
        np.testing.assert_array_equal(scores[N:], model.score(Xv))
        expected = BOUND.bill(model.used(Xv), model.evaluations(Xv))
        np.testing.assert_array_equal(bills[N:], expected)


def test_branches_have_a_policy_on_each_side(read_rows, fits) -> None:
    Xv, yv = make(60, seed=1)
    rows = read_rows("classification", *make(), prices=PRICES, validation=(Xv, yv))
    left = int(np.sum(rows.X[:N, 0] <= 0))
    found = challenge(rows, split_rival(rows))
    assert found is not None
    sides = [left, N - left]
    assert fits == [*(("trial", n) for n in sides), *(("full", n) for n in sides)]
    assert found.cost_weights[-1] == 0.0

    plan = found.planner.plan(0.0)
    model, (scores, bills) = plan.model, figures(plan)
    assert isinstance(model, Branch)
    assert isinstance(model.left, Policy) and isinstance(model.right, Policy)
    # The feature of the split is paid for, once, by every row.
    assert model.used(Xv)[:, 0].all()
    assert bills.min() >= 1.0
    expected = BOUND.bill(model.used(Xv), model.evaluations(Xv))
    np.testing.assert_array_equal(bills[N:], expected)
    np.testing.assert_array_equal(scores[N:], model.score(Xv))


def test_a_policy_that_stops_at_once_pays_for_the_split_only(read_rows) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    found = challenge(rows, split_rival(rows))
    assert found is not None
    plan = found.planner.plan(1e6)
    assert figures(plan)[1].tolist() == [1.0] * N
    assert plan.model.used(rows.X).sum(axis=1).tolist() == [1] * N


# --- the cap -----------------------------------------------------------------


@pytest.mark.parametrize("cap", [1.0, 2.3, 3.3, 4.1, 5.0])
@pytest.mark.parametrize("branches", [False, True], ids=["plain", "branches"])
def test_the_cap_is_never_passed(read_rows, cap, branches) -> None:
    rows = read_rows("classification", *make(), prices=PRICES)
    rival = split_rival(rows) if branches else Rival(rows, 0.3, 20.0)
    found = policies._fit(rows, rival, BOUND, cap, np.random.RandomState(0), is_trial=True)
    random = np.random.default_rng(0)
    strange = random.choice([-1e9, -0.5, 0.0, 0.5, 1e9, np.nan], size=(300, D))
    for cost_weight in found.cost_weights:
        plan = found.planner.plan(cost_weight)
        model = plan.model
        assert figures(plan)[1].max() <= cap
        for table in (rows.X, strange, np.full((1, D), np.nan)):
            assert BOUND.bill(model.used(table), np.zeros(len(table), dtype=np.int64)).max() <= cap


@pytest.fixture(scope="module")
def capped() -> Any:
    """A policy in branches, under a cap of 4.1 and at no cost weight."""
    train = TrainingSet.read("classification", *make(), PRICES)
    random = np.random.RandomState(0)
    crossfit = CrossFit.draw(train.y, None, 3, 1, random)
    rows = LadderRows.of(train, None, crossfit, random)
    found = policies._fit(rows, split_rival(rows), BOUND, 4.1, random, is_trial=True)
    return found.planner.plan(0.0).model


@settings(max_examples=60, deadline=None)
@given(row=arrays(np.float64, (1, D), elements=st.floats(allow_infinity=False)))
def test_no_row_passes_the_cap(capped, row) -> None:
    assert BOUND.bill(capped.used(row), np.zeros(1, dtype=np.int64))[0] <= 4.1


# --- through the estimator ---------------------------------------------------


@pytest.fixture
def policy_points(monkeypatch) -> Callable[..., list[Any]]:
    """Trace a ladder whose policies are always thought to be ahead; return the points of these."""

    def points(**more: Any) -> list[Any]:
        monkeypatch.setattr(policies, "lag", lambda *arguments: -1.0)
        monkeypatch.setattr(policies, "N_COST_WEIGHTS", 5)
        less = replace(EFFORTS["balanced"], n_rungs=4, n_trees=10, n_top_trees=10, repeats=1)
        monkeypatch.setitem(EFFORTS, "balanced", less)
        model = LadderClassifier(PRICES, random_state=0, **more)
        found = model.path(*make(), validation=make(60, seed=1))
        return [point for point in found if point.knob.get("kind") == "policy"]

    return points


def walk_through(predictor: Predictor, row: np.ndarray) -> Any:
    """Walk one row, one feature at a time."""
    walk = predictor.walk()
    while walk.asks:
        walk.tell({walk.asks[0]: row[walk.asks[0]]})
    return walk


def test_a_walk_of_a_policy_point_agrees_with_the_batch(policy_points) -> None:
    X, _ = make(25, seed=2)
    X[::5, 1] = np.nan
    points = policy_points()
    assert points
    for point in points:
        predictor = point.model
        answers, bills = predictor.predict(X), predictor.bill(X)
        for row, answer, bill in zip(X, answers, bills, strict=True):
            walk = walk_through(predictor, row)
            assert walk.answer == answer
            assert walk.receipt.total == pytest.approx(bill, abs=1e-12)


def test_points_of_policies_are_measured_as_their_models_do(policy_points) -> None:
    Xv, yv = make(60, seed=1)
    for point in policy_points():
        assert point.bill == pytest.approx(point.model.bill(Xv).mean())
        assert point.quality == pytest.approx(np.mean(point.model.predict(Xv) == yv))


def test_the_cap_of_the_ladder_holds_for_its_policies(policy_points) -> None:
    X = np.random.default_rng(3).choice([-9.0, -0.5, 0.5, 9.0, np.nan], size=(300, D))
    points = policy_points(cap=3.3)
    assert points
    assert max(point.model.bill(X).max() for point in points) <= 3.3
