"""Short-circuit a predictor: the same predictions, at a bill that is never higher.

The order of the trees decides which feature is requested next. It changes no prediction, only
bills, so it is chosen by the bills of some rows: the best of a few simple rules, then moves of
single trees to the front that lower the mean bill. On eight data sets no rule wins alone: trees
that add little to the bill do well where prices differ, trees whose outputs vary most where they do
not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor
from thrifty.costs import BoundPrices
from thrifty.errors import DataError
from thrifty.model import Forest
from thrifty.model.forest.nodes import CATEGORICAL, INDEX, is_leaf
from thrifty.model.short_circuit.short_circuit import ShortCircuit

__all__ = ["make_rows", "short_circuit", "tree_order"]

# Rows on which bills are compared.
N_ROWS = 300
# Early trees decide what is bought: rules and moves only order this many.
N_RULED, N_FRONT = 24, 8
# Random moves that are tried.
N_MOVES = 150
HUGE = np.finfo(np.float64).max
SEED = 0

Order = NDArray[np.int64]
Rows = NDArray[np.floating]


def short_circuit(predictor: Predictor, X: Any = None, *, tolerance: float = 0.0) -> Predictor:
    """Stop requesting features once no unfinished tree can change the prediction.

    Parameters
    ----------
    predictor : Predictor
        Its model must be a forest: boosted trees, a random forest, an adopted one.
    X : table, optional
        Rows like those to predict. Their bills choose the order of the trees; by default, the
        bills of rows made up from the thresholds do.
    tolerance : float
        For regression: how far a value may be from that of the whole forest. Classes are always
        those of the whole forest.

    Returns
    -------
    Predictor
        With the same classes, names and prices. The probabilities of a row that stopped early
        come from the trees that it finished and the best guess for the others; the largest is
        that of the class that the whole forest predicts.

    Raises
    ------
    DataError
        If the model is not a forest, the tolerance does not fit it, or it has a decision.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.learn.short_circuit import short_circuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 6))
    >>> y = (2 * X[:, 0] + X[:, 1:].sum(axis=1) > 0).astype(int)
    >>> whole = GreedyMiserClassifier(n_estimators=30, max_depth=2).fit(X, y).predictor_
    >>> quick = short_circuit(whole, X)
    >>> (quick.predict(X) == whole.predict(X)).mean().item()  # always the same class
    1.0
    >>> round(whole.bill(X).mean().item(), 1), round(quick.bill(X).mean().item(), 1)
    (6.0, 3.6)
    """
    forest = predictor.model
    if isinstance(forest, ShortCircuit):
        forest = forest.forest
    if not isinstance(forest, Forest):
        raise DataError(f"a model of kind {forest.kind!r} has no trees to skip; give a forest")
    if forest.link == "sum" and tolerance == 0:
        raise DataError("this model predicts values: give a tolerance above 0, in their unit")
    if predictor.decision is not None:
        raise DataError(
            "this model decides by costs of errors or a threshold: trees can only be skipped where "
            "the most probable class is predicted"
        )
    plain = ShortCircuit.of(forest, tolerance=tolerance)
    rows = None if X is None else predictor.schema.encode(X)
    return predictor.replace(
        model=plain.reordered(tree_order(plain, predictor.prices, rows)),
        provenance={**(predictor.provenance or {}), "short_circuit": True},
    )


def tree_order(model: ShortCircuit, prices: BoundPrices, X: Rows | None = None) -> Order:
    """Find an order of the trees with a low mean bill.

    Parameters
    ----------
    model : ShortCircuit
    prices : BoundPrices
    X : array (n, d), optional
        Rows to measure bills on, at most 300 of them; by default rows made up from the thresholds.
    """
    rng = np.random.default_rng(SEED)
    if X is None:
        rows: Rows = make_rows(model.forest, N_ROWS, rng)
    else:  # spread evenly over the table
        rows = X[np.linspace(0, len(X) - 1, min(len(X), N_ROWS)).astype(np.int64)]

    def bill(order: Order) -> float:
        quick = model.reordered(order)
        evaluations = quick.evaluations(rows) if prices.evaluation else 0
        return float(prices.bill(quick.used(rows), evaluations).mean())

    best = min(_rules(model.forest, prices, rows), key=bill)
    least = bill(best)
    for _ in range(N_MOVES if len(best) > 1 else 0):
        trees = best.tolist()
        tree = trees.pop(int(rng.integers(len(trees))))
        trees.insert(int(rng.integers(min(N_FRONT, len(best)))), tree)
        moved = np.array(trees, dtype=np.int64)
        if (now := bill(moved)) < least:
            best, least = moved, now
    return best


def make_rows(forest: Forest, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Make up rows whose values lie on both sides of the thresholds of a forest."""
    rows = np.zeros((n, forest.n_features))
    splits = forest.nodes[~is_leaf(forest.nodes)]
    for feature in forest.features:
        here = splits[splits["feature"] & INDEX == feature]
        if (here["feature"] & CATEGORICAL).any():
            rows[:, feature] = rng.integers(0, 256, size=n)
        else:
            ends = np.unique(here["threshold"])
            # A value on a threshold goes left there, and right at those below.
            above = np.nextafter(ends[-1:], np.inf, where=ends[-1:] < HUGE, out=ends[-1:].copy())
            rows[:, feature] = rng.choice(np.append(ends, above), size=n)
    return rows


def _rules(forest: Forest, prices: BoundPrices, rows: Rows) -> Iterator[Order]:
    """Yield the order of the forest, by variation of the outputs, and two by price."""
    trees = np.arange(len(forest.roots))
    yield trees
    if len(trees) > 1:
        leaves = forest.leaves(rows)
        values = [forest.values[found] for found in leaves]
        # Mean distance of the outputs of each tree from their mean.
        spread = np.array([np.abs(v - v.mean(axis=0)).sum(axis=1).mean() for v in values])
        yield np.argsort(-spread, kind="stable")
        used = [forest.unpack_paths(forest.paths[found]) for found in leaves]
        yield _cheapest_next(used, prices, np.ones(len(trees)))
        yield _cheapest_next(used, prices, spread)


def _cheapest_next(
    used: list[NDArray[np.bool_]], prices: BoundPrices, worth: NDArray[np.float64]
) -> Order:
    """Take, again and again, the tree with the most worth per amount that it adds to the bill."""
    rest, order = list(range(len(used))), []
    bought = np.zeros_like(used[0])
    smallest = 1e-9 * (prices.full + 1.0)  # so that a free tree has a finite ratio
    for _ in range(min(N_RULED, len(used))):
        paid = prices.bill(bought).mean()
        added = [float(prices.bill(bought | used[tree]).mean() - paid) for tree in rest]
        ratios = [worth[tree] / (cost + smallest) for tree, cost in zip(rest, added, strict=True)]
        tree = rest.pop(int(np.argmax(ratios)))
        order.append(tree)
        bought = bought | used[tree]
    return np.array([*order, *rest], dtype=np.int64)
