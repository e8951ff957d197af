"""What a person types, and what it stands for."""

from __future__ import annotations

import asyncio

import pytest
from starlette.requests import Request

from thrifty.errors import DataError
from thrifty.web.forms import field_of, read_amount, read_fields, read_form, training_range
from thrifty.web.problems import ProblemError
from thrifty.web.render import EMPTY

AGE, SEX = "<b>age</b>", "sex"


def typed(predictor, feature, *texts, is_known=False):
    """Return the values and the field after some texts were sent for a feature."""
    field = field_of(predictor, feature, is_known)
    values, (filled,) = read_fields(predictor, [field], {field.name: list(texts)})
    return values, filled


def request(body: bytes, media="application/x-www-form-urlencoded") -> Request:
    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", media.encode())]
    return Request({"type": "http", "method": "POST", "headers": headers}, receive)


def test_a_number_is_read(hostile):
    values, field = typed(hostile, AGE, " 63.5 ")
    assert values == {AGE: 63.5} and field.error == ""


def test_a_category_is_read_by_its_position(hostile):
    labels = hostile.schema.columns[hostile.schema.index(SEX)].categories
    assert typed(hostile, SEX, "1")[0] == {SEX: labels[1]}


@pytest.mark.parametrize("text", ["2", "-1", "f", "٣", "99999999999"])
def test_what_is_no_position_of_a_category_is_refused(hostile, text):
    values, field = typed(hostile, SEX, text)
    assert values == {} and field.error == "Choose one of the list." and field.typed == text


@pytest.mark.parametrize("feature", [AGE, SEX])
def test_a_value_may_have_come_back_empty(hostile, feature):
    values, field = typed(hostile, feature, EMPTY)
    assert values == {feature: None} and field.is_empty


def test_a_value_cannot_be_there_and_empty(hostile):
    values, field = typed(hostile, AGE, "63", EMPTY)
    assert values == {} and "not both" in field.error and field.typed == "63"


def test_what_is_left_blank_is_no_value(hostile):
    values, field = typed(hostile, AGE, "  ")
    assert values == {} and field.error == ""


def test_what_is_no_number_is_kept_with_its_error(hostile):
    values, field = typed(hostile, AGE, "old")
    assert values == {} and field.typed == "old" and "'old' is not a number" in field.error


def test_the_hint_is_the_range_of_training(hostile):
    assert field_of(hostile, AGE).hint == "In training: 20 to 80"
    assert field_of(hostile, SEX).hint == ""


@pytest.mark.parametrize("ranges", [None, 3, [], [["a", "b"]] * 4, [[0, float("inf")]] * 4])
def test_a_file_may_say_anything_about_its_ranges(hostile, ranges):
    assert training_range(hostile.replace(provenance={"ranges": ranges}), 0) is None


def test_a_form_is_read():
    form = asyncio.run(read_form(request(b"a=1&a=2&b=%C3%A9+x&c=")))
    assert form == {"a": ["1", "2"], "b": ["é x"], "c": [""]}


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        (b"{}", "application/json", 415),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"\xff", "application/x-www-form-urlencoded", 400),
        (b"&".join([b"a=1"] * 2001), "application/x-www-form-urlencoded; charset=utf-8", 400),
    ],
)
def test_what_is_no_form_is_refused(body, media, status):
    with pytest.raises(ProblemError) as caught:
        asyncio.run(read_form(request(body, media)))
    assert caught.value.status == status


@pytest.mark.parametrize("text", ["x", "-1", "nan", "inf", "1e200"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(DataError):
        read_amount(text)
