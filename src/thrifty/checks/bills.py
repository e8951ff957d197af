"""Law 3: a bill is the sum of what was used, each thing once, and follows the prices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.checks.cases import Case
from thrifty.checks.faces import Faces, same_model
from thrifty.checks.verdict import law, require, same
from thrifty.costs import Prices

__all__ = ["law_bills", "law_free", "law_penalty", "law_receipts", "law_scale"]

# Sums are compared with a plain one, which rounds at every step.
ROUNDING = 1e-12
# From some that change little to some at which little is bought.
PENALTIES = (0.0003, 0.003, 0.03)


@law("a bill is the price of what was used, a group paid once")
def law_bills(estimator: Any, case: Case) -> None:
    """Bills against a plain sum over the user's own price list."""
    fitted = case.fit(estimator)
    table = case.held_table
    bills, used = fitted.bill(table), fitted.used(table)
    evaluations = fitted.predictor_.evaluations(table)
    require(bills.shape == (len(used),), f"bills have shape {bills.shape}")
    for row, bill in enumerate(bills.tolist()):
        features = [name for name, on in zip(case.names, used[row], strict=True) if on]
        due = _plain_bill(_prices(case), features, int(evaluations[row]))
        _near(row, f"bill for {features} and {evaluations[row]} evaluations", due, bill)


@law("a receipt charges a group with its first member, and adds up")
def law_receipts(estimator: Any, case: Case) -> None:
    """Each purchase costs its own price, and the shared one if it opens its group."""
    fitted = case.fit(estimator)
    prices = _prices(case)
    for row in range(len(case.held.y)):
        walk = fitted.walk()
        walk.tell(case.example(row))
        receipt = walk.receipt
        opened: set[Any] = set()
        for purchase in receipt.purchases:
            groups = _touched(prices, [purchase.feature])
            due = _own(prices).get(purchase.feature, 0.0)
            due += sum(prices.shared.get(group, 0.0) for group in groups - opened)
            opened |= groups
            _near(row, f"price of {purchase.feature!r}", due, purchase.price)
        total = sum(purchase.price for purchase in receipt.purchases) + receipt.evaluation
        _near(row, "total of the receipt", total, receipt.total)


@law("all prices doubled double every bill")
def law_scale(estimator: Any, case: Case) -> None:
    """The same frozen model, bound to doubled prices, to the bit."""
    fitted = case.fit(estimator)
    faces = Faces.of(fitted, case.held_table)
    again = Faces.of(_priced(fitted, case, _doubled(case)), case.held_table)
    same("bill at doubled prices", 2.0 * faces.bill, again.bill)
    same("used at doubled prices", faces.used, again.used)
    same("scores at doubled prices", faces.scores, again.scores)


@law("all prices doubled and the penalty halved give the same model")
def law_penalty(estimator: Any, case: Case) -> None:
    """A penalty is a rate of exchange, so the unit of the prices does not matter."""
    for penalty in PENALTIES:
        fitted = case.fit(estimator, penalty=penalty)
        again = case.fit(estimator, penalty=penalty / 2.0, prices=_doubled(case))
        when = f"at doubled prices and half the penalty {penalty}"
        same_model(fitted.predictor_, again.predictor_, when)
        same(f"bill {when}", 2.0 * fitted.bill(case.held_table), again.bill(case.held_table))


@law("a free feature never raises a bill")
def law_free(estimator: Any, case: Case) -> None:
    """Making a feature free lowers bills or leaves them; when all is free, nothing is paid."""
    fitted = case.fit(estimator)
    table = case.held_table
    bills, used, bound = fitted.bill(table), fitted.used(table), fitted.prices_
    prices = _prices(case)
    for j, name in enumerate(case.names):
        cheaper = _priced(fitted, case, _with(prices, own={**_own(prices), name: 0.0})).bill(table)
        dearer = np.flatnonzero(cheaper > bills)
        require(not len(dearer), f"bill of row {_first(dearer)} rises when {name!r} is free")
        if bound.own[j] == 0 and (bound.group[j] < 0 or bound.shared[bound.group[j]] == 0):
            more = used.copy()
            more[:, j] = True
            same(f"bill with the free {name!r}", bound.bill(used), bound.bill(more))
    nothing = _with(prices, own=dict.fromkeys(case.names, 0.0), shared={}, evaluation=0.0)
    same("bill at no price", np.zeros(len(bills)), _priced(fitted, case, nothing).bill(table))


def _plain_bill(prices: Prices, features: list[Any], evaluations: int = 0) -> float:
    own = _own(prices)
    paid = [own.get(feature, 0.0) for feature in features]
    paid += [prices.shared.get(group, 0.0) for group in _touched(prices, features)]
    return float(sum(paid) + evaluations * prices.evaluation)


def _touched(prices: Prices, features: list[Any]) -> set[Any]:
    return {g for g, members in prices.groups.items() if not set(members).isdisjoint(features)}


def _prices(case: Case) -> Prices:
    """The price list of the case with every own price written out where none is."""
    unit: dict[Any, float] = dict.fromkeys(case.names, 1.0)
    return case.prices or Prices(unit)


def _own(prices: Prices) -> dict[Any, float]:
    own = prices.own
    return dict(own) if isinstance(own, Mapping) else dict(enumerate(own or ()))


def _doubled(case: Case) -> Prices:
    prices = _prices(case)
    return _with(
        prices,
        own={name: 2.0 * price for name, price in _own(prices).items()},
        shared={name: 2.0 * price for name, price in prices.shared.items()},
        evaluation=2.0 * prices.evaluation,
    )


def _with(prices: Prices, **changes: Any) -> Prices:
    parts = {
        name: getattr(prices, name)
        for name in ("own", "groups", "shared", "evaluation", "calls", "unit")
    }
    return Prices(**parts | changes)


def _priced(fitted: Any, case: Case, prices: Prices) -> Predictor:
    """The frozen model of `fitted`, bound to other prices."""
    old: Predictor = fitted.predictor_
    names: Any = list(case.names) if old.schema.named else len(case.names)
    return Predictor(old.model, old.schema, prices.bind(names), old.classes)


def _near(row: int, what: str, due: float, found: float) -> None:
    close = math.isclose(due, found, rel_tol=ROUNDING, abs_tol=ROUNDING)
    require(close, f"{what} of row {row}: {found!r} where {due!r} is due")


def _first(rows: NDArray[np.intp]) -> int | None:
    return int(rows[0]) if len(rows) else None
