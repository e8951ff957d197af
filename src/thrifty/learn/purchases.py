"""What has been paid for: one object that all trees of all ensembles of a fit share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import BoundPrices
from thrifty.kernels.fixed_point import wide_quanta

__all__ = ["Purchases"]


class Purchases:
    """Features bought so far, by the whole model or by each row.

    Parameters
    ----------
    prices : BoundPrices
    rows : int
        Rows of the training table; 0 if they are elsewhere.
    charge : {"model", "example"}
        Whether a feature is paid once by the model, or by each row that reads it.

    Attributes
    ----------
    features : uint8 array of shape (d,)
        1 for each feature that any tree has bought; tree growing writes to it.
    paid : uint8 array of shape (d, n)
        1 where a row has paid for a feature; empty unless each row pays.
    group_paid : uint8 array of shape (groups, n)
        1 where a row has paid the shared price of a group; empty unless each row pays.
    """

    def __init__(self, prices: BoundPrices, rows: int, charge: str) -> None:
        self.prices = prices
        self.rows = rows
        self.charge = charge
        each_pays = charge == "example"
        self.features = np.zeros(len(prices.own), dtype=np.uint8)
        self.paid = np.zeros((each_pays * len(prices.own), each_pays * rows), dtype=np.uint8)
        self.group_paid = np.zeros(
            (each_pays * len(prices.shared), each_pays * rows), dtype=np.uint8
        )

    def due(self) -> NDArray[np.float64]:
        """Return what each feature would cost the model now, (d,)."""
        group, shared = self.prices.group, self.prices.shared
        entered = np.zeros(len(shared) + 1, dtype=bool)
        entered[group[self.features > 0]] = True
        # Group -1, no group, reads the last entry: a shared price of 0.
        entry = np.append(np.where(entered[:-1], 0.0, shared), 0.0)
        return np.where(self.features > 0, 0.0, self.prices.own + entry[group])

    def total_due(self, weight: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """Return what all rows together, weighted, would pay now to read each feature, (d,)."""
        quanta, unit = (None, 1.0) if weight is None else wide_quanta(weight)
        if self.charge == "model":
            return self.due() * (self.rows if quanta is None else unit * quanta.sum())

        def unpaid(paid: NDArray[np.uint8]) -> NDArray[np.float64]:
            """Return the weight of the rows that have not paid for each feature or group."""
            sums = [(paid.shape[1] - np.count_nonzero(row)) if quanta is None
                    else quanta[row == 0].sum() for row in paid]  # fmt: skip
            return np.array(sums, dtype=np.float64) * unit

        return self.due_by_weight(unpaid(self.paid), unpaid(self.group_paid))

    def due_by_weight(
        self, owed: NDArray[np.float64], group_owed: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what rows pay to read each feature, (d,).

        `owed` (d,) and `group_owed` (groups,) are the weight of those that have not paid yet.
        """
        entry = np.append(self.prices.shared * group_owed, 0.0)
        return np.asarray(self.prices.own * owed + entry[self.prices.group])
