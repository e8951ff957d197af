"""The report page: facts in, one HTML file out that needs neither network nor scripts."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from thrifty.costs.money import money
from thrifty.files import write_whole
from thrifty.report.card_sections import MAX_FEATURES_LISTED, groups_section, never_bought
from thrifty.report.charts import MAX_NAMED, calibration_chart, frontier_chart
from thrifty.report.spending import spending_sentences
from thrifty.report.words import format_mean, format_number, format_quality, total_words

__all__ = ["make_environment", "render_page", "write_page"]

TEMPLATE = "report.html"


def render_page(facts: dict[str, Any]) -> str:
    """Render facts as an HTML page.

    Parameters
    ----------
    facts : dict
        What `fit_facts` or `predictor_facts` returned; with what `card_facts` adds, the page also
        compares groups.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.frontier import fit_budget
    >>> from thrifty.report import fit_facts, render_page
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> found = fit_budget(X, X[:, 0] > 0, budget=1, learners=[GreedyMiserClassifier()])
    >>> html = render_page(fit_facts(found, title="Signs & wonders"))
    >>> html[html.index("<h1>") : html.index("</h1>")]
    '<h1>Signs &amp; wonders'
    """
    from markupsafe import Markup

    template = make_environment(facts).get_template(TEMPLATE)
    # The text inside the charts was escaped when they were drawn.
    html = template.render(
        facts,
        frontier_chart=Markup(frontier_chart(facts)) if "frontier" in facts else "",
        calibration_chart=Markup(calibration_chart(facts)) if facts["calibration"] else "",
        groups=groups_section(facts) if facts.get("by") else None,
        max_features=MAX_FEATURES_LISTED,
        max_named=MAX_NAMED,
        never_bought=never_bought(facts),
        spending=spending_sentences(facts),
    )
    return str(html)


def make_environment(facts: dict[str, Any]) -> Any:
    """Return a Jinja environment with the templates, and filters for the figures of the facts."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("thrifty.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        money=money,
        mean=format_mean,
        total=total_words,
        number=format_number,
        quality=partial(format_quality, facts["settings"]["metric"]),
    )
    return environment


def write_page(html: str, path: str | os.PathLike[str]) -> None:
    """Write a page to a file, whole or not at all.

    Raises
    ------
    OSError
        If the file cannot be written; an existing file is then unchanged.
    """
    write_whole(path, html.encode("utf-8"))
