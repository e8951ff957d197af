"""Small trees that challenge a ladder where errors have costs."""

from __future__ import annotations

import numpy as np

from thrifty import BudgetClassifier, Prices
from thrifty.learn.ladder import small_trees
from thrifty.learn.shallow_tree import TreeSearch


def checkerboard(n=600):
    """Two cheap features that say something together only; a tree of depth two is best."""
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, size=(n, 3)).astype(float)
    y = np.logical_and(table[:, 0] > 0, table[:, 1] > 0) ^ (rng.random(n) < 0.05)
    return table, y


def fit(table, y, **settings):
    prices, costs = Prices([1.0, 3.0, 1.0]), 20 * (1 - np.eye(2))
    model = BudgetClassifier(prices, costs=costs, effort="fast", random_state=0, **settings)
    return model.fit(table, y)


def test_a_small_tree_competes_and_pays_along_its_path():
    table, y = checkerboard()
    model = fit(table, y)
    trees = [p for p in model.frontier_.points if p.knob.get("kind") == "tree"]
    assert trees
    best = min(trees, key=lambda point: point.totals.mean())
    bills = best.model.bill(table)
    assert np.unique(bills).tolist() == [1.0, 4.0]  # only half of the rows pay for the second
    assert model.point_.totals.mean() <= best.totals.mean() + 1e-9


def test_no_tree_passes_the_cap():
    table, y = checkerboard()
    model = fit(table, y, cap=2.0)
    assert all(point.ceiling <= 2.0 for point in model.frontier_.points)
    assert model.bill(table).max() <= 2.0


def test_without_costs_there_is_no_tree():
    table, y = checkerboard()
    model = BudgetClassifier(effort="fast", random_state=0).fit(table, y)
    assert all(point.knob.get("kind") != "tree" for point in model.frontier_.points)


def test_a_validation_set_is_scored_by_the_tree_that_is_kept():
    table, y = checkerboard()
    model = BudgetClassifier(
        Prices([1.0, 3.0, 1.0]), costs=20 * (1 - np.eye(2)), effort="fast", random_state=0
    ).fit(table[:400], y[:400], validation=(table[400:], y[400:]))
    trees = [point for point in model.frontier_.points if point.knob.get("kind") == "tree"]
    for point in trees:
        assert (point.bills == point.model.bill(table[400:])).all()


def test_trees_are_smaller_or_left_out_where_the_search_would_take_long(monkeypatch):
    depths = []
    best = TreeSearch.best

    def record(self, depth):
        depths.append(depth)
        return best(self, depth)

    monkeypatch.setattr(TreeSearch, "best", record)
    table, y = checkerboard()
    fit(table, y)
    assert set(depths) == {3}
    # Three questions, and one fit for each division and for all rows.
    monkeypatch.setattr(small_trees, "MAX_WORK", 4 * 600 * 3**2)
    fit(table, y)
    assert set(depths) == {3, 2}
    monkeypatch.setattr(small_trees, "MAX_WORK", 1)
    points = fit(table, y).frontier_.points
    assert all(point.knob.get("kind") != "tree" for point in points)
