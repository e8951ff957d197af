"""What a client answers: checked against the case, priced, and ready for the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thrifty.bundle import Schema
from thrifty.costs.money import money
from thrifty.errors import CaseConflictError, DataError, did_you_mean, raise_all
from thrifty.serve.ledger.records import STEP_ITEM, CaseRecord, Entry
from thrifty.serve.runtime.progress import Progress
from thrifty.serve.runtime.shared import Shared
from thrifty.serve.sources.rows import Feature
from thrifty.serve.sources.values import check_values, dump_values

__all__ = ["Answer", "Answers", "check_answers", "next_number", "price_answers", "withdraw_last"]

Answer = tuple[str, float, str, str | None]
"""Item, what is paid, outcome and values of one answer, as `Ledger.draft` takes it."""


@dataclass(frozen=True)
class Answers:
    """What a client says in one step.

    Parameters
    ----------
    told : mapping
        Values that were bought now, by feature.
    known : mapping
        Values that it had already; they are free.
    declined : sequence of str or int
        Features that cannot be had.
    stop : bool
        Whether the best answer so far is to be the answer.
    """

    told: Mapping[Feature, Any] = field(default_factory=dict, repr=False)
    known: Mapping[Feature, Any] = field(default_factory=dict, repr=False)
    declined: Sequence[Feature] = ()
    stop: bool = False


def check_answers(schema: Schema, answers: Answers) -> Answers:
    """Return answers with plain values.

    Raises
    ------
    DataError
        If a feature is unknown or named twice, or a value is invalid: all that is wrong, at once.
    """
    named = [*answers.told, *answers.known, *answers.declined]
    problems = []
    usable = []
    for feature in dict.fromkeys(named):
        if feature not in schema.names:
            hint = did_you_mean(feature, schema.names)
            problems.append(f"there is no feature {feature!r}{hint}")
        elif schema.index(feature) in schema.calls:
            problems.append(f"{feature!r} is a call that the model makes itself")
        else:
            usable.append(feature)
        if named.count(feature) > 1:
            problems.append(f"{feature!r} is answered twice")
    plain: list[dict[Feature, Any]] = []
    for values in (answers.told, answers.known):
        good, wrong = check_values(schema, {f: x for f, x in values.items() if f in usable})
        problems += [f"{feature!r}: {words}" for feature, words in wrong.items()]
        plain.append(good)
    raise_all(DataError, "values", problems)
    return Answers(plain[0], plain[1], tuple(answers.declined), answers.stop)


def price_answers(
    shared: Shared, progress: Progress, record: CaseRecord, answers: Answers
) -> list[Answer]:
    """Return what is new in some answers, with what it costs.

    Raises
    ------
    CaseConflictError
        If the case has another value or answer, or its cap does not allow them.
    """
    catalog, account = shared.catalog, progress.account
    values = {**answers.told, **answers.known}
    new: list[Feature] = []
    found: list[Answer] = []
    problems = []
    for feature in [*values, *answers.declined]:
        item = catalog.of_client[feature].item
        old = record.entries.get(item)
        if old is not None and feature in values and _is_erased(old):  # it is told once more
            found.append((item, old.charged, old.outcome or "", _dump(values, feature)))
            continue
        fault = _conflict(shared.predictor.schema, progress, old, feature, values)
        if fault is None:
            new.append(feature)
        elif fault:
            problems.append(fault)
    raise_all(CaseConflictError, "values", problems)
    told = [catalog.of_client[feature] for feature in new if feature in answers.told]
    quotes = dict(zip(told, catalog.quote(told, account.entered), strict=True))
    quoted = {offer.item: quote for offer, quote in quotes.items()}
    if not account.allows(progress.walk, new, quoted):
        unit = shared.predictor.prices.unit
        left = money(max((account.cap or 0.0) - account.spent(progress.walk), 0.0), unit)
        raise CaseConflictError(
            f"cap: {', '.join(map(repr, new))} would exceed it, {left} is left; send fewer values, "
            "or stop"
        )
    found += [(o.item, q, "delivered", _dump(values, o.features[0])) for o, q in quotes.items()]
    for feature in new:
        item = catalog.of_client[feature].item
        if feature in answers.known:
            found.append((item, 0.0, "known", _dump(values, feature)))
        elif feature not in answers.told:
            found.append((item, 0.0, "declined", None))
    stop = record.entries.get(STEP_ITEM)
    if answers.stop and (stop is None or stop.state == "void"):
        found.append((STEP_ITEM, 0.0, "stopped", None))
    return found


def _conflict(
    schema: Schema,
    progress: Progress,
    old: Entry | None,
    feature: Feature,
    values: Mapping[Feature, Any],
) -> str | None:
    """Return what speaks against an answer: None for a new one, "" for one that is there."""
    is_declined = old is not None and old.state == "settled" and old.outcome == "declined"
    if is_declined:
        return "" if feature not in values else f"{feature!r} was declined; go back to answer it"
    there = progress.values
    if feature not in there:
        return None
    if feature not in values:
        return f"{feature!r} has a value already; go back to decline it"
    before, now = (
        next(iter(schema.encode_values({feature: value}).values()))
        for value in (there[feature], values[feature])
    )
    if before == now or (before != before and now != now):  # two missing values are the same
        return ""
    return f"{feature!r} has another value already; go back to change it"


def _is_erased(entry: Entry) -> bool:
    """Return whether a value was there, and was erased as it was too old."""
    return entry.state == "settled" and entry.outcome != "declined" and entry.values is None


def _dump(values: Mapping[Feature, Any], feature: Feature) -> str:
    return dump_values({feature: values[feature]})


def withdraw_last(record: CaseRecord) -> list[Answer]:
    """Return what takes back the last step of the client.

    Raises
    ------
    CaseConflictError
        If there is none.
    """
    live = [entry for entry in _steps(record) if entry.state == "settled"]
    if not live:
        raise CaseConflictError("back: there is no answer to take back")
    last = max(entry.epoch for entry in live)
    return [(entry.item, 0.0, "withdrawn", None) for entry in live if entry.epoch == last]


def next_number(record: CaseRecord) -> int:
    """Return the number of the client's next step."""
    return 1 + max((entry.epoch for entry in _steps(record)), default=0)


def _steps(record: CaseRecord) -> list[Entry]:
    return [e for item, e in record.entries.items() if item.partition("/")[0] == STEP_ITEM]
