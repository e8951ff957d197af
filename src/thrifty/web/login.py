"""Logging in: somebody who knows the token gets a cookie, which the guard accepts."""

from __future__ import annotations

import hmac

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from thrifty.web.forms import read_form
from thrifty.web.guard import SESSION_COOKIE, is_local, session_value
from thrifty.web.problems import ProblemError
from thrifty.web.render import problem_page, render

__all__ = ["login_routes"]


def login_routes(token: str) -> list[Route]:
    """Return the routes of a server that has a token.

    The cookie is gone when the browser is closed. Beyond this machine it is sent over HTTPS only:
    whoever listened to it could log in.
    """

    async def ask(request: Request) -> Response:
        return render("login.html", errors=(), nav=False)

    async def log_in(request: Request) -> Response:
        try:
            given = (await read_form(request)).get("token", [""])[0].strip()
        except ProblemError as problem:
            return problem_page(problem)
        if not hmac.compare_digest(given.encode(), token.encode()):
            wrong = [("token", "This is not the token of this server.")]
            return render("login.html", 403, errors=wrong, nav=False)
        response = RedirectResponse("/", 303)
        response.set_cookie(
            SESSION_COOKIE,
            session_value(token),
            httponly=True,
            samesite="strict",
            secure=not is_local(request.headers.get("host", "")),
        )
        return response

    async def log_out(request: Request) -> Response:
        response = RedirectResponse("/login", 303)
        response.delete_cookie(SESSION_COOKIE, httponly=True, samesite="strict")
        return response

    return [
        Route("/login", ask, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]
