"""The description of the API (OpenAPI 3.1), made from the classes of requests and responses."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from thrifty import __version__
from thrifty.bundle import Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.web.problems import MEDIA_TYPE
from thrifty.wire import ProblemDetails

__all__ = ["Operation", "describe_api", "field_docs"]

JSON = "application/json"


@dataclass(frozen=True)
class Operation:
    """One operation of the API.

    Parameters
    ----------
    method, path : str
    summary : str
    response : type or str
        Class of the response, or its media type if it is text.
    body : type, optional
        Class of the request.
    errors : tuple of int
        Statuses of problems that it may answer with, beside those that every operation has.
    parameters : tuple of dict
        Parameters in the path, the query or the headers, as OpenAPI has them.
    status : int
        Status of success.
    """

    method: str
    path: str
    summary: str
    response: type | str
    body: type | None = None
    errors: tuple[int, ...] = ()
    parameters: tuple[dict[str, Any], ...] = ()
    status: int = 200


def describe_api(
    operations: list[Operation], has_token: bool, predictor: Predictor | None = None
) -> dict[str, Any]:
    """Return the OpenAPI document of some operations, with the features of a model.

    Examples
    --------
    >>> from thrifty.web.openapi import Operation, describe_api
    >>> from thrifty.wire import Next, Standing
    >>> step = Operation("POST", "/v1/next", "The next step of one example", Standing, Next)
    >>> sorted(describe_api([step], has_token=False)["components"]["schemas"])
    ['Asked', 'Next', 'ProblemDetails', 'Standing']
    """
    kinds = {each for op in operations for each in (op.response, op.body) if isinstance(each, type)}
    ordered = sorted({*kinds, ProblemDetails}, key=lambda kind: kind.__name__)
    schemas, components = msgspec.json.schema_components(
        ordered, ref_template="#/components/schemas/{name}"
    )
    schema_of = dict(zip(ordered, schemas, strict=True))
    modules = [sys.modules[kind.__module__] for kind in ordered]
    for name, schema in components.items():
        kind = next(getattr(module, name) for module in modules if hasattr(module, name))
        for field, words in field_docs(kind).items():
            schema["properties"][field]["description"] = words
    if predictor is not None:
        features = _features(predictor)
        components = {**_with_features(components, features), **features}
    paths: dict[str, Any] = {}
    for op in operations:
        paths.setdefault(op.path, {})[op.method.lower()] = _entry(op, schema_of, has_token)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "Thrifty", "version": __version__, "summary": "Predict under a budget"},
        "paths": paths,
        "components": {"schemas": components},
    }
    if has_token:
        document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"token": []}]
    return document


def _features(predictor: Predictor) -> dict[str, Any]:
    """Return schemas of a feature of a model, of some of its values, and of a whole row."""
    schema = predictor.schema
    of_value = {}
    for column in schema.columns:
        any_value: dict[str, Any] = {"type": ["number", "string", "boolean", "null"]}
        if column.categories is not None:  # any other counts as missing, or as "other"
            any_value["examples"] = [plain_value(label) for label in column.categories]
        is_number = column.categories is None and not column.is_call
        of_value[str(column.name)] = (
            {"type": ["number", "boolean", "null"]} if is_number else any_value
        )
    read = [j for j in np.flatnonzero(predictor.reads) if j not in schema.calls]
    values = {"type": "object", "properties": of_value, "additionalProperties": False}
    return {
        "Feature": {"type": "string", "enum": list(of_value)},
        "Values": {"description": "Values by feature", **values},
        "Row": {
            "description": "A value of every feature that the model may read",
            "required": [str(schema.names[j]) for j in read],
            **values,
        },
    }


def _with_features(node: Any, features: dict[str, Any]) -> Any:
    """Return a schema in which every place that is titled as one of the features refers to it."""
    if isinstance(node, list):
        return [_with_features(each, features) for each in node]
    if not isinstance(node, dict):
        return node
    title = node.get("title")
    if isinstance(title, str) and title in features and "type" in node:
        kept = {key: node[key] for key in ("default", "description") if key in node}
        return {"$ref": f"#/components/schemas/{title}", **kept}
    return {key: _with_features(value, features) for key, value in node.items()}


def field_docs(kind: type) -> dict[str, str]:
    """Return what the source says about the fields of a class: the text below each of them.

    Examples
    --------
    >>> from thrifty.web.openapi import field_docs
    >>> from thrifty.wire import Next
    >>> field_docs(Next)["told"]
    'Values bought since.'
    """
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        for field, below in pairwise(_class_bodies(kind.__module__).get(each.__name__, [])):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(words))),
                ):
                    found[name] = inspect.cleandoc(words)
    return found


@cache
def _class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    """Return what is in the classes of a module, by name."""
    statements = ast.parse(inspect.getsource(sys.modules[module])).body
    return {each.name: each.body for each in statements if isinstance(each, ast.ClassDef)}


def _entry(op: Operation, schema_of: dict[type, Any], has_token: bool) -> dict[str, Any]:
    """Return the OpenAPI entry of one operation."""
    schema = schema_of[op.response] if isinstance(op.response, type) else {"type": "string"}
    media = JSON if isinstance(op.response, type) else op.response
    responses: dict[str, Any] = {
        str(op.status): {
            "description": HTTPStatus(op.status).phrase,
            "content": {media: {"schema": schema}},
        }
    }
    common = (400, 413, 422) if op.body is not None else ()
    for status in sorted({*common, *op.errors, 429, 500, 504, *((401,) if has_token else (421,))}):
        responses[str(status)] = {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": schema_of[ProblemDetails]}},
        }
    entry: dict[str, Any] = {
        "operationId": "_".join([op.method.lower(), *re.findall(r"\w+", op.path)]),
        "summary": op.summary,
        "responses": responses,
    }
    if op.body is not None:
        content = {JSON: {"schema": schema_of[op.body]}}
        entry["requestBody"] = {"required": True, "content": content}
    if op.parameters:
        entry["parameters"] = list(op.parameters)
    return entry
