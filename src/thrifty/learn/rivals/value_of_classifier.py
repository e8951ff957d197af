"""VoC: buy the feature with which one expects to be surest (T. Gao and D. Koller, NIPS 2011).

As the rival of 000 sec. 2.4: the reward is that of a right class, locally weighted regression
around the example predicts what is not bought, its ridge is 0.5 and its bandwidth the median
distance to the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.errors import DataError, raise_all
from thrifty.learn.asking import AskingClassifier, Task, threshold_cuts
from thrifty.learn.neighborhood import column_units, tolls
from thrifty.learn.point import Point
from thrifty.model.asking import Asking
from thrifty.model.local_gaussians import LocalGaussians

__all__ = ["ValueOfClassifier"]

RIDGE = 0.5


class ValueOfClassifier(AskingClassifier):
    """A Gaussian classifier that asks each row for the feature of the largest expected reward.

    Parameters
    ----------
    prices : Prices, optional
        What features cost; one unit each when left out.
    threshold : float
        A row stops when its class is more probable than this; 1 buys everything.
    alpha : float
        Expected probability that a feature must add more than another to be bought before one
        that is cheaper by the mean price.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prices": [Prices, None],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, prices: Prices | None = None, threshold: float = 0.95, alpha: float = 0.05
    ) -> None:
        self.prices = prices
        self.threshold = threshold
        self.alpha = alpha

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        thresholds: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over a range of thresholds, cheapest first, from one run."""
        return self._path(X, y, validation, partial(threshold_cuts, thresholds=thresholds))

    def _whole(self, task: Task) -> LocalGaussians:
        examples = task.examples
        named = [task.schema.names[j] for j in np.flatnonzero(examples.categories)]
        problems = [f"column {name!r} holds categories, which are not Gaussian" for name in named]
        raise_all(DataError, "table", problems)
        units = column_units(examples)
        places = (examples.X - examples.center) * units
        toll, entry = tolls(task.prices, self.alpha)
        order = np.flatnonzero(np.nanstd(examples.X, axis=0) > 0)
        return LocalGaussians(
            np.where(np.isnan(places), 0.0, places), examples.codes, examples.center, units, toll,
            task.prices.group, entry, order, RIDGE, 1.0,
        )  # fmt: skip

    def _chosen(self, whole: Asking) -> tuple[dict[str, Any], Asking]:
        return {"threshold": float(self.threshold)}, whole.until(self.threshold)
