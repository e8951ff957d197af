"""The bodies of requests and responses, as server and clients share them.

The same classes describe the API in ``/openapi.json``.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

__all__ = [
    "Amount",
    "Answer",
    "Asked",
    "Bought",
    "CaseState",
    "CaseStep",
    "CaseSummary",
    "CaseValues",
    "Charged",
    "Feature",
    "Label",
    "Model",
    "NewCase",
    "Next",
    "OpenCases",
    "Predict",
    "Prediction",
    "Predictions",
    "ProblemDetails",
    "Question",
    "Reason",
    "Row",
    "SkippedFeatures",
    "Standing",
    "Text",
    "Value",
    "Values",
]

Value = str | float | int | bool | None
"""A value of a feature; null: it was bought and came back empty."""

Label = str | int | float | bool
"""The label of a class."""

# In the description of a server, the features of its model take the places with these titles.
Values = Annotated[dict[str, Value], msgspec.Meta(title="Values")]
"""Values by feature."""
Row = Annotated[dict[str, Value], msgspec.Meta(title="Row")]
"""A value of every feature that the model may read."""
Feature = Annotated[str, msgspec.Meta(title="Feature")]

Text = Annotated[str, msgspec.Meta(min_length=1)]
Amount = Annotated[float, msgspec.Meta(ge=0)]


class Predict(msgspec.Struct, forbid_unknown_fields=True):
    """Rows whose values are all known."""

    rows: list[Row]


class Prediction(msgspec.Struct):
    """The answer for one row."""

    answer: Label
    probability: float | None
    bill: float
    """What the row would have cost: the prices of all that the model has read."""


class Predictions(msgspec.Struct):
    """One prediction per row."""

    predictions: list[Prediction]


class Next(msgspec.Struct, forbid_unknown_fields=True):
    """Where an example is: the server keeps nothing of it."""

    known: Values = {}
    """Values known beforehand; they are free."""
    told: Values = {}
    """Values bought since."""
    skipped: list[Feature] = []
    """Features that cannot be had."""


class Asked(msgspec.Struct):
    """A feature that is wanted now."""

    feature: str | int
    price: float
    categories: list[Label] | None = None
    """The values it may have; null for a number."""


class Standing(msgspec.Struct):
    """Where an example stands: what to get next, or the answer."""

    done: bool
    asks: list[Asked]
    best: Label
    """The best answer so far; the answer if it is done."""
    probability: float | None
    scores: list[float]
    spent: float


class Model(msgspec.Struct):
    """What a model reads, what that costs, and what it predicts."""

    name: str
    kind: str
    classes: list[Label] | None
    unit: str
    features: list[Asked]
    groups: dict[str, float]
    evaluation: float
    calls: dict[str, float]
    full: float
    """The price of all features."""
    largest: float
    """What one example may cost at most."""


class Question(Asked, kw_only=True):
    """A feature that the client should get now."""

    why: str
    """Why it is wanted; empty if the model does not say."""


class NewCase(msgspec.Struct, forbid_unknown_fields=True):
    """A case whose values the server fetches, or asks for."""

    id: Text | None = None
    """Sent again, by anyone, the case goes on where it was: nothing is bought twice."""
    known: Values = {}
    """Values known beforehand; they are free."""
    context: dict[str, Value] = {}
    """Identifiers for the sources, such as the number of a customer; neither stored nor logged."""
    subject: Text | None = None
    """Whom it is about: values bought for earlier cases are reused while they are fresh."""
    cap: Amount | None = None
    """What may be spent at most."""
    deadline: Amount | None = None
    """Seconds until the answer is needed."""
    max_age: dict[str, Amount] = {}
    """How old a reused value may be, in seconds, by feature."""


class CaseValues(msgspec.Struct, forbid_unknown_fields=True):
    """Values of a case that waits; without any, it goes on where it was."""

    values: Values = {}
    """Values that were bought: charged at their prices."""
    known: Values = {}
    """Values that were there already; they are free."""
    context: dict[str, Value] = {}
    """Identifiers for the sources, if the server was restarted since the case was created."""


class SkippedFeatures(msgspec.Struct, forbid_unknown_fields=True):
    """Features that cannot be had."""

    features: list[Feature]
    context: dict[str, Value] = {}
    """As in `CaseValues`."""


class CaseStep(msgspec.Struct, forbid_unknown_fields=True):
    """A step that needs no more than its name: an empty object."""


class CaseSummary(msgspec.Struct):
    """A case that has not ended."""

    case: str
    started_at: float
    """Seconds since 1970."""
    spent: float
    n_answers: int
    """Features that the client has answered."""


class OpenCases(msgspec.Struct):
    """The cases that have not ended, the oldest first."""

    cases: list[CaseSummary]


class Reason(msgspec.Struct):
    """Why a feature was bought."""

    features: list[str | int]
    price: float
    kind: str
    gain: float | None
    cost: float
    per_price: float | None
    runner_up: dict[str, Any] | None
    text: str


class Bought(msgspec.Struct):
    """A feature that the model used."""

    feature: str | int
    value: Value
    price: float
    why: str
    reason: Reason | None


class Charged(msgspec.Struct):
    """A purchase, made or attempted."""

    item: str
    source: str
    features: list[str | int]
    outcome: str
    paid: float
    attempts: int
    error: str


class Answer(msgspec.Struct):
    """The answer of a case, and its receipt."""

    answer: Label
    probability: float | None
    interval: list[float] | None
    stopped: str | None
    reason: str
    purchases: list[Bought]
    evaluation: float
    total: float
    """The bill of the model: the price of what it used."""
    unit: str
    unread: list[str | int]
    rounds: list[list[str | int]]
    latency: float | None
    delay_unit: str
    spent: float
    """What was really spent, with what failed, arrived late or was not used."""
    charges: list[Charged]
    skipped: list[str | int]
    seconds: float
    recorded: bool


class CaseState(Answer, kw_only=True):
    """Where a case stands, and its receipt so far."""

    case: str
    """What it goes by from now on; it does not tell the id."""
    done: bool
    """Whether it has ended; until then, `answer` is the best answer so far."""
    asks: list[Question]
    """What the client should get now, the most useful first."""
    left: float | None
    """What the cap still allows; null without a cap."""


class ProblemDetails(msgspec.Struct, omit_defaults=True):
    """The body of every response that is an error."""

    title: str
    status: int
    detail: str = ""
    type: str = "about:blank"
