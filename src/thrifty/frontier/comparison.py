"""The result of a comparison: areas, differences and ranks of learners on the same splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, t

from thrifty.costs.money import money
from thrifty.errors import DataError
from thrifty.frontier.curve import area, quality_at

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Comparison", "Difference", "Steps"]

Floats = NDArray[np.float64]

# Budgets of the printed table, as shares of the full price.
SHARES = (0.05, 0.1, 0.25, 0.5, 1.0)
LOW, HIGH = 0.02, 1.0
LEVEL = 0.95
NOTE = "95% intervals: Student's t over the splits, widened because splits share rows"


@dataclass(frozen=True, eq=False)
class Steps:
    """Test results of one learner on one split, as a step function of the budget.

    Parameters
    ----------
    learner : str
    split : int
    budgets : array of shape (k,)
        Budgets from which on each point is the best on the validation set.
    bills, qualities : array of shape (k,)
        Its mean bill and its quality on the test set.
    """

    learner: str
    split: int
    budgets: Floats
    bills: Floats
    qualities: Floats


@dataclass(frozen=True)
class Difference:
    """Mean difference of the areas of two learners over the splits.

    `error` is its standard error as if the splits were independent; the interval from `low` to
    `high` is wider, because splits share rows, see `Comparison`.
    """

    first: str
    second: str
    mean: float
    error: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Whether the first is ``"ahead"``, ``"behind"`` or ``"level"``: 0 is in the interval."""
        if self.low <= 0 <= self.high:
            return "level"
        return "ahead" if self.low > 0 else "behind"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Learners compared on the same splits; `compare` returns it.

    The area is the mean test quality over the budgets from 2% to 100% of the full price, see
    `thrifty.frontier.curve`.

    The intervals of the differences are Student's t over the splits. The splits share rows, so they
    are not independent and the plain interval is too narrow; the variance is therefore enlarged
    by the ratio of test rows to other rows (Nadeau and Bengio 2003). That is a rule of thumb, not
    a guarantee, and says nothing about other data sets. Of many pairs, some differ by chance.

    Parameters
    ----------
    steps : sequence of Steps
        Split by split, the learners in the same order in each.
    scoring : str
        Name of the metric.
    unit : str
        Unit of the bills.
    full : float
        The full price.
    scale : {"log", "linear"}
        Whether areas are uniform over the logarithm of the budget, or over the budget.
    overlap : float
        Test rows per training or validation row.

    Examples
    --------
    >>> from thrifty.frontier.comparison import Comparison, Steps
    >>> steps = [Steps(name, split, [0.0, 10.0], [0.0, 10.0], [0.5, top + 0.01 * split])
    ...          for split in range(3) for name, top in (("one", 0.9), ("two", 0.7))]
    >>> print(Comparison(steps, "accuracy", "EUR", 100.0, "log", 0.25))
    accuracy on 3 splits, mean over log budgets from 2% to 100% of EUR 100.00
           area   error  rank      5%     10%     25%     50%    100%
    one  0.7413  0.0034  1.00  0.5000  0.9100  0.9100  0.9100  0.9100
    two  0.6236  0.0034  2.00  0.5000  0.7100  0.7100  0.7100  0.7100
    one - two: +0.1177 (+0.1177 to +0.1177) ahead
    95% intervals: Student's t over the splits, widened because splits share rows
    """

    steps: Sequence[Steps]
    scoring: str
    unit: str
    full: float
    scale: str
    overlap: float

    @property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners."""
        return tuple(dict.fromkeys(steps.learner for steps in self.steps))

    @cached_property
    def areas(self) -> Floats:
        """Area of each learner on each split, (splits, learners)."""
        span: dict[str, Any] = {"scale": self.scale, "low": LOW, "high": HIGH}
        return self._table([area(s.budgets, s.qualities, self.full, **span) for s in self.steps])

    def at(self, share: float) -> Floats:
        """Return the test quality at a budget, a share of the full price, (splits, learners)."""
        budget = share * self.full
        return self._table([quality_at(s.budgets, s.qualities, budget) for s in self.steps])

    @property
    def ranks(self) -> dict[str, float]:
        """Mean rank by area over the splits, 1 for the best; equal areas share their ranks."""
        ranks = rankdata(-self.areas, axis=1).mean(axis=0)
        return dict(zip(self.learners, ranks.tolist(), strict=True))

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Paired differences of the areas, for each pair the one with the larger mean first."""
        order = self._order()
        return tuple(self._difference(i, j) for i, j in combinations(order, 2))

    def difference(self, first: str, second: str) -> Difference:
        """Return the paired difference of the areas, first minus second; DataError if unknown."""
        unknown = [name for name in (first, second) if name not in self.learners]
        if unknown:
            raise DataError(f"learner: no {unknown}; there are {', '.join(self.learners)}")
        return self._difference(self.learners.index(first), self.learners.index(second))

    def frame(self) -> DataFrame:
        """Return a table with a row for each split and learner: area, rank, quality at budgets."""
        import pandas

        areas = self.areas
        return pandas.DataFrame(
            {
                "split": [steps.split for steps in self.steps],
                "learner": [steps.learner for steps in self.steps],
                "area": areas.ravel(),
                "rank": rankdata(-areas, axis=1).ravel(),
                **{f"{share:.0%}": self.at(share).ravel() for share in SHARES},
            }
        )

    def __str__(self) -> str:
        price = money(self.full, self.unit)
        budgets = f"{self.scale} budgets from {LOW:.0%} to {HIGH:.0%} of {price}"
        heading = f"{self.scoring} on {len(self.areas)} splits, mean over {budgets}"
        differences = [
            f"{each.first} - {each.second}: {each.mean:+.4f} "
            f"({each.low:+.4f} to {each.high:+.4f}) {each.verdict}"
            for each in self.differences
        ]
        return "\n".join([heading, *self._rows(), *differences, NOTE])

    def _rows(self) -> Iterator[str]:
        """Yield a line for each learner, the best first: area, standard error, rank, qualities."""
        width = max(map(len, self.learners))
        heads = " ".join(f"{share:>7.0%}" for share in SHARES)
        yield f"{'':{width}} {'area':>7} {'error':>7} {'rank':>5} {heads}"
        error = self.areas.std(axis=0, ddof=1) / np.sqrt(len(self.areas))
        means = np.column_stack([self.at(share).mean(axis=0) for share in SHARES])
        for i in self._order():
            name = self.learners[i]
            figures = f"{self.areas[:, i].mean():7.4f} {error[i]:7.4f} {self.ranks[name]:5.2f}"
            yield f"{name:{width}} {figures} {' '.join(f'{value:7.4f}' for value in means[i])}"

    def _table(self, values: list[float]) -> Floats:
        return np.array(values).reshape(-1, len(self.learners))

    def _order(self) -> list[int]:
        """Return the learners by decreasing mean area; equal ones in their order."""
        order: list[int] = np.argsort(-self.areas.mean(axis=0), kind="stable").tolist()
        return order

    def _difference(self, i: int, j: int) -> Difference:
        """Compute the paired difference of the areas of learners i and j."""
        apart = self.areas[:, i] - self.areas[:, j]
        n, mean, spread = len(apart), float(apart.mean()), float(apart.std(ddof=1))
        half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * spread * np.sqrt(1 / n + self.overlap)
        names = self.learners[i], self.learners[j]
        return Difference(*names, mean, spread / np.sqrt(n), mean - half, mean + half)
