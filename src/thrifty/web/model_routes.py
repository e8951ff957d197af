"""The stateless routes: a batch of complete rows, the next step of one example, the model.

They are the hot ones, so they are plain Starlette, and a walk is read once per request.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thrifty.bundle import Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.errors import DataError, raise_all
from thrifty.web.bodies import asked, by_feature, read_body, refuse_contradictions, standing_of
from thrifty.web.problems import ProblemError
from thrifty.web.settings import Settings
from thrifty.wire import Model, Next, Predict, Prediction, Predictions, Standing

__all__ = ["ModelRoutes"]


class ModelRoutes:
    """Handlers for one model.

    Parameters
    ----------
    predictor : Predictor
    name : str
        How the model is called, such as the name of its file.
    settings : Settings
    """

    def __init__(self, predictor: Predictor, name: str, settings: Settings) -> None:
        self._predictor, self._settings = predictor, settings
        self._model = _describe(predictor, name)

    def predict(self, data: bytes) -> Predictions:
        """Predict rows whose values are all known."""
        body = read_body(data, Predict, self._settings.max_body)
        if len(body.rows) > self._settings.max_rows:
            raise ProblemError(
                413, "Too large", f"at most {self._settings.max_rows} rows at a time"
            )
        if not body.rows:
            return Predictions([])
        predictor, schema = self._predictor, self._predictor.schema
        rows = [by_feature(predictor, row) for row in body.rows]
        given = set().union(*rows)
        unknown = given.difference(schema.names)
        needed = [schema.names[j] for j in np.flatnonzero(predictor.reads) if j not in schema.calls]
        absent = [name for name in needed if any(name not in row for row in rows)]
        raise_all(
            DataError,
            "rows",
            [
                *(f"there is no feature {name!r}" for name in sorted(unknown, key=str)),
                *(
                    f"{name!r} is missing; send null if it is empty, or use /v1/next, which asks "
                    "only for what a row needs"
                    for name in absent
                ),
            ],
        )
        table = {str(name): [row.get(name) for row in rows] for name in schema.names}
        encoded = predictor.encode(table)
        scores = predictor.model.score(encoded)
        used = predictor.model.used(encoded)
        bills = predictor.prices.bill(used, predictor.model.evaluations(encoded)).tolist()
        if predictor.labels is None:
            pairs: list[tuple[Any, float | None]] = [(value, None) for value in scores.tolist()]
        else:
            codes = predictor.decide(scores)
            pairs = [
                (predictor.labels[code], float(row[code]))
                for code, row in zip(codes, scores, strict=True)
            ]
        return Predictions(
            [Prediction(*pair, bill) for pair, bill in zip(pairs, bills, strict=True)]
        )

    def next(self, data: bytes) -> Standing:
        """Say what one example should get next, or its answer; nothing is kept."""
        body = read_body(data, Next, self._settings.max_body)
        predictor = self._predictor
        twice = [f for f in body.told if body.known.get(f, body.told[f]) != body.told[f]]
        given = {**body.known, **body.told}
        twice += [feature for feature in body.skipped if given.get(feature) is not None]
        refuse_contradictions(twice)
        walk = predictor.walk(by_feature(predictor, body.known))
        walk.tell(by_feature(predictor, body.told))
        for feature in by_feature(predictor, dict.fromkeys(body.skipped)):
            walk.skip(feature)
        return standing_of(walk, predictor)

    def model(self, data: bytes) -> Model:
        """Describe the model."""
        return self._model


def _describe(predictor: Predictor, name: str) -> Model:
    prices, schema = predictor.prices, predictor.schema
    own = zip(schema.names, prices.own.tolist(), strict=True)
    return Model(
        name=name,
        kind=predictor.model.kind,
        classes=None if predictor.labels is None else [plain_value(c) for c in predictor.labels],
        unit=prices.unit,
        features=[asked(predictor, feature, price) for feature, price in own],
        groups=dict(zip(prices.group_names, prices.shared.tolist(), strict=True)),
        evaluation=prices.evaluation,
        calls=dict(prices.calls),
        full=prices.full,
        largest=predictor.ceiling,
    )
