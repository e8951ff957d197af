"""The page: facts in, one HTML file out that needs nothing but itself."""

from __future__ import annotations

import os
from typing import Any

from thrifty.costs.money import money
from thrifty.files import write_whole
from thrifty.report.chart import calibration_chart, chart
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
        What `thrifty.report.facts` or `facts_of` gives.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import facts, page
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> html = page(facts(found, title="Signs & wonders"))
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
    # Text in the drawings is escaped where it was drawn.
    drawings = {
        "drawing": Markup(chart(facts)) if "frontier" in facts else "",
        "reliability": Markup(calibration_chart(facts)) if facts["calibration"] else "",
    }
    return environment.get_template(TEMPLATE).render(facts, **drawings, shown=SHOWN)


def write(html: str, path: str | os.PathLike[str]) -> None:
    """Write a page beside its place and then put it there.

    Raises
    ------
    OSError
        If the file cannot be written; an old file is then as it was.
    """
    write_whole(path, html.encode("utf-8"))


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else str(value)
