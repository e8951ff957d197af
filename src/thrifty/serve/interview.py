"""Interviewing a person: one question at a time, with values as they are typed.

An interview is a walk whose source is a person. It does no input or output of its own: it says
what to ask next and at what price, and takes the text that the person types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thrifty.bundle import Column, Predictor, Reason, Receipt, Schema
from thrifty.bundle.columns import Label
from thrifty.errors import DataError, did_you_mean

__all__ = ["Interview", "Question", "read_feature", "read_pair", "read_value"]

MISSING = "?"
"""What a person types for a missing value."""

QUOTES = "'\""
BOOLEANS = {"true": True, "false": False}
MAX_LISTED = 12

Step = tuple[Literal["tell", "skip"], str | int, Any]


@dataclass(frozen=True)
class Question:
    """A feature that is wanted.

    Parameters
    ----------
    feature : str or int
    price : float
        What it would cost now.
    labels : tuple of labels or None
        Its categories; None for a number.
    why : str
        Why it is wanted, in words; empty if the model does not say.
    """

    feature: str | int
    price: float
    labels: tuple[Label, ...] | None
    why: str = ""


class Interview:
    """One example whose values a person types in.

    Parameters
    ----------
    predictor : Predictor
    known : sequence of str
        Values known beforehand, as ``NAME=VALUE``; they are free of charge.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.serve import Interview
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, "yes", "no")
    >>> model = GreedyMiserClassifier(Prices([1, 1, 9]), penalty=0.01).fit(X, y)
    >>> interview = Interview(model.predictor_)
    >>> interview.question
    Question(feature=0, price=1.0, labels=None, why='')
    >>> interview.tell("1.5")
    >>> interview.done, interview.best, interview.receipt.total
    (True, 'yes', 1.0)
    """

    def __init__(self, predictor: Predictor, known: Sequence[str] = ()) -> None:
        self._predictor = predictor
        self._schema = predictor.schema
        self._steps: list[Step] = []
        self._remarks: list[str] = []
        pairs = [read_pair(self._schema, text) or text.split("=", 1) for text in known]
        self._walk = predictor.walk(dict(self._read(value, name) for name, value in pairs))
        for name, value in self._walk.known.items():
            self._check_range(name, value)

    @property
    def done(self) -> bool:
        """Whether nothing is left to ask."""
        return self._walk.done

    @property
    def question(self) -> Question | None:
        """What to ask next, the most useful per price; None when done."""
        return self._question(self._walk.asks[0]) if self._walk.asks else None

    @property
    def others(self) -> tuple[Question, ...]:
        """The other features that are wanted now."""
        return tuple(self._question(feature) for feature in self._walk.asks[1:])

    @property
    def best(self) -> Any:
        """The best answer so far."""
        return self._walk.best

    @property
    def probability(self) -> float | None:
        """Probability of the best answer so far; None for a model that predicts values."""
        return self._walk.probability

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the probability, or of the value; None without evidence."""
        return self._walk.interval

    @property
    def why(self) -> Reason | None:
        """Why the current question is asked; None when done."""
        return self._walk.why

    @property
    def receipt(self) -> Receipt:
        """What was bought so far."""
        return self._walk.receipt

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is odd about the values so far: those beyond what the model was trained on."""
        return tuple(self._remarks)

    def tell(self, text: str, feature: str | None = None) -> None:
        """Take the value of a feature, by default of the current question.

        Raises
        ------
        DataError
            If the text is not a value of that feature; the interview is then unchanged.
        """
        name, value = self._read(text, feature)
        self._walk.tell({name: value})
        self._steps.append(("tell", name, value))
        self._check_range(name, value)

    def know(self, text: str, feature: str | None = None) -> None:
        """Take a value that was known beforehand, so that it is free of charge."""
        name, value = self._read(text, feature)
        # Known values come first: start again with one more, and repeat what came since.
        walk = self._predictor.walk({**self._walk.known, name: value})
        for kind, earlier, earlier_value in self._steps:
            if kind == "tell":
                walk.tell({earlier: earlier_value})
            else:
                walk.skip(earlier)
        self._walk = walk
        self._check_range(name, value)

    def skip(self) -> None:
        """Go on without the feature of the current question."""
        name = self._current()
        self._walk.skip(name)
        self._steps.append(("skip", name, None))

    def stop(self) -> None:
        """End the interview with the best answer so far."""
        self._walk.stop()

    def pair(self, text: str) -> tuple[str, str | None]:
        """Split a text, ``NAME=VALUE`` or a value alone, into the value and the feature.

        Raises
        ------
        DataError
            If the text has an equals sign, but neither names a feature nor is a label of the
            current question; in quotes it is a value.
        """
        found = read_pair(self._schema, text)
        if found is not None:
            return found[1], found[0]
        name, equals, _ = text.partition("=")
        labels = map(str, (self.question.labels or ()) if self.question else ())
        if equals and text[0] not in QUOTES and text not in labels:
            hint = did_you_mean(name.strip(), self._schema.names)
            raise DataError(
                f"there is no feature {name.strip()!r}{hint or _some_of(self._walk.asks)}"
            )
        return text, None

    def _read(self, text: str, feature: str | None) -> tuple[str | int, Any]:
        name = self._current() if feature is None else read_feature(self._schema, feature)
        return name, read_value(self._schema.columns[self._schema.index(name)], text)

    def _check_range(self, name: str | int, value: Any) -> None:
        """Remark on a number that is smaller or larger than all in training."""
        # What a model file says about its origin may be anything.
        ranges: Any = (self._predictor.provenance or {}).get("ranges")
        try:
            low, high = map(float, ranges[self._schema.index(name)])
        except (TypeError, ValueError, LookupError):
            return
        if isinstance(value, float) and not low <= value <= high:
            self._remarks.append(
                f"{name}: {value:g} is outside the range of the training rows, {low:g} to {high:g}"
            )

    def _current(self) -> str | int:
        if not self._walk.asks:
            raise DataError("there is nothing left to ask")
        return self._walk.asks[0]

    def _question(self, feature: str | int) -> Question:
        column = self._schema.columns[self._schema.index(feature)]
        return Question(feature, self._walk.price(feature), column.categories)


def _some_of(features: Sequence[str | int]) -> str:
    """Return the end of a message that lists the features that are wanted."""
    more = ", ..." if len(features) > MAX_LISTED else ""
    return f"; wanted now: {', '.join(map(str, features[:MAX_LISTED]))}{more}"


def read_value(column: Column, text: str) -> Any:
    """Read a typed value: a number, or one of the column's labels; ``?`` is missing.

    Quotes around the text are removed, so that any label can be typed.

    Examples
    --------
    >>> from thrifty.bundle import Column
    >>> from thrifty.serve.interview import read_value
    >>> read_value(Column("age"), "63"), read_value(Column("sex", ("f", "m")), "m")
    (63.0, 'm')
    >>> read_value(Column("stage", (1, 2, 3)), "2"), read_value(Column("age"), "?")
    (2, None)
    >>> read_value(Column("sex", ("female", "male")), "femal")
    Traceback (most recent call last):
    ...
    thrifty.errors.DataError: 'sex': 'femal' is not one of 'female', 'male'; did you mean 'female'?
    """
    text = text.strip()
    if text == MISSING:
        return None
    if len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES:
        text = text[1:-1]
    boolean = BOOLEANS.get(text.lower())
    try:
        number = float(text if boolean is None else boolean)
    except ValueError:
        number = None
    if column.categories is not None:
        return _read_label(column, text, boolean, number)
    if number is None:
        hint = "; write a decimal point" if "," in text else ""
        raise DataError(f"{column.name!r}: {text!r} is not a number{hint}")
    if not math.isfinite(number):
        raise DataError(f"{column.name!r}: {text!r} is not a finite number; {MISSING} is missing")
    return number


def read_feature(schema: Schema, text: str) -> str | int:
    """Read a typed feature: its name, or its index if the features have no names."""
    bare = text.strip()
    if not schema.named and bare.isdecimal():
        return schema.name(schema.index(int(bare)))
    return schema.name(schema.index(text if text in schema.names else bare))


def read_pair(schema: Schema, text: str) -> tuple[str, str] | None:
    """Split ``NAME=VALUE`` after the name of a feature; None if it starts with no such name."""
    for i, character in enumerate(text):
        if character == "=":
            try:
                read_feature(schema, text[:i])
            except DataError:
                continue
            return text[:i], text[i + 1 :]
    return None


def _read_label(column: Column, text: str, boolean: bool | None, number: float | None) -> Label:
    """Return the label that a text stands for, ignoring case and the format of numbers.

    A text that stands for none is refused, unless the column has a category for all others.
    """
    labels = column.categories or ()
    for label in labels:
        if str(label) == text:
            return label
    for label in labels:
        if isinstance(label, str):
            same = label.casefold() == text.casefold()
        elif isinstance(label, bool):
            same = boolean is label
        else:
            same = boolean is None and number == label
        if same:
            return label
    if column.other is not None:
        return column.other
    known = [str(label) for label in labels]
    listed = ", ".join(map(repr, known[:MAX_LISTED]))
    more = f" and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    hint = did_you_mean(text, known)
    raise DataError(f"{column.name!r}: {text!r} is not one of {listed}{more}{hint}")
