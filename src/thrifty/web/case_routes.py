"""Cases: the server fetches what a prediction needs, asks the client for the rest, and answers."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thrifty.serve import Case, Cases
from thrifty.web.bodies import by_feature, case_state, read_body, refuse_contradictions, respond
from thrifty.web.metrics import Metrics, Sample
from thrifty.web.openapi import Operation
from thrifty.web.problems import ProblemError
from thrifty.web.settings import Settings
from thrifty.wire import (
    CaseState,
    CaseStep,
    CaseSummary,
    CaseValues,
    NewCase,
    OpenCases,
    SkippedFeatures,
)

__all__ = ["CASE_OPERATIONS", "CaseRoutes"]

MAX_LISTED = 1000
CASE = {
    "name": "case",
    "in": "path",
    "required": True,
    "description": "What the case goes by, as it was answered when it was created",
    "schema": {"type": "string"},
}
ID = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The id of the case, if the body has none",
    "schema": {"type": "string", "minLength": 1},
}
LIMIT = {
    "name": "limit",
    "in": "query",
    "description": "Most cases to list",
    "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LISTED, "default": 100},
}


def _step(path: str, summary: str, body: type) -> Operation:
    return Operation(
        "POST", path, summary, CaseState, body, errors=(404, 409, 410, 502, 503), parameters=(CASE,)
    )


CASE_OPERATIONS = [
    Operation(
        "POST",
        "/v1/cases",
        "Predict a case: the server buys what it needs, and asks for what it cannot buy",
        CaseState,
        NewCase,
        errors=(409, 410, 502, 503),
        parameters=(ID,),
    ),
    Operation(
        "GET",
        "/v1/cases",
        "The cases that have not ended",
        OpenCases,
        errors=(422, 503),
        parameters=(LIMIT,),
    ),
    Operation(
        "GET",
        "/v1/cases/{case}",
        "Where a case stands; nothing is bought",
        CaseState,
        errors=(404, 409, 410, 503),
        parameters=(CASE,),
    ),
    _step("/v1/cases/{case}/values", "Values that a case has asked for", CaseValues),
    _step("/v1/cases/{case}/skip", "Features that cannot be had", SkippedFeatures),
    _step("/v1/cases/{case}/stop", "End a case with its best answer so far", CaseStep),
    _step("/v1/cases/{case}/back", "Take back the last step", CaseStep),
]


class CaseRoutes:
    """Handlers for the cases of one model.

    Parameters
    ----------
    cases : Cases
    settings : Settings
    metrics : Metrics
        Gets what was spent, by what it was spent on, and the cases by how they ended.
    """

    def __init__(self, cases: Cases, settings: Settings, metrics: Metrics) -> None:
        self._cases, self._settings = cases, settings
        self._predictor = cases.runtime.predictor
        metrics.watch(self._counters, "counter")
        metrics.watch(self._gauges)
        self.routes = [
            Route("/v1/cases", self.create_or_list, methods=["GET", "POST"]),
            Route("/v1/cases/{case}", self.get, methods=["GET"]),
            Route("/v1/cases/{case}/values", self.tell, methods=["POST"]),
            Route("/v1/cases/{case}/skip", self.skip, methods=["POST"]),
            Route("/v1/cases/{case}/stop", self.stop, methods=["POST"]),
            Route("/v1/cases/{case}/back", self.back, methods=["POST"]),
        ]

    async def create_or_list(self, request: Request) -> Response:
        """Create a case (POST), or list those that are open (GET).

        One route has both, so that a wrong method is told of both.
        """
        return await (self.create if request.method == "POST" else self.list_open)(request)

    async def create(self, request: Request) -> Response:
        """Predict a case: buy what it needs, and answer when it is done or has to wait.

        A client that gives up loses nothing: purchases under way settle, and the case can be sent
        again under its id.
        """
        body = read_body(await request.body(), NewCase, self._settings.max_body)
        key = request.headers.get("idempotency-key")
        if key == "":
            raise ProblemError(422, "Bad request", "idempotency-key: it is empty; leave it out")
        # The answer must be on its way before the request is given up.
        longest = 0.9 * self._settings.timeout
        case = Case(
            id=key if body.id is None else body.id,
            known=by_feature(self._predictor, body.known),
            context=body.context,
            subject=body.subject,
            cap=body.cap,
            deadline=longest if body.deadline is None else min(body.deadline, longest),
            max_age=by_feature(self._predictor, body.max_age),
        )
        return respond(case_state(await self._cases.create(case)))

    async def list_open(self, request: Request) -> Response:
        """List the cases that have not ended."""
        text = request.query_params.get("limit", "100")
        if not (text.isdecimal() and text.isascii() and 1 <= int(text) <= MAX_LISTED):
            raise ProblemError(422, "Bad request", f"limit: it is not from 1 to {MAX_LISTED}")
        found = await self._cases.open_cases(int(text))
        return respond(
            OpenCases([CaseSummary(c.handle, c.started_at, c.spent, c.n_answers) for c in found])
        )

    async def get(self, request: Request) -> Response:
        """Say where a case stands."""
        return respond(case_state(await self._cases.get(request.path_params["case"])))

    async def tell(self, request: Request) -> Response:
        """Take values that a case has asked for, and go on."""
        body = read_body(await request.body(), CaseValues, self._settings.max_body)
        refuse_contradictions(body.values.keys() & body.known.keys())
        state = await self._cases.tell(
            request.path_params["case"],
            by_feature(self._predictor, body.values),
            by_feature(self._predictor, body.known),
            body.context,
        )
        return respond(case_state(state))

    async def skip(self, request: Request) -> Response:
        """Go on without some features."""
        body = read_body(await request.body(), SkippedFeatures, self._settings.max_body)
        features = by_feature(self._predictor, dict.fromkeys(body.features))
        state = await self._cases.skip(request.path_params["case"], features, body.context)
        return respond(case_state(state))

    async def stop(self, request: Request) -> Response:
        """End a case with its best answer so far."""
        read_body(await request.body(), CaseStep, self._settings.max_body)
        return respond(case_state(await self._cases.stop(request.path_params["case"])))

    async def back(self, request: Request) -> Response:
        """Take back the last step."""
        read_body(await request.body(), CaseStep, self._settings.max_body)
        return respond(case_state(await self._cases.back(request.path_params["case"])))

    def _counters(self) -> Iterable[Sample]:
        for stopped, count in self._cases.ended.items():
            yield "thrifty_cases_total", {"stopped": stopped}, count
        yield "thrifty_billed_total", {}, self._cases.billed
        for source, amount in self._cases.spent.items():
            yield "thrifty_spent_total", {"source": source}, amount

    def _gauges(self) -> Iterable[Sample]:
        runtime = self._cases.runtime
        yield "thrifty_open_purchases", {}, float(runtime.open_purchases)
        for name in runtime.down:
            yield "thrifty_source_down", {"source": name}, 1.0
