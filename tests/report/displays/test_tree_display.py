"""The plot of a tree of linear models: a box for every node, a line for every child."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from report_models import LINEAR_PRICES, linear_tree_of
from report_models import LINEAR_X as X

from thrifty import GreedyMiserRegressor, SubmodularTreeClassifier, TreeDisplay
from thrifty.errors import DataError


def test_the_plot_has_a_box_for_every_node_and_a_line_for_every_child(ax) -> None:
    display = TreeDisplay.from_predictor(linear_tree_of(), X, ax=ax)
    assert display.ax_ is ax and display.figure_ is ax.figure
    assert display.nodes_[1].get_text().splitlines()[:2] == [
        "1: 75% of the rows", "+ 1, 2 ($6.50)"
    ]  # fmt: skip
    wide = [line.get_linewidth() for line in ax.lines]
    assert len(wide) == 3 and wide[0] > wide[1] == wide[2]
    texts = [text.get_text() for text in ax.texts]
    assert "\u2264 0" in texts and "> 0" in texts and "> 2" in texts
    places = {node: text.get_position() for node, text in display.nodes_.items()}
    assert len(set(places.values())) == 4
    assert places[0][0] < places[1][0] == places[2][0] < places[3][0]
    assert not any(text.get_parse_math() for text in display.nodes_.values())


def test_boxes_and_the_conditions_between_them_do_not_overlap() -> None:
    table = np.random.default_rng(0).normal(size=(400, 4))
    named = pd.DataFrame(table, columns=[f"a_long_name_of_a_feature_{i}" for i in range(4)])
    model = SubmodularTreeClassifier(node_budget=4, max_depth=3).fit(named, table.sum(axis=1) > 0)
    display = TreeDisplay.from_estimator(model, named)
    display.figure_.draw_without_rendering()
    boxes = [text.get_bbox_patch().get_window_extent() for text in display.nodes_.values()]
    others = [text for text in display.ax_.texts if text not in display.nodes_.values()]
    assert len(others) == len(boxes) - 1 > 1
    boxes += [text.get_window_extent() for text in others]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_the_similarity_is_drawn_with_its_numbers() -> None:
    display = TreeDisplay.from_predictor(linear_tree_of(), X)
    ax = display.plot_similarity()
    assert [text.get_text() for text in ax.texts][:3] == ["1.00", "0.67", "0.50"]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1", "2", "3"]


def test_a_fitted_classifier_is_plotted() -> None:
    table = np.random.default_rng(0).normal(size=(400, 4))
    y = np.where(table[:, 0] + 0.2 * table[:, 1] > 0, "yes", "<no>")
    model = SubmodularTreeClassifier(LINEAR_PRICES, node_budget=3, max_depth=3).fit(table, y)
    display = TreeDisplay.from_estimator(model, table)
    assert len(display.nodes) == len(model.model_.left)
    assert display.nodes[0].prediction.startswith("yes: ")


def test_another_kind_of_model_is_rejected() -> None:
    table = np.random.default_rng(0).normal(size=(100, 2))
    model = GreedyMiserRegressor(n_estimators=3).fit(table, table[:, 0])
    with pytest.raises(DataError, match="is a Forest, not a tree of linear models"):
        TreeDisplay.from_estimator(model, table)
