"""Short-circuiting a predictor: the same answers, for a bill that is never higher."""

from __future__ import annotations

from typing import Any

from thrifty.bundle import Predictor
from thrifty.errors import DataError
from thrifty.learn.tree_order import tree_order
from thrifty.model import Forest
from thrifty.model.short_circuit import ShortCircuit

__all__ = ["short_circuit"]


def short_circuit(predictor: Predictor, X: Any = None, *, tolerance: float = 0.0) -> Predictor:
    """Stop asking once no unasked tree can change the answer.

    Parameters
    ----------
    predictor : Predictor
        Of a forest: boosted trees, a random forest, an adopted one.
    X : table, optional
        Rows like those to come. The order in which trees are asked is chosen by their bills;
        without them, by rows made up from the thresholds of the trees.
    tolerance : float
        For a model of values: how far a value may be from that of the whole forest. Classes are
        always those of the whole forest.

    Returns
    -------
    Predictor
        With the same classes, names and prices. The probabilities of a row that stopped early
        are those of the trees it finished and the best guess for the others; the largest is
        that of the whole forest's class.

    Raises
    ------
    DataError
        If the model is no forest, or the tolerance does not suit it.

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
    >>> bool((quick.predict(X) == whole.predict(X)).all())
    True
    >>> bool((quick.bill(X) <= whole.bill(X)).all() and quick.bill(X).mean() < 5)
    True
    """
    forest = predictor.model
    if isinstance(forest, ShortCircuit):
        forest = forest.forest
    if not isinstance(forest, Forest):
        raise DataError(f"a model of kind {forest.kind!r} has no trees to leave out; give a forest")
    if forest.link == "sum" and tolerance == 0:
        raise DataError("this model predicts values: give a tolerance above 0, in their unit")
    plain = ShortCircuit.of(forest, tolerance=tolerance)
    rows = None if X is None else predictor.schema.encode(X)
    return Predictor(
        plain.reordered(tree_order(plain, predictor.prices, rows)),
        predictor.schema,
        predictor.prices,
        predictor.classes,
        predictor.knob,
        {**(predictor.provenance or {}), "short_circuit": True},
    )
