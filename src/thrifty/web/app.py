"""The HTTP app: routes, guard and life cycle."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, Router

from thrifty.bundle import Predictor
from thrifty.web.guard import Guard
from thrifty.web.metrics import Metrics
from thrifty.web.model_routes import ModelRoutes
from thrifty.web.openapi import Operation, describe_api
from thrifty.web.settings import Settings
from thrifty.web.wire import JsonRoute, Model, Next, Predict, Predictions, Standing, respond

__all__ = ["create_app"]

OPERATIONS = [
    Operation("POST", "/v1/predict", "Predict rows with all values known", Predictions, Predict),
    Operation("POST", "/v1/next", "What an example should get next, or its answer", Standing, Next),
    Operation("GET", "/v1/model", "What the model reads, costs and predicts", Model),
    Operation("GET", "/healthz", "Whether the process is alive", "text/plain"),
    Operation("GET", "/readyz", "Whether it can serve", "text/plain"),
    Operation("GET", "/metrics", "Figures for Prometheus", "text/plain"),
]


def create_app(
    predictor: Predictor, name: str = "model", settings: Settings | None = None
) -> Guard:
    """Return the app that serves a model.

    Parameters
    ----------
    predictor : Predictor
    name : str
        How the model is called, such as the name of its file.
    settings : Settings, optional

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
    document = describe_api(OPERATIONS, settings.token is not None)

    async def openapi(request: Request) -> Response:
        return respond(document)

    async def figures(request: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    async def alive(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    router = Router(
        routes=[
            Route("/v1/predict", JsonRoute(model.predict), methods=["POST"]),
            Route("/v1/next", JsonRoute(model.next), methods=["POST"]),
            Route("/v1/model", JsonRoute(model.model), methods=["GET"]),
            Route("/openapi.json", openapi),
            Route("/healthz", alive),
            Route("/readyz", alive),
            Route("/metrics", figures),
        ],
        redirect_slashes=False,
    )
    return Guard(router, settings, metrics)
