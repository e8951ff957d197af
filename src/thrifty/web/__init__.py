"""The HTTP app: what `thrifty serve` runs.

`create_app` (app.py) joins the routes. Every request passes the guard (guard.py): host, origin,
token, rate, size and time. The stateless routes are in model_routes.py, cases in case_routes.py,
and their bodies, which clients share, in `thrifty.wire`; openapi.py describes them, problems.py
words what goes wrong, metrics.py counts.

The pages for people are in pages.py: forms.py reads what was typed, views.py and curve.py say what
is shown, render.py fills the templates. login.py takes the token; docs_page.py shows the API.
"""

from __future__ import annotations

from thrifty.web.app import create_app
from thrifty.web.settings import Settings

__all__ = ["Settings", "create_app"]
