"""Reports: collect the facts of a fit in a plain dict, then render them as one HTML page.

`fit_facts` describes a whole `fit_budget` run, `predictor_facts` one model on labeled rows; both
return a dict that can be written as JSON. `render_page` turns either dict into a self-contained
page; `card_facts` adds what a model card needs, and `model_card` writes it. The plots for notebooks
are in `thrifty.report.displays`.

- `facts`: the two dicts; every number on the page comes from there.
- `fairness`: error and spend by group.
- `predictions`: what a predictor does on some rows (purchases, bills, calibration, examples).
- `calibration`, `tree_nodes`: statistics that both the page and the displays show.
- `words`: sentences and number formats.
- `page`, `charts`: the page and its charts.
- `card`, `card_sections`: the model card.
"""

from __future__ import annotations

from thrifty.report.card import card_facts, model_card
from thrifty.report.facts import fit_facts, predictor_facts
from thrifty.report.page import render_page, write_page

__all__ = [
    "card_facts",
    "fit_facts",
    "model_card",
    "predictor_facts",
    "render_page",
    "write_page",
]
