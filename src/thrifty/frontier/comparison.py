"""Compare learners: the same splits, the same rule of choice, results on the test set.

`compare` runs them; a `Comparison` has their areas, differences and ranks.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, t
from sklearn.base import clone

from thrifty.costs import Prices
from thrifty.costs.money import money
from thrifty.errors import DataError, raise_all
from thrifty.frontier.curve import SCALES, Curve, CurvePoint, area, quality_at
from thrifty.frontier.fit_budget import ThreeSets, split_table
from thrifty.frontier.jobs import Job, digest_of_set, plain_settings, run_jobs
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.tracing import check_learners, read_table, trace_learner
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import ValidationOutputs

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Comparison", "Difference", "Steps", "compare"]

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


def compare(
    learners: Mapping[str, Any] | Sequence[Any],
    X: Any,
    y: Any,
    *,
    splits: int = 5,
    scoring: str | None = None,
    qid: Any = None,
    share: float = 0.2,
    scale: str = "log",
    resume: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    random_state: int = 0,
) -> Comparison:
    """Compare learners by what they reach at every budget, on the same splits.

    On each split a learner fits its path on the training set; at each budget the point that is
    best on the validation set is taken, and its quality on the test set counts. The result does
    not depend on `n_jobs`.

    Parameters
    ----------
    learners : mapping of name to estimator, or sequence of estimators
        With `path`, or budget estimators, whose whole curve is then compared. They bring their
        prices, which must be the same.
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    splits : int
        Number of random splits, at least 2.
    scoring : str, optional
        The metric, see `thrifty.frontier.scoring`; by default accuracy, r2 or ndcg@5.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    share : float
        Share of the rows for the validation set, and again for the test set.
    scale : {"log", "linear"}
        Whether the area is uniform over the logarithm of the budget, or over the budget.
    resume : path, optional
        A folder that keeps each finished curve; an interrupted run resumes from there.
    n_jobs : int, optional
        Number of curves that are traced at a time, through joblib.
    progress : bool
        Show a progress bar with the time left.
    random_state : int
        Splits the rows, and seeds learners that have no seed of their own.

    Raises
    ------
    DataError
        If learners, table or scoring do not fit, or `resume` is for other data or settings.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty import compare
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] + 0.5 * X[:, 1] > 0
    >>> learners = {"deep": GreedyMiserClassifier(n_estimators=20),
    ...             "short": GreedyMiserClassifier(n_estimators=1, learning_rate=0.01)}
    >>> compare(learners, X, y, splits=2).ranks
    {'deep': 1.0, 'short': 2.0}
    """
    named = _named(learners)
    task = check_learners(named, "learners")
    _check_prices(named)
    if splits < 2:
        raise DataError(f"splits: {splits!r} is not 2 or more, so luck cannot be told from skill")
    if scale not in SCALES:
        raise DataError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")
    metric = find_metric(scoring, task)
    whole = read_table(task, X, y, qid)
    sets = [split_table(whole, share, random_state + split) for split in range(splits)]
    about = {} if resume is None else _describe_run(whole, share, random_state, metric)
    jobs = [
        Job(
            {
                "name": f"{name}, split {split}",
                "learner": plain_settings(learner) if about else None,
                "split": split,
                **about,
            },
            partial(_trace, name, learner, metric, random_state + split),
            (sets[split],),
        )
        for split in range(splits)
        for name, learner in named.items()
    ]
    curves = run_jobs(jobs, resume, n_jobs, progress)
    full = sorted({curve.full for curve in curves})
    if len(full) > 1:
        raise DataError(f"learners: their full prices differ, {full}; give them the same prices")
    steps = [
        _steps(name, split, curves[split * len(named) + k], sets[split].test, metric)
        for split in range(splits)
        for k, name in enumerate(named)
    ]
    sizes = sets[-1].sizes
    overlap = sizes["test"] / (sizes["train"] + sizes["validation"])
    return Comparison(tuple(steps), metric.name, curves[0].unit, curves[0].full, scale, overlap)


def _named(learners: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return learners by name; those of a sequence go by the names of their classes."""
    if not isinstance(learners, Mapping):
        names = [type(each).__name__ for each in learners]
        if len(set(names)) < len(names):
            raise DataError(f"learners: {names} are not distinct names; give a mapping")
        learners = dict(zip(names, learners, strict=True))
    return {str(name): each for name, each in learners.items()}


def _check_prices(learners: Mapping[str, Any]) -> None:
    """Raise a DataError if prices differ: areas over different prices cannot be compared."""
    prices = {name: getattr(each, "prices", None) or Prices() for name, each in learners.items()}
    first = next(iter(prices))
    others = [name for name in prices if prices[name] != prices[first]]
    raise_all(DataError, "learners", [f"{name} has other prices than {first}" for name in others])


def _trace(name: str, learner: Any, metric: Metric, seed: int, sets: ThreeSets) -> Curve:
    """Trace one learner on one split: the work of one job."""
    if hasattr(learner, "path"):
        return trace_learner(name, learner, sets.train, sets.validation, metric, seed)
    own = {"random_state": seed} if learner.random_state is None else {}
    fitted = clone(learner).set_params(scoring=metric.name, **own)
    curve: Curve = fitted.fit(sets.train, None, validation=sets.validation).frontier_
    return curve


def _steps(learner: str, split: int, curve: Curve, test: ValidationSet, metric: Metric) -> Steps:
    """Find the budget from which on each point is chosen; measure the points on the test set."""
    chosen: list[tuple[float, CurvePoint]] = []
    ceiling = max(point.ceiling for point in curve.points)
    for budget in np.unique([ceiling, *(point.bill for point in curve.points)]).tolist():
        point = curve.choose(budget)
        if not chosen or point is not chosen[-1][1]:
            chosen.append((budget, point))
    bills, qualities = [], []
    for _, point in chosen:
        data = test if point.model.schema == test.schema else test.encode_by(point.model.schema)
        outputs = ValidationOutputs.of(point.model, data.X)
        bills.append(outputs.bills.mean())
        qualities.append(metric.value(outputs.scores, data))
    budgets = np.array([budget for budget, _ in chosen])
    return Steps(learner, split, budgets, np.array(bills), np.array(qualities))


def _describe_run(whole: TrainingSet, share: float, seed: int, metric: Metric) -> dict[str, Any]:
    """Describe, in plain values, everything that the curves depend on besides the learners."""
    from thrifty import __version__

    return {
        "data": digest_of_set(whole),
        "share": share,
        "seed": seed,
        "scoring": metric.name,
        "thrifty": __version__,
    }
