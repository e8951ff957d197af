"""Buying from one source: attempts, retries, and what a failure means for the bill.

A purchase goes on when the walk that asked for it has gone on without it, and is settled all the
same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thrifty.bundle import Schema
from thrifty.serve.ledger.records import Settlement, State
from thrifty.serve.runtime.catalog import Offer
from thrifty.serve.runtime.receipt import Outcome
from thrifty.serve.sources.base import (
    AsyncSource,
    NotFoundError,
    Query,
    RefusedError,
    UnclearError,
    UnsentError,
    UnusableError,
)
from thrifty.serve.sources.breaker import Breaker
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.values import check_values, dump_values

__all__ = ["Order", "Result", "buy", "settlements"]


@dataclass(slots=True)
class Result:
    """How the purchase of one item ended.

    Parameters
    ----------
    outcome : str
        As in `Charge`.
    state : {"settled", "void", "assumed"}
        As in the ledger.
    values : dict
        What was delivered and can be used, by feature.
    attempts : int
    error : str
        What went wrong, without values.
    paid : float
    """

    outcome: Outcome
    state: State = "settled"
    values: dict[Feature, Any] = field(default_factory=dict, repr=False)
    attempts: int = 1
    error: str = ""
    paid: float = 0.0


@dataclass(frozen=True, eq=False)
class Order:
    """What is bought from one source in one round.

    Parameters
    ----------
    source : AsyncSource
    offers : tuple of Offer
    quotes : dict of str to float
        What each item may cost.
    keys : dict of str to str
        The idempotency key of each item.
    values, context : mapping
        As in `Query`.
    patience : float
        Seconds after which nobody waits any longer.
    """

    source: AsyncSource
    offers: tuple[Offer, ...]
    quotes: dict[str, float]
    keys: dict[str, str]
    values: Mapping[Feature, Any] = field(repr=False)
    context: Mapping[str, Any] = field(repr=False)
    patience: float


async def buy(
    order: Order, schema: Schema, breaker: Breaker, turn: asyncio.Semaphore
) -> dict[str, Result]:
    """Ask a source and return how the purchase of each item ended; never raises an `Exception`.

    Several items are asked for at once, unless the source tells requests apart by their keys: a
    key stands for one item.
    """
    apart = order.source.terms.idempotent
    lots = [(offer,) for offer in order.offers] if apart else [order.offers]
    if len(lots) == 1:
        return await _buy_lot(order, lots[0], schema, breaker, turn)
    asked = (_buy_lot(order, lot, schema, breaker, turn) for lot in lots)
    results: dict[str, Result] = {}
    for found in await asyncio.gather(*asked):
        results |= found
    return results


async def _buy_lot(
    order: Order,
    offers: Sequence[Offer],
    schema: Schema,
    breaker: Breaker,
    turn: asyncio.Semaphore,
) -> dict[str, Result]:
    """Ask for some items, again where that cannot be charged twice."""
    terms = order.source.terms
    features = tuple(feature for offer in offers for feature in offer.features)
    key = order.keys[offers[0].item]
    query = Query(features, order.values, order.context, key)
    loop = asyncio.get_running_loop()
    give_up = loop.time() + order.patience
    attempts, pause = 0, terms.pause
    doubt: Exception | None = None  # the first attempt that was or may have been charged
    while True:
        attempts += 1
        was_sent = False
        try:
            async with asyncio.timeout_at(give_up):
                async with turn:
                    was_sent = True
                    breaker.asked()
                    raw = await order.source.fetch(query)
            if not isinstance(raw, Mapping):
                raise UnusableError(
                    f"source {terms.name!r} returned no mapping of feature to value"
                )
            breaker.succeeded()
            results = _delivered(offers, raw, schema, terms.bills_failures, attempts)
            if doubt is not None:
                void = [offer for offer in offers if results[offer.item].state == "void"]
                results |= _failed(void, doubt, False, attempts)
            return results
        except TimeoutError as error:
            # Ours, or one that the source has raised: then nobody can tell either.
            failure: Exception = error
            if was_sent:
                failure = UnclearError(f"source {terms.name!r}: no answer in time")
            else:
                failure = UnsentError(f"source {terms.name!r}: too many requests at once")
        except Exception as error:  # a source that is not ours may raise anything
            failure = error
        if isinstance(failure, NotFoundError):
            breaker.succeeded()
        else:
            breaker.failed()
        is_free = isinstance(failure, UnsentError) or (
            not isinstance(failure, UnclearError | UnusableError) and not terms.bills_failures
        )
        if not is_free and doubt is None:
            doubt = failure
        again = (is_free or terms.idempotent) and not isinstance(failure, NotFoundError)
        if attempts > terms.retries or not again or loop.time() + pause >= give_up:
            return _failed(offers, doubt or failure, doubt is None, attempts)
        await asyncio.sleep(pause)
        pause *= 2


def _delivered(
    offers: Sequence[Offer],
    raw: Mapping[Feature, Any],
    schema: Schema,
    bills_failures: bool,
    attempts: int,
) -> dict[str, Result]:
    """Return what came for each item; what was left out was not delivered."""
    wanted = [feature for offer in offers for feature in offer.features]
    good, problems = check_values(schema, {f: raw[f] for f in wanted if f in raw})
    results = {}
    for offer in offers:
        came = [feature for feature in offer.features if feature in raw]
        values = {feature: good[feature] for feature in came if feature in good}
        words = "; ".join(f"{f!r} {problems[f]}" for f in came if f in problems)
        if not came:
            state: State = "settled" if bills_failures else "void"
            results[offer.item] = Result("failed", state, attempts=attempts, error="not delivered")
        else:
            outcome: Outcome = "delivered" if values else "invalid"
            results[offer.item] = Result(outcome, "settled", values, attempts, words)
    return results


def _failed(
    offers: Sequence[Offer], failure: Exception, is_free: bool, attempts: int
) -> dict[str, Result]:
    """Return what a failure means for each item."""
    words = (
        str(failure)
        if isinstance(failure, RefusedError | UnsentError | UnclearError | UnusableError)
        else ""
    )
    words = words or type(failure).__name__  # the text of another error may hold values
    if isinstance(failure, UnusableError):
        outcome: Outcome = "invalid"
        state: State = "settled"
    elif isinstance(failure, UnclearError):
        outcome, state = "assumed", "assumed"
    else:
        outcome, state = "failed", "void" if is_free else "settled"
    return {offer.item: Result(outcome, state, {}, attempts, words) for offer in offers}


def settlements(
    case: str, owners: Mapping[str, str], results: Mapping[str, Result]
) -> list[Settlement]:
    """Return how the ledger records the results of an order."""
    return [
        Settlement(
            case,
            item,
            owners[item],
            result.state,
            result.paid,
            result.outcome,
            dump_values(result.values) if result.outcome == "delivered" else None,
        )
        for item, result in results.items()
    ]
