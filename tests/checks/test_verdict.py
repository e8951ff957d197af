from __future__ import annotations

import warnings

import numpy as np
import pytest

from thrifty.checks import Case, LawError
from thrifty.checks.verdict import law, require, same

CASE = Case("tiny", "float64", (), None, None, None)  # type: ignore[arg-type]


def test_the_same_bits_agree() -> None:
    same("score", [1.0, np.nan, -0.0], np.array([1.0, np.nan, -0.0]))
    same("answer", np.array(["a", "bb"]), np.array(["a", "bb"], dtype="<U9"))
    same("nothing", np.empty((0, 3)), np.empty((0, 3)))


@pytest.mark.parametrize(
    ("due", "found", "message"),
    [
        ([0.0, 0.0], [0.0, -0.0], "x of row 1: -0.0 instead of 0.0"),
        ([1.0, np.nan], [1.0, 1.0], "x of row 1: 1.0 instead of nan"),
        ([[1, 2], [3, 4]], [[1, 2], [3, 5]], r"x of row 1: \[3, 5\] instead of \[3, 4\]"),
        (["a", "b", "c"], ["x", "b", "z"], r"row 0: 'x' instead of 'a' \(2 rows differ\)"),
        ([1.0], [1.0, 2.0], r"x: float64 \(2,\) instead of float64 \(1,\)"),
        ([1.0], [1], "x: int64"),
    ],
)
def test_the_first_row_that_differs_is_reported(due, found, message) -> None:
    with pytest.raises(LawError, match=message):
        same("x", due, found)


def test_a_law_reports_statement_estimator_and_case() -> None:
    @law("one is two")
    def law_sums(estimator, case) -> None:
        require(1 == 2, "it is not")

    with pytest.raises(LawError, match=r"^one is two \[int, case tiny\]: it is not$"):
        law_sums(1, CASE)
    assert law_sums.__name__ == "law_sums"


def test_an_error_inside_a_law_is_a_breach_with_its_cause() -> None:
    @law("all is well")
    def law_calm(estimator, case) -> None:
        raise ZeroDivisionError("oh")

    with pytest.raises(LawError, match="ZeroDivisionError: oh") as caught:
        law_calm(1, CASE)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_only_the_warning_that_the_cases_provoke_is_silenced() -> None:
    @law("all is quiet")
    def law_quiet(estimator, case) -> None:
        warnings.warn(estimator, UserWarning, stacklevel=1)

    law_quiet("categories never seen in training count as missing", CASE)
    with pytest.raises(LawError, match="UserWarning: something else"):
        law_quiet("something else", CASE)
