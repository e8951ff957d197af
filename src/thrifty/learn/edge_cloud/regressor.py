"""Edge/cloud regression: devices transmit only where it helps (Nan 2018, sec. 7.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.base import RegressorMixin

from thrifty.costs import PriceList
from thrifty.learn.edge_cloud.base import EdgeCloudEstimator

__all__ = ["EdgeCloudRegressor"]


class EdgeCloudRegressor(RegressorMixin, EdgeCloudEstimator):  # type: ignore[misc]
    """Devices with gates that add up to a value; each transmits only if its gate opens.

    This is the adaptive sparse regression of the thesis (eq. 7.1): the cloud adds up the
    contributions that it receives. Gates and contributions are linear in the features of their
    device. A device whose values are all missing does not transmit.

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
        Maximum number of steps of each optimization.
    random_state : int, RandomState or None
        Draws where the gates start, and the quarter of the rows that gates are compared on.

    Attributes
    ----------
    devices_ : dict
        Features of each device of the model, in the order of `transmits`. A device that transmits
        for no training row is left out, and measures nothing.
    model_ : thrifty.model.EdgeCloud
        The frozen model.

    Examples
    --------
    Two sensors of the same quantity, each of which is blind on one side:

    >>> import numpy as np
    >>> from thrifty import EdgeCloudRegressor, Prices
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=400)
    >>> X = np.column_stack([np.maximum(x, 0), np.minimum(x, 0)]) + 0.01 * rng.normal(size=(400, 2))
    >>> free = Prices([0, 0], evaluation=1.0)  # only transmissions cost
    >>> model = EdgeCloudRegressor(free, transmit_share=0.5, random_state=0).fit(X, 3 * x)
    >>> round(model.score(X, 3 * x), 2), model.bill(X).mean().round(2).item()
    (1.0, 1.0)
    """

    def __init__(
        self,
        prices: PriceList | None = None,
        devices: Mapping[Any, Any] | None = None,
        transmit_share: float = 0.5,
        gates: str = "relu",
        C: float = 1.0,
        max_steps: int = 100,
        random_state: Any = None,
    ) -> None:
        self.prices = prices
        self.devices = devices
        self.transmit_share = transmit_share
        self.gates = gates
        self.C = C
        self.max_steps = max_steps
        self.random_state = random_state
