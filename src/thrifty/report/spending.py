"""What a model costs in every currency, and how long its examples wait, on the test set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices
from thrifty.costs.bound import LATENCY
from thrifty.costs.money import duration, format_mean
from thrifty.frontier.several_budgets import amount, most_spent, read_amounts, spent

__all__ = ["other_amounts", "spending_facts", "spending_sentences"]

# Share of the examples that stay within the second figure.
USUAL = 0.95


def spending_facts(
    predictor: Predictor, X: NDArray[np.floating], budgets: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return means and 95% quantiles of all bills and of the latency, as plain values.

    Parameters
    ----------
    predictor : Predictor
    X : array of shape (n, d)
        Encoded rows.
    budgets : mapping of str to float, optional
        Budgets by currency.

    Returns
    -------
    dict
        ``currencies``, a list with an entry for each, if there are several; ``latency`` if the
        prices have delays. Each has `name`, `unit`, `mean`, `p95`, `ceiling` and `budget`.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.report.spending import spending_facts, spending_sentences
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> prices = Prices([1, 2], delays={0: 5, 1: 30}, delay_unit="min")
    >>> model = GreedyMiserClassifier(prices).fit(X, X[:, 0] > 0).predictor_
    >>> facts = spending_facts(model, X, {"latency": 40})
    >>> facts["latency"]["mean"], facts["latency"]["ceiling"]
    (35.0, 35.0)
    >>> spending_sentences(facts)
    ['Latency: 35 min per example, 95% within 35 min, at most 35 min; the budget is 40 min.']
    """

    def figures(name: str, unit: str) -> dict[str, Any]:
        amounts = spent(predictor, name, X)
        return {
            "name": name,
            "unit": unit,
            "mean": float(amounts.mean()),
            "p95": float(np.quantile(amounts, USUAL, method="higher")),
            "ceiling": most_spent(predictor, name),
            "budget": (budgets or {}).get(name),
        }

    facts: dict[str, Any] = {}
    prices = predictor.prices
    if prices.also:
        lists = prices.currencies.items()
        facts["currencies"] = [figures(name, each.unit) for name, each in lists]
    if prices.delays is not None:
        facts["latency"] = figures(LATENCY, prices.delay_unit)
    return facts


def spending_sentences(facts: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each currency, and one for the latency, from `spending_facts`."""
    sentences = []
    for each in [*facts.get("currencies", ()), *filter(None, [facts.get("latency")])]:
        is_latency = each["name"] == LATENCY
        mean, usual, most, budget = (
            duration(round(value, 2), each["unit"])
            if is_latency
            else format_mean(value, each["unit"])
            for value in (each["mean"], each["p95"], each["ceiling"], each["budget"] or 0.0)
        )
        what = "Latency" if is_latency else f"Bill in {each['name']}"
        sentence = f"{what}: {mean} per example, {100 * USUAL:g}% within {usual}, at most {most}"
        goal = "" if each["budget"] is None else f"; the budget is {budget}"
        sentences.append(f"{sentence}{goal}.")
    return sentences


def other_amounts(given: Any, prices: BoundPrices, what: str = "budget") -> list[str]:
    """Return budgets, or caps, besides that of the main currency, in words.

    Examples
    --------
    >>> from thrifty import Prices
    >>> from thrifty.report.spending import other_amounts
    >>> prices = Prices([1, 2], unit="CAD", also={"ms": Prices([3, 4])}).bind(2)
    >>> other_amounts({"CAD": 3, "ms": 5}, prices)
    ['5.00 ms']
    """
    main = next(iter(prices.currencies))
    amounts = read_amounts(given, prices, what)
    return [amount(value, name, prices) for name, value in amounts.items() if name != main]
