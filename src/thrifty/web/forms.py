"""Forms: the inputs of a page, and the values that a person has typed into them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request

from thrifty.bundle import Predictor
from thrifty.costs.money import price_fault
from thrifty.errors import DataError
from thrifty.serve.interview import read_value
from thrifty.serve.sources.rows import Feature
from thrifty.web.problems import ProblemError
from thrifty.web.render import EMPTY

__all__ = ["Field", "Form", "field_of", "read_amount", "read_fields", "read_form", "training_range"]

MEDIA_TYPE = "application/x-www-form-urlencoded"
MAX_FIELDS = 2_000

Form = Mapping[str, list[str]]
"""What a browser has sent: texts by the name of the input."""


@dataclass(frozen=True)
class Field:
    """The input of one feature.

    Parameters
    ----------
    feature : str or int
    label : str
        How it is called on the page.
    name : str
        Name of the input. It is made of the column's position, since a feature may have any name.
    choices : tuple of str or None
        Categories as they are shown; None for a number. A form sends the position of a category.
    hint : str
        What values are usual.
    is_known : bool
        Whether a value that is known beforehand is asked for: it may be left out.
    typed : str
        What was typed.
    is_empty : bool
        Whether the value came back empty.
    error : str
        What is wrong with it.
    """

    feature: Feature
    label: str
    name: str
    choices: tuple[str, ...] | None
    hint: str = ""
    is_known: bool = False
    typed: str = ""
    is_empty: bool = False
    error: str = ""


def field_of(predictor: Predictor, feature: Feature, is_known: bool = False) -> Field:
    """Return the input of a feature, with nothing typed.

    Examples
    --------
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.web.forms import field_of
    >>> constant = Forest.constant([4.5], "sum", n_features=1)
    >>> schema = Schema.of({"sex": ["f", "m"]})
    >>> predictor = Predictor(constant, schema, Prices([1.0]).bind(["sex"]))
    >>> field_of(predictor, "sex").choices
    ('f', 'm')
    """
    j = predictor.schema.index(feature)
    labels = predictor.schema.columns[j].categories
    choices = None if labels is None else tuple(map(str, labels))
    found = training_range(predictor, j) if choices is None else None
    hint = "" if found is None else f"In training: {found[0]:g} to {found[1]:g}"
    label = feature if isinstance(feature, str) else f"Feature {feature}"
    return Field(feature, label, f"f{j}", choices, hint, is_known)


def training_range(predictor: Predictor, j: int) -> tuple[float, float] | None:
    """Return the smallest and the largest value of a column in training; None if not known."""
    try:  # what a model file says about its origin may be anything
        low, high = map(float, (predictor.provenance or {})["ranges"][j])
    except (TypeError, ValueError, LookupError):
        return None
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


async def read_form(request: Request) -> Form:
    """Return what a form has sent.

    Raises
    ------
    ProblemError
        If it is no form (415), or cannot be read (400).
    """
    if request.headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE:
        raise ProblemError(415, "Not a form", f"send {MEDIA_TYPE}")
    try:
        text = (await request.body()).decode("ascii")
        return parse_qs(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ProblemError(400, "Bad form", "it cannot be read") from None


def read_fields(
    predictor: Predictor, fields: Iterable[Field], form: Form
) -> tuple[dict[Feature, Any], list[Field]]:
    """Return the values that were typed, and the fields with their text and their errors.

    A field that was left blank has neither a value nor an error.
    """
    values: dict[Feature, Any] = {}
    filled = []
    for blank in fields:
        sent = form.get(blank.name, [])
        text = next((each.strip() for each in sent if each != EMPTY), "")
        field = replace(blank, typed=text, is_empty=EMPTY in sent)
        if field.choices is not None and field.is_empty:
            field = replace(field, typed=EMPTY)
        try:
            if field.is_empty and text:
                raise DataError("Enter a value, or say that it came back empty, not both.")
            if field.is_empty:
                values[field.feature] = None
            elif text:
                values[field.feature] = _read(predictor, field, text)
        except DataError as error:
            field = replace(field, error=str(error))
        filled.append(field)
    return values, filled


def _read(predictor: Predictor, field: Field, text: str) -> Any:
    """Return the value that a text stands for."""
    column = predictor.schema.columns[predictor.schema.index(field.feature)]
    if column.categories is None:
        return read_value(column, text)
    if not (text.isdecimal() and len(text) < 5 and int(text) < len(column.categories)):
        raise DataError("Choose one of the list.")
    return column.categories[int(text)]


def read_amount(text: str) -> float | None:
    """Return an amount of money that was typed; None if nothing was.

    Raises
    ------
    DataError
        If it is no amount.

    Examples
    --------
    >>> from thrifty.web.forms import read_amount
    >>> read_amount(" 12.50 "), read_amount("")
    (12.5, None)
    """
    text = text.strip()
    if not text:
        return None
    try:
        amount = float(text)
    except ValueError:
        raise DataError(f"{text!r} is not a number") from None
    fault = price_fault(amount, "cap")
    if fault is not None:
        raise DataError(fault)
    return amount
