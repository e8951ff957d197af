"""The page: facts in, one HTML file out that needs nothing but itself."""

from __future__ import annotations

import os
from typing import Any

from thrifty.costs.money import money
from thrifty.files import write_whole
from thrifty.report.chart import chart
from thrifty.report.words import average

__all__ = ["page", "write"]

TEMPLATE = "report.html"
# Features told one by one; the rest is counted.
SHOWN = 40


def page(facts: dict[str, Any]) -> str:
    """Write facts as an HTML page.

    Parameters
    ----------
    facts : dict
        What `thrifty.report.facts` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import facts, page
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> html = page(facts(fit_budget(X, X[:, 0] > 0, budget=1), title="Signs & wonders"))
    >>> "<h1>Signs &amp; wonders</h1>" in html
    True
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("thrifty.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(money=money, average=average, number=_number)
    drawing = Markup(chart(facts))  # text in it is escaped where it was drawn
    return environment.get_template(TEMPLATE).render(facts, drawing=drawing, shown=SHOWN)


def write(html: str, path: str | os.PathLike[str]) -> None:
    """Write a page beside its place and then put it there.

    Raises
    ------
    OSError
        If the file cannot be written; an old file is then as it was.
    """
    write_whole(path, html.encode("utf-8"))


def _number(value: float) -> str:
    return f"{value:.4g}"
