"""All problems in one error, and the name that was probably meant."""

from __future__ import annotations

import pytest

from thrifty.errors import (
    BudgetError,
    BundleError,
    DataError,
    PriceError,
    ResumeError,
    SourceError,
    ThriftyError,
    did_you_mean,
    raise_all,
)


@pytest.mark.parametrize("error", [BudgetError, BundleError, DataError, PriceError, SourceError])
def test_every_error_is_a_thrifty_error(error):
    assert issubclass(error, ThriftyError)


def test_bad_input_is_a_value_error():
    assert issubclass(DataError, ValueError)
    assert issubclass(PriceError, DataError)
    assert issubclass(ResumeError, DataError)


def test_no_problem_raises_nothing():
    raise_all(DataError, "table", [])


def test_one_problem_is_one_line():
    with pytest.raises(DataError, match=r"^table: 'age' is negative$"):
        raise_all(DataError, "table", ["'age' is negative"])


def test_several_problems_are_listed():
    with pytest.raises(PriceError) as caught:
        raise_all(PriceError, "prices", ["a", "b", "c"])
    assert str(caught.value).splitlines() == ["prices: 3 problems", "  - a", "  - b", "  - c"]


@pytest.mark.parametrize(
    ("name", "known", "hint"),
    [
        ("Chol", ["age", "chol"], "; did you mean 'chol'?"),
        ("coal", ["age", "chol"], "; did you mean 'chol'?"),
        ("zzz", ["age", "chol"], ""),
        ("zzz", [], ""),
        (12, [3, 123], "; did you mean 123?"),
    ],
)
def test_the_closest_known_name_is_suggested(name, known, hint):
    assert did_you_mean(name, known) == hint
