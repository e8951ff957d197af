"""Errors as RFC 9457 "problem details": one JSON shape for everything that goes wrong."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from thrifty.errors import (
    BudgetError,
    BundleError,
    CaseConflictError,
    CaseNotFoundError,
    DataError,
    LedgerError,
    SourceError,
    ThriftyError,
)
from thrifty.serve import CaseExpiredError, TooManyCasesError
from thrifty.wire import ProblemDetails

__all__ = ["ProblemError", "problem_of", "problem_response"]

MEDIA_TYPE = "application/problem+json"

# What the client can do something about is 4xx; the others are the server's to mend.
STATUS: tuple[tuple[type[ThriftyError], int, str], ...] = (
    (BundleError, 500, "The model file cannot be used"),
    (LedgerError, 503, "The ledger cannot record purchases"),
    (SourceError, 502, "A source failed"),
    (BudgetError, 409, "The budget does not allow it"),
    (CaseNotFoundError, 404, "There is no such case"),
    (TooManyCasesError, 503, "Too many cases"),
    (CaseExpiredError, 410, "The case has expired"),
    (CaseConflictError, 409, "The case does not allow it"),
    (DataError, 422, "The values cannot be used"),
)


class ProblemError(Exception):
    """An error that a handler raises to answer with problem details.

    Parameters
    ----------
    status : int
        HTTP status.
    title : str
        What kind of problem it is; the same for all of its kind.
    detail : str
        What is wrong with this request, and the remedy.
    headers : mapping, optional
        Headers of the response.
    """

    def __init__(
        self, status: int, title: str, detail: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status} {title}: {detail}")
        self.status, self.title, self.detail = status, title, detail
        self.headers = dict(headers or {})


def problem_of(error: ThriftyError) -> ProblemError:
    """Return the problem that an error of the library is to a client.

    Examples
    --------
    >>> from thrifty.errors import DataError
    >>> from thrifty.web.problems import problem_of
    >>> problem_of(DataError("values: 'age' is 'x', which is not a number")).status
    422
    """
    status, title = next(
        ((status, title) for kind, status, title in STATUS if isinstance(error, kind)),
        (500, "Thrifty failed"),
    )
    headers = {"retry-after": "1"} if status == 503 else None
    return ProblemError(status, title, str(error), headers)


def problem_response(problem: ProblemError) -> Response:
    """Return the response for a problem."""
    body = ProblemDetails(problem.title, problem.status, problem.detail)
    return Response(
        msgspec.json.encode(body), problem.status, problem.headers, media_type=MEDIA_TYPE
    )
