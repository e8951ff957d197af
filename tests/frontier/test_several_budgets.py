"""Several budgets: each holds, caps bound every example, errors name the budget that fails."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone

from thrifty import BudgetClassifier, GreedyMiserClassifier, Prices
from thrifty.errors import BudgetError
from thrifty.frontier import fit_budget
from thrifty.frontier.confidence import upper_bound
from thrifty.frontier.several_budgets import (
    choose_within,
    main_amount,
    most_spent,
    one_price,
    read_amounts,
    spent,
    within_caps,
)

CLINIC = Prices(
    [1, 10, 30, 2, 2, 5], groups={"lab": [3, 4]}, shared={"lab": 3}, panels=["lab"],
    requires={2: [1]}, delays={"lab": 5, 1: 10, 2: 30}, delay_unit="min", unit="CAD",
    also={"mSv": Prices([0, 3, 1, 0, 0, 0])},
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 6))
    y = X[:, 0] + 2 * X[:, 2] + X[:, 4] + 0.5 * rng.normal(size=900) > 0
    return X, y


@pytest.fixture(scope="module")
def fitted(rows):
    budget = {"CAD": 30, "mSv": 2, "latency": 25}
    return BudgetClassifier(CLINIC, budget, effort="fast", random_state=0).fit(*rows)


def test_every_budget_holds_with_its_share_of_the_confidence(fitted):
    point, held_out = fitted.point_, fitted.validation_
    assert len(held_out) == 180
    for name, budget in fitted.budget.items():
        amounts = spent(point.model, name, held_out.X)
        ceiling = most_spent(point.model, name)
        assert amounts.max() <= ceiling
        assert ceiling <= budget or upper_bound(amounts, 1 - 0.05 / 3, ceiling) <= budget
    assert point.quality > 0.6
    assert point.bill == pytest.approx(fitted.bill(held_out.X).mean())
    assert fitted.prices_ == CLINIC.bind(6)


def test_figures_of_a_fitted_estimator(fitted, rows):
    X, _ = rows
    bills = fitted.bills(X)
    assert list(bills) == ["CAD", "mSv"]
    assert bills["CAD"].tolist() == fitted.bill(X).tolist()
    assert (fitted.latency(X) >= 0).all()
    assert (fitted.main_budget, fitted.main_cap) == (30, None)


def test_a_smaller_budget_of_any_kind_is_met_without_training(fitted, rows):
    X, _ = rows
    quick = fitted.at_budget({"CAD": 60, "latency": 6})
    assert quick.latency(X).mean() <= 6
    safe = fitted.at_budget({"mSv": 0})
    assert safe.bills(X)["mSv"].max() == 0
    assert safe.point_.quality > 0.55


def test_a_scarce_currency_changes_what_is_bought(rows):
    X, _ = rows
    prices = Prices([5, 5], unit="CAD", also={"ms": Prices([0, 100])})
    target = X[:, 0] + X[:, 1] > 0
    model = BudgetClassifier(
        prices, {"CAD": 5.5, "ms": 10}, learners=[GreedyMiserClassifier()], random_state=0
    ).fit(X[:, :2], target)
    bought = model.used(X[:, :2]).mean(axis=0)
    assert bought[0] > 0.9
    assert bought[1] <= 0.1


def test_caps_bound_every_example(rows):
    X, y = rows
    cap = {"CAD": 50, "latency": 35}
    model = BudgetClassifier(CLINIC, 40, cap, effort="fast", random_state=0).fit(X, y)
    predictor = model.predictor_
    rng = np.random.default_rng(1)
    wild = rng.normal(scale=100, size=(300, 6))
    wild[rng.random(wild.shape) < 0.2] = np.nan
    assert model.bill(wild).max() <= predictor.ceiling <= 50
    assert model.latency(wild).max() <= most_spent(predictor, "latency") <= 35
    assert model.main_cap == 50
    dose = BudgetClassifier(
        CLINIC, {"CAD": 40, "mSv": 3}, {"mSv": 3.5}, effort="fast", random_state=0
    ).fit(X, y)
    assert dose.bills(wild)["mSv"].max() <= 3.5


def test_one_budget_by_name_is_the_same_as_a_number(rows):
    X, y = rows
    one = BudgetClassifier(CLINIC, 20, effort="fast", random_state=0)
    named = clone(one).set_params(budget={"CAD": 20})
    assert not named.has_several_budgets
    assert named.fit(X, y).predict_proba(X).tolist() == one.fit(X, y).predict_proba(X).tolist()
    with pytest.raises(BudgetError, match="measured in CAD only; fit with a budget of latency"):
        one.at_budget({"latency": 3})


@pytest.mark.parametrize(
    ("budget", "problem"),
    [
        ({"CDA": 3}, "'CDA' is not a currency of the price list; did you mean 'CAD'?"),
        ({"euro": 3}, "'euro' is not a currency of the price list; there are CAD, mSv, latency"),
        ({"latency": -1}, "budget 'latency': -1 is not a finite number of 0 or more"),
        ({}, "budget: there is no amount"),
        (float("nan"), "budget: nan is not a finite number of 0 or more"),
    ],
)
def test_a_budget_of_what_there_is_not_is_refused(budget, problem):
    with pytest.raises(BudgetError) as caught:
        read_amounts(budget, CLINIC.bind(6))
    assert problem in str(caught.value)


def test_a_latency_needs_delays():
    with pytest.raises(BudgetError, match="cap: 'latency': the price list has no delays"):
        read_amounts({"latency": 3}, Prices().bind(2), "cap")


def test_amounts_of_the_main_currency():
    assert main_amount(None, "CAD") is None
    assert main_amount({"latency": 3}, "CAD") is None
    assert main_amount({"price": 3}, "") == 3
    assert read_amounts(None, CLINIC.bind(6)) == {}


@pytest.mark.parametrize("what", ["budget", "cap"])
def test_amounts_are_checked_before_any_split(rows, what):
    settings = {"budget": 20, what: {"CAD": "much"}}
    with pytest.raises(BudgetError, match=f"{what}: 'much' is not a finite number"):
        fit_budget(*rows, prices=CLINIC, **settings)


def test_prices_are_weighed_by_their_budgets():
    bound = CLINIC.bind(6)
    assert one_price(bound, {"CAD": 3, "latency": 3}, {}) is None
    assert one_price(bound, {"latency": 3}, {}) is None
    combined, cap = one_price(bound, {"CAD": 10, "mSv": 2}, {"CAD": 30, "mSv": 1, "latency": 9})
    assert cap == 0.5
    assert combined.own[1] == pytest.approx(10 / 10 + 3 / 2)
    nothing, _ = one_price(bound, {"mSv": 0}, {})
    assert nothing.own[2] == pytest.approx(1 / (1e-6 * 4))


def test_a_cap_that_no_point_keeps_is_named(fitted):
    curve = fitted.frontier_.of(fitted.frontier_.learners[0])
    dear = [point for point in curve.points if most_spent(point.model, "latency") > 5]
    curve = type(curve)(tuple(dear), curve.scoring, curve.task, curve.unit, curve.full)
    with pytest.raises(BudgetError, match=r"no point keeps every example within a latency of 5 m"):
        within_caps(curve, {"latency": 5})
    with pytest.raises(BudgetError, match="no point keeps every bill within CAD 0.50"):
        within_caps(curve, {"CAD": 0.5})


def test_several_budgets_that_exclude_nothing_lead_to_the_strongest_model(fitted):
    rich = fitted.at_budget({"CAD": 1e6, "latency": 1e6}).point_
    assert rich.bill == max(point.bill for point in fitted.frontier_.points)
    assert rich is fitted.at_budget(None).point_
    quick = fitted.at_budget({"CAD": 1e6, "latency": 30}).point_
    assert quick.bill < rich.bill


def test_budgets_that_cannot_be_met_together_are_named(fitted):
    curve = fitted.frontier_
    dear = tuple(point for point in curve.points if point.bill > 5)
    curve = type(curve)(dear, curve.scoring, curve.task, curve.unit, curve.full)
    curves = {"CAD": curve, "latency": fitted._spending.measure(curve, "latency")}
    with pytest.raises(BudgetError) as caught:
        choose_within(curve, curves, {"CAD": 50, "latency": 0.5}, None)
    message = str(caught.value)
    assert "no point is certain enough to meet all budgets; the nearest, ladder" in message
    assert "(budget 50), a latency of" in message
    assert message.endswith("raise the budget of 'latency'")


def test_a_report_tells_the_latency_and_all_currencies(rows):
    from thrifty.report import card_facts, fit_facts, model_card, render_page

    X, y = rows
    found = fit_budget(
        X, y, prices=CLINIC, budget={"CAD": 30, "latency": 25}, effort="fast", random_state=0
    )
    assert not found.sets.cross_fitted
    assert found.predictor.provenance["budget"] == {"CAD": 30, "latency": 25}
    facts = fit_facts(found)
    assert facts["settings"]["budget"] == 30
    assert any("within all budgets on average" in each for each in facts["assumptions"])
    assert [each["name"] for each in facts["currencies"]] == ["CAD", "mSv"]
    assert facts["latency"]["budget"] == 25
    latency = found.predictor.latency(found.test.X)
    assert facts["latency"]["mean"] == pytest.approx(latency.mean())
    page = render_page(facts)
    assert "Latency: " in page
    assert "<dd>CAD 30.00, a latency of 25 min per example on average, with 95%" in page
    card = model_card(facts | card_facts(found.predictor, {"test": found.test}))
    assert "within CAD 30.00 and a latency of 25 min per example on average" in card
    assert "Latency: " in card and "Bill in mSv: " in card


def test_a_latency_above_its_budget_is_admitted(rows):
    from thrifty.report import fit_facts

    X, y = rows
    found = fit_budget(
        X, y, prices=CLINIC, budget={"CAD": 30, "latency": 25}, effort="fast", random_state=0
    )
    assert not any("latency" in each for each in fit_facts(found)["remarks"])
    found.estimator.budget = {"CAD": 30, "latency": 1e-3}
    assert any(
        re.fullmatch(r"On the test set, the mean is a latency of .*, above the budget of .*", each)
        for each in fit_facts(found)["remarks"]
    )
