"""What the pages show: figures of a model and of a case in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from thrifty.bundle import Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.costs.money import format_mean, money
from thrifty.serve import CaseReceipt
from thrifty.serve.sources.client import CLIENT
from thrifty.web.curve import format_quality

__all__ = [
    "Line",
    "Share",
    "Standing",
    "about_model",
    "answer_lines",
    "charge_lines",
    "cost_and_quality",
    "ended_words",
    "has_client_step",
    "pace_words",
    "purpose_words",
    "short_name",
    "spending",
    "standing_of",
    "time_words",
]

MAX_CLASSES_LISTED = 6
FREE = "free"
EMPTY_WORDS = "came back empty"
WHY = {
    "asked": "asked for",
    "required": "comes with what was asked for",
    "known": "known already",
    "skipped": "not possible",
}
OUTCOMES = {
    "delivered": "delivered",
    "invalid": "delivered, but not usable",
    "failed": "not delivered",
    "assumed": "unclear: counts as paid",
    "open": "under way: counts as paid",
    "earlier": "bought earlier for this case",
    "kept": "kept from another case",
    "known": "known already",
    "declined": "not possible",
}


@dataclass(frozen=True)
class Standing:
    """An answer and how sure it is.

    Parameters
    ----------
    answer : str
    share, low, high : float or None
        Its probability and the interval of it, for a bar; None for a model that predicts values.
    words : str
        The same as a sentence.
    """

    answer: str
    share: float | None
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True)
class Share:
    """What was spent, and what of a limit that is.

    Parameters
    ----------
    spent : str
    share : float or None
        From 0 to 1; None without a limit.
    words : str
    """

    spent: str
    share: float | None
    words: str


@dataclass(frozen=True)
class Line:
    """A line of a receipt."""

    feature: str
    value: str
    price: str
    why: str = ""


def standing_of(receipt: CaseReceipt) -> Standing:
    """Return the answer of a receipt, its probability and its interval, as a page shows them."""
    answer = plain_value(receipt.answer)
    if receipt.probability is None:
        words = ""
        if receipt.interval is not None:
            low, high = receipt.interval
            words = f"95% of similar labeled examples were between {low:.4g} and {high:.4g}."
        shown = f"{answer:.6g}" if isinstance(answer, float) else str(answer)
        return Standing(shown, None, None, None, words)
    words = f"Probability {_percent(receipt.probability)}."
    ends: tuple[float | None, float | None] = (None, None)
    if receipt.interval is not None:
        low, high = ends = receipt.interval
        words += (
            f" Of similar labeled examples, {_percent(low)} to {_percent(high)} were answered "
            "right (95% interval)."
        )
    return Standing(str(answer), receipt.probability, *ends, words)


def _percent(share: float) -> str:
    """Format a share; what is nearly sure is not shown as certain."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return "over 99%"
    return "under 1%" if text == "0%" and share > 0 else text


def ended_words(receipt: CaseReceipt) -> str:
    """Return why a case ended, as a sentence."""
    if receipt.stopped == "stopped":
        return "Stopped on request: this was the best answer so far."
    reason = receipt.reason or receipt.stopped or "not done yet"
    return f"{reason[0].upper()}{reason[1:]}."


def has_client_step(receipt: CaseReceipt) -> bool:
    """Return whether there is a step of the client that can be taken back."""
    if receipt.stopped == "expired":
        return False
    is_answered = any(charge.source == CLIENT for charge in receipt.charges)
    return is_answered or receipt.stopped == "stopped"


def answer_lines(receipt: CaseReceipt) -> Iterator[Line]:
    """Yield what the model has used, in order."""
    for each in receipt.purchases:
        value = plain_value(each.value)
        shown = EMPTY_WORDS if value is None else _value(value)
        price = money(each.price, receipt.unit)
        if each.why == "skipped":
            shown, price = "not possible", FREE
        elif each.why == "known":
            price = FREE
        yield Line(str(each.feature), shown, price, WHY[each.why])
    for feature in receipt.unread:
        yield Line(str(feature), "answered", "not used")


def _value(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def charge_lines(receipt: CaseReceipt) -> Iterator[Line]:
    """Yield every purchase of a case, made or attempted."""
    for charge in receipt.charges:
        features = ", ".join(map(str, charge.features)) or charge.item
        words = OUTCOMES.get(charge.outcome, charge.outcome)
        origin = "entered by hand" if charge.source == CLIENT else f"source {charge.source}"
        yield Line(features, f"{words}, {origin}", money(charge.paid, receipt.unit))


def spending(spent: float, limit: float | None, unit: str, what: str, without: str) -> Share:
    """Return what was spent, of a limit if there is one.

    Parameters
    ----------
    spent : float
    limit : float or None
    unit : str
    what : str
        What the limit is called.
    without : str
        What to say if there is none.

    Examples
    --------
    >>> from thrifty.web.views import spending
    >>> spending(7.5, 30.0, "CAD", "the cap", "No cap.").words
    'CAD 22.50 left of the cap of CAD 30.00.'
    """
    if limit is None:
        return Share(money(spent, unit), None, without)
    left = money(max(limit - spent, 0.0), unit)
    share = min(spent / limit, 1.0) if limit > 0 else 1.0
    return Share(money(spent, unit), share, f"{left} left of {what} of {money(limit, unit)}.")


def pace_words(pace: Mapping[str, Any], unit: str) -> str:
    """Say what cases have spent on average, against the budget.

    Parameters
    ----------
    pace : mapping
        As `Pacing.metrics` returns it.
    unit : str

    Examples
    --------
    >>> from thrifty.web.views import pace_words
    >>> pace_words({"budget": 5.0, "mean_spent": 4.8731, "cases": 132, "open": 2}, "CAD")
    'CAD 4.87 per case on average so far (130 cases); the budget is CAD 5.00.'
    """
    budget = f"the budget is {money(pace['budget'], unit)}."
    n = pace["cases"] - pace["open"]
    if not n:
        return f"No case has ended yet; {budget}"
    cases = "1 case" if n == 1 else f"{n} cases"
    return f"{format_mean(pace['mean_spent'], unit)} per case on average so far ({cases}); {budget}"


def purpose_words(predictor: Predictor) -> str:
    """Say what a model predicts, and in which unit its prices are."""
    labels = predictor.labels
    if labels is None:
        what = "Predicts a number"
    else:
        listed = ", ".join(str(label) for label in labels[:MAX_CLASSES_LISTED])
        more = ", ..." if len(labels) > MAX_CLASSES_LISTED else ""
        what = f"Predicts one of {len(labels)} classes: {listed}{more}"
    unit = predictor.prices.unit
    prices = f" Prices are in {unit}." if unit else ""
    return f"{what}. It asks only for what a case needs.{prices}"


def about_model(predictor: Predictor) -> list[tuple[str, str]]:
    """Return facts about a model, by what they are called."""
    unit = predictor.prices.unit
    n_calls = sum(1 for j in predictor.schema.calls if predictor.reads[j])
    return [
        ("Reads at most", f"{int(predictor.reads.sum()) - n_calls} features"),
        ("A case costs at most", money(predictor.ceiling, unit)),
        ("All features cost", money(predictor.prices.full, unit)),
        ("Kind", predictor.model.kind),
    ]


def cost_and_quality(predictor: Predictor) -> str:
    """Say what the model cost and was worth on rows that it had not seen; empty if not known."""
    origin = predictor.provenance or {}
    unit, metric = predictor.prices.unit, str(origin.get("metric", "quality"))
    try:  # what a model file says about its origin may be anything
        held_out: Mapping[str, Any] = origin["held_out"]
        bill = format_mean(float(held_out["bill"]), unit)
        quality = format_quality(metric, float(held_out["quality"]))
    except (TypeError, ValueError, LookupError):
        return ""
    words = f"{bill} per case on average, {metric.replace('_', ' ')} {quality}, "
    words += "on rows that it had not seen."
    budget = origin.get("budget")
    if isinstance(budget, int | float):
        words += f" It was chosen for a budget of {money(budget, unit)}."
    return words


def short_name(handle: str) -> str:
    """Return the beginning of a handle: enough for people to tell cases apart."""
    return handle[:8]


def time_words(time: float) -> tuple[str, str]:
    """Return a time of the system's clock for people, and as HTML has it."""
    when = datetime.fromtimestamp(time).astimezone()
    return f"{when:%b} {when.day}, {when:%H:%M}", when.isoformat(timespec="seconds")
