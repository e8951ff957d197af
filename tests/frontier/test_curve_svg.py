"""The picture of a curve in a notebook: sound, offline, and with names that are text."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from thrifty import BudgetRegressor, GreedyMiserRegressor
from thrifty.frontier.curve_svg import _round_amounts, curve_svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(300, 2))
    learners = {"<b>&mine": GreedyMiserRegressor(n_estimators=10)}
    budget = BudgetRegressor([1.0, 50.0], budget=10, random_state=0, learners=learners)
    return budget.fit(X, X[:, 0] + 0.1 * X[:, 1])


def test_the_picture_shows_the_frontier_and_the_chosen_point(model):
    curve = model.frontier_
    root = ElementTree.fromstring(curve_svg(curve))
    circles = root.findall(f"{NAMESPACE}circle")
    assert len(circles) == len(curve.frontier) + 1
    titles = [circle.find(f"{NAMESPACE}title").text for circle in circles]
    assert titles[-1].startswith("chosen: <b>&mine (") and titles[0].startswith("<b>&mine (")
    for circle in circles:
        assert 0 <= float(circle.get("cx")) <= 420 and 0 <= float(circle.get("cy")) <= 230
    ys = [float(circle.get("cy")) for circle in circles[:-1]]
    assert ys == sorted(ys, reverse=True)  # better is higher


def test_the_picture_fits_a_narrow_page_and_names_the_chosen_point(model):
    root = ElementTree.fromstring(curve_svg(model.frontier_))
    assert "max-width: 100%" in root.get("style")
    texts = [text.text for text in root.findall(f"{NAMESPACE}text")]
    assert f"chosen: {model.point_.bill:.2f}, {model.point_.quality:.3f}" in texts


@pytest.mark.parametrize("largest", [1.0, 9.4, 51.0, 94.6, 323.97, 0.02])
def test_ticks_are_round_and_apart(largest):
    ticks = _round_amounts(largest)
    assert 4 <= len(ticks) <= 7 and ticks[-1] <= largest
    places = np.sqrt(np.array(ticks) / largest)
    assert np.diff(places).min() >= 0.12
    assert {f"{tick:e}"[:8] for tick in ticks} <= {f"{digit}.000000" for digit in (0, 1, 2, 5)}


def test_names_are_escaped_and_nothing_is_fetched(model):
    text = curve_svg(replace(model.frontier_, unit="<ms>"))
    assert "<b>" not in text and "&lt;b&gt;&amp;mine" in text and "mean bill (&lt;ms&gt;)" in text
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "currentColor" in text


def test_a_single_free_point_can_be_drawn(model):
    curve = model.frontier_
    free = replace(curve, points=(curve.points[0],), chosen=None)
    assert len(ElementTree.fromstring(curve_svg(free)).findall(f"{NAMESPACE}circle")) == 1


def test_a_curve_and_a_fitted_estimator_are_shown_in_a_notebook(model):
    picture = curve_svg(model.frontier_)
    assert model.frontier_._repr_html_() == picture
    assert model._repr_html_().endswith(picture)
    assert model._repr_mimebundle_()["text/html"].endswith(picture)
    assert "BudgetRegressor" in model._repr_html_()
    unfitted = BudgetRegressor(budget=3)._repr_html_()
    assert "BudgetRegressor" in unfitted and "validation set" not in unfitted
