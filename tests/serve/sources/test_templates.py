"""Identifiers in URLs and documents."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.serve import Query, UnsentError
from thrifty.serve.sources.templates import fill_json, fill_url, names_in, variables


def test_the_context_comes_before_values_of_the_same_name():
    query = Query(("x",), values={"who": 1, 7: 2}, context={"who": "ann"})
    assert variables(query) == {"who": "ann", "7": 2}


def test_names_are_found_everywhere():
    template = {"a": "{x}", "b": [{"c": "no. {y} of {z}"}], "d": 7}
    assert sorted(names_in(template)) == ["x", "y", "z"]


def test_a_value_cannot_leave_its_place_in_a_url():
    url = fill_url("http://h/{a}/x?q={b}", {"a": "../../admin", "b": "1&role=root#"})
    assert url == "http://h/..%2F..%2Fadmin/x?q=1%26role%3Droot%23"


@pytest.mark.parametrize("value", ["..", ".", "", None])
def test_a_value_that_would_be_a_step_up_is_refused(value):
    with pytest.raises(UnsentError, match="it is empty"):
        fill_url("http://h/{a}/x", {"a": value})


def test_numbers_keep_their_type_in_a_document():
    filled = fill_json({"n": "{n}", "o": "{o}"}, {"n": np.int64(3), "o": (1, 2)})
    assert filled == {"n": 3, "o": "(1, 2)"}


def test_braces_that_are_no_name_are_left_alone():
    assert fill_json("{}{1}{a b!}", {}) == "{}{1}{a b!}"
