"""Law 3: a bill adds up the prices of what was used, each once, and follows the prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.checks.batch_outputs import BatchOutputs, same_model, table_prices
from thrifty.checks.cases import Case
from thrifty.checks.verdict import LawError, law, require, same
from thrifty.costs import Prices
from thrifty.learn.dataset import bind_prices

__all__ = ["law_bills", "law_free", "law_penalty", "law_receipts", "law_scale"]

# Bills are compared with a plain sum, which rounds at every step.
ROUNDING = 1e-12
# From a penalty that changes little to one at which little is bought.
PENALTIES = (0.0003, 0.003, 0.03)


@law("a bill is the price of what was used, a group paid once")
def law_bills(estimator: Any, case: Case) -> None:
    """Compare bills with a plain sum over the user's own price list."""
    fitted = case.fit(estimator)
    table, prices = case.test_table, _prices(case)
    own = _own(prices)
    bills, used = fitted.bill(table), fitted.used(table)
    evaluations = fitted.predictor_.evaluations(table)
    require(bills.shape == (len(used),), f"bills have shape {bills.shape}")
    for row, bill in enumerate(bills.tolist()):
        features = [name for name, is_used in zip(case.names, used[row], strict=True) if is_used]
        paid = [own.get(feature, 0.0) for feature in features]
        paid += [prices.shared.get(group, 0.0) for group in _groups_of(prices, features)]
        due = float(sum(paid) + int(evaluations[row]) * prices.evaluation)
        _near(row, f"bill for {features} and {evaluations[row]} evaluations", due, bill)


@law("a receipt charges a group with its first member, and adds up")
def law_receipts(estimator: Any, case: Case) -> None:
    """Check that each purchase costs its own price, plus the shared one if it opens its group."""
    fitted = case.fit(estimator)
    prices = _prices(case)
    own = _own(prices)
    for row in range(len(case.test.y)):
        walk = fitted.walk()
        walk.tell(case.example(row))
        receipt = walk.receipt
        opened: set[Any] = set()
        for purchase in receipt.purchases:
            groups = _groups_of(prices, [purchase.feature])
            due = own.get(purchase.feature, 0.0)
            due += sum(prices.shared.get(group, 0.0) for group in groups - opened)
            opened |= groups
            _near(row, f"price of {purchase.feature!r}", due, purchase.price)
        total = sum(purchase.price for purchase in receipt.purchases) + receipt.evaluation
        _near(row, "total of the receipt", total, receipt.total)


@law("all prices doubled double every bill")
def law_scale(estimator: Any, case: Case) -> None:
    """Bind the frozen model to doubled prices: bills double to the bit, nothing else changes."""
    fitted = case.fit(estimator)
    outputs = BatchOutputs.of(fitted, case.test_table)
    doubled = BatchOutputs.of(_with_prices(fitted, _doubled(case)), case.test_table)
    same("bill at doubled prices", 2.0 * outputs.bill, doubled.bill)
    same("used at doubled prices", outputs.used, doubled.used)
    same("scores at doubled prices", outputs.scores, doubled.scores)


@law("all prices doubled and the penalty halved give the same model")
def law_penalty(estimator: Any, case: Case) -> None:
    """Check that a penalty is a rate of exchange: the unit of the prices does not matter."""
    for penalty in PENALTIES:
        fitted = case.fit(estimator, penalty=penalty)
        again = case.fit(estimator, penalty=penalty / 2.0, prices=_doubled(case))
        when = f"at doubled prices and half the penalty {penalty}"
        same_model(fitted.predictor_, again.predictor_, when)
        same(f"bill {when}", 2.0 * fitted.bill(case.test_table), again.bill(case.test_table))


@law("a free feature never raises a bill")
def law_free(estimator: Any, case: Case) -> None:
    """Make each feature free in turn: no bill rises. Make everything free: all bills are 0."""
    fitted = case.fit(estimator)
    table = case.test_table
    bills, used = fitted.bill(table), fitted.used(table)
    bound = table_prices(fitted.predictor_)
    prices = _prices(case)
    own = _own(prices)
    for j, name in enumerate(case.names):
        one_free = _replace(prices, own={**own, name: 0.0})
        risen = np.flatnonzero(_with_prices(fitted, one_free).bill(table) > bills)
        if len(risen):
            raise LawError(f"bill of row {risen[0]} rises when {name!r} is free")
        if bound.own[j] == 0 and (bound.group[j] < 0 or bound.shared[bound.group[j]] == 0):
            more = used.copy()
            more[:, j] = True
            same(f"bill with the free {name!r}", bound.bill(used), bound.bill(more))
    all_free = _replace(prices, own=dict.fromkeys(case.names, 0.0), shared={}, evaluation=0.0)
    free_bills = _with_prices(fitted, all_free).bill(table)
    same("bill at no price", np.zeros(len(bills)), free_bills)


def _prices(case: Case) -> Prices:
    """Return the prices of a case; 1 for every feature where it has none."""
    unit: dict[Any, float] = dict.fromkeys(case.names, 1.0)
    return case.prices or Prices(unit)


def _own(prices: Prices) -> dict[Any, float]:
    """Return the own price of each feature by name or position."""
    own = prices.own
    return dict(own) if isinstance(own, Mapping) else dict(enumerate(own or ()))


def _groups_of(prices: Prices, features: list[Any]) -> set[Any]:
    """Return the groups that have a member among the features."""
    return {g for g, members in prices.groups.items() if not set(members).isdisjoint(features)}


def _doubled(case: Case) -> Prices:
    """Return the prices of a case times two."""
    prices = _prices(case)
    return _replace(
        prices,
        own={name: 2.0 * price for name, price in _own(prices).items()},
        shared={name: 2.0 * price for name, price in prices.shared.items()},
        evaluation=2.0 * prices.evaluation,
    )


def _replace(prices: Prices, **changes: Any) -> Prices:
    """Return a copy of `prices` with some parts replaced."""
    parts = ("own", "groups", "shared", "evaluation", "calls", "unit")
    return Prices(**{name: getattr(prices, name) for name in parts} | changes)


def _with_prices(fitted: Any, prices: Prices) -> Predictor:
    """Return the frozen model of `fitted`, bound to other prices."""
    old: Predictor = fitted.predictor_
    return Predictor(old.model, old.schema, bind_prices(prices, old.schema), old.classes)


def _near(row: int, what: str, due: float, found: float) -> None:
    """Raise `LawError` unless two amounts are equal up to rounding."""
    close = math.isclose(due, found, rel_tol=ROUNDING, abs_tol=ROUNDING)
    require(close, f"{what} of row {row}: {found!r} instead of {due!r}")
