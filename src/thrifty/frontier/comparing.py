"""Compare learners: the same splits, the same rule of choice, results on the test set."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from thrifty.costs import Prices
from thrifty.errors import DataError, raise_all
from thrifty.frontier.comparison import Comparison, Steps
from thrifty.frontier.curve import SCALES, Curve, CurvePoint
from thrifty.frontier.fit_budget import ThreeSets, split_table
from thrifty.frontier.jobs import Job, digest_of_set, plain_settings, run_jobs
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.tracing import check_learners, read_table, trace_learner
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import ValidationOutputs

__all__ = ["compare"]


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
            partial(_trace, name, learner, sets[split], metric, random_state + split),
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


def _trace(name: str, learner: Any, sets: ThreeSets, metric: Metric, seed: int) -> Curve:
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
