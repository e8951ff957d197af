"""The HTTP app: routes, guard and life cycle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from thrifty.bundle import OperatingPoints, Predictor
from thrifty.errors import LedgerError
from thrifty.serve import Cases, Runtime
from thrifty.web.bodies import JsonRoute, respond
from thrifty.web.case_routes import CASE_OPERATIONS, CaseRoutes
from thrifty.web.docs_page import docs_route
from thrifty.web.guard import Guard
from thrifty.web.login import login_routes
from thrifty.web.metrics import Metrics, Sample
from thrifty.web.model_routes import ModelRoutes
from thrifty.web.openapi import Operation, describe_api
from thrifty.web.pacing_metrics import watch_runtime
from thrifty.web.pages import Pages
from thrifty.web.render import STYLE_PATH, style_sheet
from thrifty.web.settings import Settings
from thrifty.wire import Model, Next, Predict, Predictions, Standing

__all__ = ["create_app"]

OPERATIONS = [
    Operation("POST", "/v1/predict", "Predict rows with all values known", Predictions, Predict),
    Operation(
        "POST",
        "/v1/next",
        "What an example should get next, or its answer",
        Standing,
        Next,
        errors=(409,),
    ),
    Operation("GET", "/v1/model", "What the model reads, costs and predicts", Model),
    Operation("GET", "/healthz", "Whether the process is alive", "text/plain"),
    Operation("GET", "/readyz", "Whether it can serve", "text/plain", errors=(503,)),
    Operation("GET", "/metrics", "Figures for Prometheus", "text/plain"),
]
# How often cases that nobody answers any more are looked for.
EXPIRE_SECONDS = 60.0


def create_app(
    predictor: Predictor,
    name: str = "model",
    settings: Settings | None = None,
    runtime: Runtime | None = None,
    points: OperatingPoints | None = None,
) -> Guard:
    """Return the app that serves a model.

    Parameters
    ----------
    predictor : Predictor
    name : str
        How the model is called, such as the name of its file.
    settings : Settings, optional
    runtime : Runtime, optional
        With a ledger. Serves cases of the same model from its sources, and asks clients for the
        rest; without it there are neither ``/v1/cases`` nor pages for people. It is closed with the
        app, after its purchases have settled.
    points : OperatingPoints, optional
        All operating points of the model, for the curve on its page.

    Examples
    --------
    >>> from starlette.testclient import TestClient
    >>> from thrifty.bundle import Predictor, Schema
    >>> from thrifty.costs import Prices
    >>> from thrifty.model import Forest
    >>> from thrifty.web import create_app
    >>> constant = Forest.constant([4.5], "sum", n_features=1)
    >>> predictor = Predictor(constant, Schema.of([[0.0]]), Prices([1.0]).bind(1))
    >>> client = TestClient(create_app(predictor), base_url="http://localhost")
    >>> client.post("/v1/next", json={}).json()["best"]
    4.5
    """
    settings = settings or Settings()
    metrics = Metrics()
    model = ModelRoutes(predictor, name, settings)
    operations, routes = [*OPERATIONS], []
    cases = None
    if runtime is not None:
        cases = Cases(runtime, settings.max_open, settings.expire_days)
        operations += CASE_OPERATIONS
        routes += CaseRoutes(cases, settings, metrics).routes
        watch_runtime(cases.runtime, metrics)
        routes += Pages(cases, name, settings, points).routes
    else:
        routes.append(Route("/", lambda _: RedirectResponse("/docs")))
    if settings.token is not None:
        routes += login_routes(settings.token)
    document = describe_api(operations, settings.token is not None, predictor)

    async def openapi(request: Request) -> Response:
        return respond(document)

    async def figures(request: Request) -> Response:
        gauges: list[Sample] = []
        if cases is not None:
            with suppress(LedgerError):  # the other figures are worth having all the same
                gauges = [("thrifty_open_cases", {}, float(await cases.count_open()))]
        return PlainTextResponse(metrics.text(gauges), media_type="text/plain; version=0.0.4")

    async def ready(request: Request) -> Response:
        if cases is not None:
            await cases.check()
        return PlainTextResponse("ok\n")

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    router = Router(
        routes=[
            Route("/v1/predict", JsonRoute(model.predict), methods=["POST"]),
            Route("/v1/next", JsonRoute(model.next), methods=["POST"]),
            Route("/v1/model", JsonRoute(model.model), methods=["GET"]),
            Route("/openapi.json", openapi),
            Route("/healthz", alive),
            Route("/readyz", ready),
            Route("/metrics", figures),
            Route(STYLE_PATH, style_sheet),
            docs_route(document, predictor),
            *routes,
        ],
        lifespan=lambda _: _while_running(cases),
        redirect_slashes=False,
    )
    return Guard(router, settings, metrics)


@asynccontextmanager
async def _while_running(cases: Cases | None) -> AsyncIterator[None]:
    """Expire cases while the server runs, and let their purchases settle when it stops."""
    if cases is None:
        yield
        return
    expiring = asyncio.create_task(_keep_expiring(cases))
    yield
    expiring.cancel()
    await cases.aclose()


async def _keep_expiring(cases: Cases) -> None:
    """End cases that nobody answers any more, now and then."""
    while True:
        with suppress(LedgerError):  # /readyz reports it
            await cases.expire()
        await asyncio.sleep(EXPIRE_SECONDS)
