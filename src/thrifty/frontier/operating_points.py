"""What a budget estimator saves: the points of its curve that another budget could choose."""

from __future__ import annotations

from thrifty.bundle import OperatingPoints, Predictor
from thrifty.bundle.predictor import plain_classes
from thrifty.frontier.curve import Curve

__all__ = ["operating_points"]


def operating_points(curve: Curve, predictor: Predictor) -> OperatingPoints:
    """Return the chosen point of a curve, as the default, and all points of its upper convex hull.

    A server that holds a mean bill at a budget needs no others (`thrifty.serve.Pacer`). Points of a
    ladder share their rungs, so that most of them take little more than their thresholds.

    Parameters
    ----------
    curve : Curve
        With a chosen point.
    predictor : Predictor
        That of the chosen point, with all that is to be saved of it.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetRegressor, GreedyMiserRegressor, Prices
    >>> from thrifty.frontier.operating_points import operating_points
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> learner = GreedyMiserRegressor(n_estimators=20)
    >>> model = BudgetRegressor(Prices([1.0, 50.0]), 10, learners=[learner], random_state=0)
    >>> points = operating_points(model.fit(X, y).frontier_, model.predictor_)
    >>> points.bills
    (0.0, 1.0, 51.0)
    >>> points.default
    1
    """
    chosen = curve.chosen
    assert chosen is not None
    classes, schema, prices = (
        plain_classes(predictor.classes), predictor.schema.plain(), predictor.prices.plain()
    )  # fmt: skip
    found = {}
    for point in (*curve.hull, chosen):
        model = point.model
        if point is chosen:
            found[id(point)] = point, predictor
        elif (  # what other learners made of the table may differ
            plain_classes(model.classes) == classes
            and model.schema.plain() == schema
            and model.prices.plain() == prices
        ):
            found[id(point)] = point, point.predictor()
    kept = sorted(found.values(), key=lambda each: (each[0].bill, each[0].quality))
    return OperatingPoints(
        [model for _, model in kept],
        [point.bill for point, _ in kept],
        [point.quality for point, _ in kept],
        default=[point for point, _ in kept].index(chosen),
        metric=curve.scoring,
    )
