"""Pages from templates: HTML that needs no script, and one style sheet."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from thrifty.web.problems import ProblemError

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["EMPTY", "STYLE_PATH", "problem_page", "render", "style_sheet"]

EMPTY = "empty"
"""What a form sends for a value that was bought and came back empty."""

STYLE_PATH = "/static/page.css"
YEAR = 365 * 86_400


@cache
def _style() -> tuple[bytes, str]:
    """Return the style sheet, and its address with a digest: a new version is a new address."""
    text = files("thrifty.web").joinpath("static/page.css").read_bytes()
    return text, f"{STYLE_PATH}?{hashlib.sha256(text).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("thrifty.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(EMPTY=EMPTY, style=_style()[1], here="", nav=True, has_session=False)
    return environment


def render(template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """Return a page.

    Parameters
    ----------
    template : str
        Name of its template.
    status : int
        HTTP status.
    **facts
        What the template shows; all text is escaped.
    """
    return HTMLResponse(_environment().get_template(template).render(facts), status)


def problem_page(problem: ProblemError) -> Response:
    """Return the page that says what went wrong.

    Examples
    --------
    >>> from thrifty.web.problems import ProblemError
    >>> from thrifty.web.render import problem_page
    >>> page = problem_page(ProblemError(404, "No such case", "<b> is unknown"))
    >>> page.status_code, b"&lt;b&gt; is unknown" in page.body
    (404, True)
    """
    response = render("problem.html", problem.status, problem=problem)
    response.headers.update(problem.headers)
    return response


async def style_sheet(request: Request) -> Response:
    """Return the style sheet; its address changes with it, so that browsers may keep it."""
    headers = {"cache-control": f"public, max-age={YEAR}, immutable"}
    return Response(_style()[0], media_type="text/css", headers=headers)
