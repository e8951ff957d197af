"""The page that describes the API, made from the OpenAPI document."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from thrifty.bundle import Predictor
from thrifty.bundle.receipt import plain_value
from thrifty.web.forms import training_range
from thrifty.web.render import render

__all__ = ["ApiField", "ApiOperation", "api_operations", "docs_route", "example_bodies"]

REFERENCE = "#/components/schemas/"
# Fields of objects inside objects are listed under the object, as far as this.
MAX_DEPTH = 3


@dataclass(frozen=True)
class ApiField:
    """A field of a request or a response.

    Parameters
    ----------
    name : str
        With the names of the objects that it is in: ``asks[].price``.
    type : str
        In words.
    is_required : bool
    default : str
        As JSON; empty if there is none.
    description : str
    """

    name: str
    type: str
    is_required: bool
    default: str
    description: str


@dataclass(frozen=True)
class ApiOperation:
    """An operation, ready to be shown.

    Parameters
    ----------
    id, method, path, summary : str
    parameters, body, response : list of ApiField
    media : str
        Media type of the response.
    errors : list of (str, str)
        Statuses of problems, and what they mean.
    curl : str
        A command that calls it.
    """

    id: str
    method: str
    path: str
    summary: str
    parameters: list[ApiField]
    body: list[ApiField]
    response: list[ApiField]
    media: str
    errors: list[tuple[str, str]]
    curl: str


def docs_route(document: Mapping[str, Any], predictor: Predictor) -> Route:
    """Return the route of the page that describes the API."""
    bodies = example_bodies(predictor)
    has_token = "security" in document

    async def docs(request: Request) -> Response:
        address = str(request.base_url).rstrip("/")
        return render(
            "docs.html",
            here="/docs",
            operations=api_operations(document, bodies, address),
            has_session=has_token,
        )

    return Route("/docs", docs, methods=["GET"])


def api_operations(
    document: Mapping[str, Any], bodies: Mapping[str, Any], address: str
) -> list[ApiOperation]:
    """Return the operations of an OpenAPI document.

    Parameters
    ----------
    document : mapping
    bodies : mapping of str to JSON value
        Example of the request body, by operation id.
    address : str
        Address of the server, for the commands.
    """
    schemas = document["components"]["schemas"]
    found = []
    for path, methods in document["paths"].items():
        for method, entry in methods.items():
            (_, success), *problems = sorted(entry["responses"].items())
            ((media, content),) = success["content"].items()
            body = entry.get("requestBody", {}).get("content", {}).get("application/json")
            example = bodies.get(entry["operationId"]) if body else None
            found.append(
                ApiOperation(
                    id=entry["operationId"],
                    method=method.upper(),
                    path=path,
                    summary=entry["summary"],
                    parameters=[
                        ApiField(
                            each["name"],
                            f"{_type(each['schema'])}, in the {each['in']}",
                            each.get("required", False),
                            "",
                            each.get("description", ""),
                        )
                        for each in entry.get("parameters", ())
                    ],
                    body=[] if body is None else _fields(body["schema"], schemas),
                    response=_fields(content["schema"], schemas),
                    media=media,
                    errors=[(code, each["description"]) for code, each in problems],
                    curl=_curl(f"{address}{path}", example, "security" in document),
                )
            )
    return found


def example_bodies(predictor: Predictor) -> dict[str, Any]:
    """Return a request body for every operation that has one, with features of this model."""
    columns = predictor.schema.columns
    reads = [j for j in predictor.reads.nonzero()[0].tolist() if j not in predictor.schema.calls]
    row = {}
    for j in reads or range(min(len(columns), 1)):
        labels = columns[j].categories
        low, high = training_range(predictor, j) or (0.0, 2.0)
        value = float(f"{(low + high) / 2:.3g}") if labels is None else plain_value(labels[0])
        row[str(columns[j].name)] = value
    some = dict(list(row.items())[:1])
    return {
        "post_v1_predict": {"rows": [row]},
        "post_v1_next": {"known": some},
        "post_v1_cases": {"id": "application-17", "known": some},
        "post_v1_cases_case_values": {"values": some},
        "post_v1_cases_case_skip": {"features": list(some)},
        "post_v1_cases_case_stop": {},
        "post_v1_cases_case_back": {},
    }


def _fields(
    schema: Mapping[str, Any], schemas: Mapping[str, Any], prefix: str = "", depth: int = 0
) -> list[ApiField]:
    """Return the fields of an object, those of objects inside it after them."""
    plain = _resolve(schema, schemas)
    required = plain.get("required", ())
    found = []
    for name, entry in plain.get("properties", {}).items():
        default = json.dumps(entry["default"]) if "default" in entry else ""
        found.append(
            ApiField(
                prefix + name, _type(entry), name in required, default,
                " ".join(entry.get("description", "").split()),
            )
        )  # fmt: skip
        inner, mark = entry, ""
        for option in entry.get("anyOf", ()):
            inner = option if option.get("type") != "null" else inner
        if inner.get("type") == "array":
            inner, mark = inner["items"], "[]"
        if "$ref" in inner and depth + 1 < MAX_DEPTH:
            found += _fields(inner, schemas, f"{prefix}{name}{mark}.", depth + 1)
    return found


def _resolve(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    found: Mapping[str, Any] = (
        schema if reference is None else schemas[reference.removeprefix(REFERENCE)]
    )
    return found


def _type(schema: Mapping[str, Any], plural: str = "") -> str:
    """Return the type of a value in words; `plural` is "s" for several."""
    options = [_type(option, plural) for option in schema.get("anyOf", ())]
    if options:
        scalars = [f"{kind}{plural}" for kind in ("string", "number", "boolean")]
        if all(kind in options for kind in scalars):  # whatever a feature may have
            options = [f"value{plural}", *(each for each in options if each == f"null{plural}")]
        return " or ".join(dict.fromkeys(options))
    kind = schema.get("type", "object" if "$ref" in schema else "value")
    if kind == "array":
        return f"list{plural} of {_type(schema.get('items', {}), 's')}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"{_type(schema['additionalProperties'], 's')} by name"
    return f"{'number' if kind == 'integer' else kind}{plural}"


def _curl(url: str, body: Any, has_token: bool) -> str:
    """Return a command for a shell."""
    parts = ["curl"]
    if has_token:
        parts.append('-H "Authorization: Bearer $THRIFTY_TOKEN"')
    if body is not None:
        parts.append(f"--json {shlex.quote(json.dumps(body, ensure_ascii=False))}")
    parts.append(shlex.quote(url))
    return (" " if len(parts) < 3 else " \\\n  ").join(parts)
