"""Errors of the library become problems with the right status."""

from __future__ import annotations

import json

import pytest

from thrifty.errors import (
    BudgetError,
    BundleError,
    DataError,
    LedgerError,
    PriceError,
    SourceError,
    ThriftyError,
)
from thrifty.web.problems import ProblemError, problem_of, problem_response


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (DataError("x"), 422),
        (PriceError("x"), 422),
        (BudgetError("x"), 409),
        (SourceError("x"), 502),
        (LedgerError("x"), 503),
        (BundleError("x"), 500),
        (ThriftyError("x"), 500),
    ],
)
def test_an_error_has_its_status_and_its_words(error, status):
    problem = problem_of(error)
    assert (problem.status, problem.detail) == (status, "x")


def test_a_problem_is_sent_as_problem_json_with_its_headers():
    response = problem_response(ProblemError(429, "Too many", "slow down", {"retry-after": "1"}))
    assert response.status_code == 429
    assert response.headers["content-type"] == "application/problem+json"
    assert response.headers["retry-after"] == "1"
    assert json.loads(response.body) == {"title": "Too many", "status": 429, "detail": "slow down"}
