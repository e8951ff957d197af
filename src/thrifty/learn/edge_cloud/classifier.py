"""Edge/cloud classification: devices transmit only where it helps (Nan 2018, sec. 7.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from thrifty.costs import PriceList
from thrifty.learn._sklearn import StrOptions
from thrifty.learn.base import PricedClassifier
from thrifty.learn.edge_cloud.base import EdgeCloudEstimator

__all__ = ["EdgeCloudClassifier"]


class EdgeCloudClassifier(PricedClassifier, EdgeCloudEstimator):
    """Devices with gates: each measures its own features and transmits only if its gate opens.

    The cloud adds up the contributions that it receives. Gates and contributions are linear in the
    features of their device. A device whose values are all missing does not transmit.

    Parameters
    ----------
    prices : Prices, mapping or sequence, optional
        Prices of the measurements; by default each feature costs one unit. The price per evaluation
        is the price of one transmission.
    devices : mapping, optional
        Features of each device by its name; other features are not read. By default each group of
        the prices is a device, and so is each feature in no group.
    transmit_share : float
        Share of the devices that may transmit, on average over the training rows. Less is used if
        more does not help on rows that were held back.
    gates : {"relu", "sigmoid", "relaxed", "projected"}
        How gates are trained: together with the contributions, with a ReLU or a sigmoid of the gate
        value as activation; through a relaxation that first decides who should transmit
        (Frank-Wolfe) and then imitates it; or by projected gradient descent.
    C : float
        Inverse of the regularization.
    max_steps : int
        Maximum number of steps of each optimization. More than 100 classes share the steps of 100;
        a warning says how many are made.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws where the gates start, and the quarter of the rows that gates are compared on.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    devices_ : dict
        Features of each device of the model, in the order of `transmits`. A device that transmits
        for no training row is left out, and measures nothing.
    model_ : thrifty.model.EdgeCloud
        The frozen model.

    Examples
    --------
    One of two devices knows the class, and each can tell whether it is the one:

    >>> import numpy as np
    >>> from thrifty import EdgeCloudClassifier, Prices
    >>> rng = np.random.default_rng(0)
    >>> side, left, right = rng.normal(size=(3, 400))
    >>> X = np.column_stack([side, left, -side, right])
    >>> y = np.where(side > 0, left, right) > 0
    >>> devices = {"wrist": [0, 1], "ankle": [2, 3]}
    >>> free = Prices([0, 0, 0, 0], evaluation=1.0)  # only transmissions cost
    >>> model = EdgeCloudClassifier(free, devices, transmit_share=0.5, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.bill(X).mean().item()  # one transmission for each row
    (0.98, 1.0)
    >>> model.transmits(X[:3])
    array([[ True, False],
           [False,  True],
           [ True, False]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EdgeCloudEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        prices: PriceList | None = None,
        devices: Mapping[Any, Any] | None = None,
        transmit_share: float = 0.5,
        gates: str = "relu",
        C: float = 1.0,
        max_steps: int = 100,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.devices = devices
        self.transmit_share = transmit_share
        self.gates = gates
        self.C = C
        self.max_steps = max_steps
        self.class_weight = class_weight
        self.random_state = random_state
