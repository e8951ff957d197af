"""Templates and the style sheet."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from thrifty.web.problems import ProblemError
from thrifty.web.render import problem_page, render


def test_what_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError):
        render("login.html")


def test_the_address_of_the_style_sheet_may_be_kept(client):
    page = client.get("/docs").text
    (address,) = re.findall(r'<link rel="stylesheet" href="([^"]+)">', page)
    response = client.get(address)
    assert response.headers["content-type"].startswith("text/css")
    assert "immutable" in response.headers["cache-control"]
    assert response.headers.get_list("cache-control") == [response.headers["cache-control"]]


def test_a_problem_keeps_its_headers():
    page = problem_page(ProblemError(429, "Too many requests", headers={"retry-after": "1"}))
    assert (page.status_code, page.headers["retry-after"]) == (429, "1")
