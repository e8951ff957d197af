"""A case: what it may hold, and what it shows."""

from __future__ import annotations

import pytest

from thrifty.errors import DataError
from thrifty.serve import Case


def test_all_problems_are_named_at_once():
    with pytest.raises(DataError) as caught:
        Case("", subject="\ud800", cap=-1, deadline="soon", max_age={"age": float("nan")})
    text = str(caught.value)
    for part in ("id:", "subject:", "cap: -1", "deadline: 'soon'", "max_age of 'age': nan"):
        assert part in text


def test_the_repr_shows_no_value_and_no_identifier():
    case = Case("application-17", {"age": 63}, {"who": "ann"}, "bob", cap=2.0)
    assert repr(case) == "Case(1 known value, cap=2.0)"
    assert repr(Case()) == "Case(0 known values)"
