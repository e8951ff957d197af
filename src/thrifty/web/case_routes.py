"""Cases: the server fetches what a prediction needs, and answers with a receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from starlette.requests import Request
from starlette.responses import Response

from thrifty.serve import Case, Runtime
from thrifty.web.metrics import Metrics, Sample
from thrifty.web.problems import ProblemError
from thrifty.web.settings import Settings
from thrifty.web.wire import Answer, NewCase, by_feature, read_body, respond

__all__ = ["CaseRoutes"]


class CaseRoutes:
    """Handlers for the cases of one model.

    Parameters
    ----------
    runtime : Runtime
    settings : Settings
    metrics : Metrics
        Gets what was spent, by what it was spent on, and the cases by how they ended.
    """

    def __init__(self, runtime: Runtime, settings: Settings, metrics: Metrics) -> None:
        self._runtime, self._settings, self._metrics = runtime, settings, metrics
        self._open = 0
        metrics.watch(self._gauges)

    async def create(self, request: Request) -> Response:
        """Predict a case: buy what it needs, and answer when it is done.

        A client that gives up loses nothing: purchases under way settle, and the case can be sent
        again under its id.
        """
        body = read_body(await request.body(), NewCase, self._settings.max_body)
        if self._open >= self._settings.max_open:
            raise ProblemError(503, "Too many cases", "try again in a moment", {"retry-after": "1"})
        predictor = self._runtime.predictor
        longest = self._settings.timeout
        case = Case(
            id=request.headers.get("idempotency-key") if body.id is None else body.id,
            known=by_feature(predictor, body.known),
            context=body.context,
            subject=body.subject,
            cap=body.cap,
            # The answer must be on its way before the request is given up.
            deadline=min(0.9 * longest if body.deadline is None else body.deadline, 0.9 * longest),
            max_age=by_feature(predictor, body.max_age),
        )
        self._open += 1
        try:
            receipt = await asyncio.shield(self._runtime.serve(case))
        finally:
            self._open -= 1
        self._metrics.add("thrifty_cases_total", 1, stopped=receipt.stopped or "open")
        self._metrics.add("thrifty_billed_total", receipt.total)
        for charge in receipt.charges:
            self._metrics.add("thrifty_spent_total", charge.paid, source=charge.source)
        return respond(Answer(**receipt.to_dict()))

    def _gauges(self) -> Iterable[Sample]:
        yield "thrifty_open_cases", {}, float(self._open)
        yield "thrifty_open_purchases", {}, float(self._runtime.open_purchases)
        for name in self._runtime.down:
            yield "thrifty_source_down", {"source": name}, 1.0
