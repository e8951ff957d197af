"""Trace the whole cost/quality curve of one learner, or of several on the same rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from thrifty.errors import DataError
from thrifty.frontier.curve import Curve
from thrifty.frontier.evaluate import evaluate_points, thin
from thrifty.frontier.fit_progress import current_report, reporting
from thrifty.frontier.jobs import Job, digest_of_rows, digest_of_set, plain_settings, run_jobs
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.splits import split_rows
from thrifty.learn.base import PricedEstimator, task_of
from thrifty.learn.dataset import TrainingSet, ValidationSet
from thrifty.learn.point import Point

__all__ = ["check_learners", "describe_run", "read_table", "trace", "trace_learner"]

# Confidence level of the intervals.
LEVEL = 0.95
# Training rows on which the bills of a point are estimated.
TRAINING_ROWS = 500


def trace(
    learner: Any,
    X: Any,
    y: Any,
    *,
    validation: tuple[Any, ...] | None = None,
    scoring: str | None = None,
    qid: Any = None,
    groups: Any = None,
    share: float = 0.2,
    resume: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    random_state: int = 0,
) -> Curve:
    """Trace the cost/quality curve of a learner, or of several on the same rows.

    Each learner fits its whole path on the training set; its points are measured on the validation
    set. The curve does not depend on `n_jobs`.

    Parameters
    ----------
    learner : estimator with `path`, or mapping of name to estimator
        They must have the same task and the same prices.
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    validation : (Xv, yv) or (Xv, yv, qidv), optional
        The validation set. By default `share` of the rows are held out: classes in proportion,
        queries and groups whole.
    scoring : str, optional
        The metric, see `thrifty.frontier.scoring`; by default accuracy, r2 or ndcg@5.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    groups : sequence of shape (n,), optional
        Rows of one group are held out together, and count as one observation in the intervals.
    share : float
        Share of the rows to hold out.
    resume : path, optional
        A folder that keeps the curve of each learner when it is done; an interrupted run resumes
        from there.
    n_jobs : int, optional
        Number of learners that run at a time, through joblib.
    progress : bool
        Show a progress bar with the time left.
    random_state : int
        Splits the rows, and seeds learners that have no seed of their own.

    Raises
    ------
    DataError
        If table, target or scoring cannot be used, or `resume` is for other data or settings.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserClassifier, Prices
    >>> from thrifty.frontier import trace
    >>> X = np.random.default_rng(0).normal(size=(600, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> curve = trace(GreedyMiserClassifier(prices=Prices([1.0, 5.0, 1.0])), X, y)
    >>> curve.frontier[0].bill, curve.choose(budget=1.0).bill
    (0.0, 1.0)
    """
    named = learner if isinstance(learner, Mapping) else {type(learner).__name__: learner}
    task = check_learners(named, "learner")
    metric = find_metric(scoring, task)
    whole = X if isinstance(X, TrainingSet) else read_table(task, X, y, qid, groups)
    if validation is not None:
        train, held_out = whole, _read_validation(validation, whole)
    else:
        rng = np.random.default_rng(random_state)
        train_rows, held_rows = split_rows(task, whole.y, whole.clusters, share, rng)
        train = whole.sample(train_rows)
        held_out = whole.hold_out(held_rows, train.schema)
    about = {} if resume is None else describe_run(train, held_out, metric.name, random_state)
    jobs = []
    for number, (name, each) in enumerate(named.items(), start=1):
        seeded = _seeded(each, random_state)
        learner_settings = plain_settings(seeded) if about else None
        act = partial(trace_learner, str(name), seeded, metric=metric, seed=random_state)
        jobs.append(
            Job(
                {"name": str(name), "learner": learner_settings, **about},
                partial(_reported, act, str(name), number, len(named)),
                (train, held_out),
            )
        )
    return Curve.merge(run_jobs(jobs, resume, n_jobs, progress))


def _reported(act: Callable[..., Curve], name: str, number: int, total: int, *data: Any) -> Curve:
    """Trace a learner on some data, and report how far it is."""
    with reporting(name, number, total):
        return act(*data)


def trace_learner(
    name: str,
    learner: Any,
    train: TrainingSet,
    validation: ValidationSet | None,
    metric: Metric,
    seed: int = 0,
) -> Curve:
    """Fit the path of one learner and measure its points on the validation set.

    A learner that cross-fits needs none: its points are measured on the training rows, each scored
    by models that have not seen it.
    """
    learner = _seeded(learner, seed)
    if hasattr(learner, "_report"):
        learner._report = current_report()
    points = thin(_path(learner, train, validation))
    cross_fitted = False
    if validation is None:
        validation = learner.evidence(train)
        # On large tables, the evidence is held out, and scored by the models themselves.
        cross_fitted = len(validation) == len(train)
    predictor = points[0].model
    rows = np.arange(len(train))
    if len(train) > TRAINING_ROWS:
        rows = np.sort(np.random.default_rng(seed).choice(len(train), TRAINING_ROWS, replace=False))
    if predictor.schema == train.schema:
        held_out, training_rows = validation, train.X[rows]
    else:  # a learner that reads tables its own way
        schema = predictor.schema
        held_out = validation.encode_by(schema)
        training_rows = schema.encode(train.take(rows).table)
    measured = evaluate_points(name, points, held_out, metric, LEVEL, training_rows)
    return Curve(
        tuple(measured),
        scoring=metric.name,
        task=train.task,
        unit=predictor.prices.unit,
        full=predictor.prices.full,
        level=LEVEL,
        data=digest_of_rows(held_out.X, validation.labels, validation.clusters),
        clusters=validation.clusters,
        cross_fitted=cross_fitted,
    )


def check_learners(learners: Mapping[str, Any], what: str) -> str:
    """Check that learners are estimators with a path and one task; return the task."""
    if not learners:
        raise DataError(f"{what}: there are none; give at least one")
    wrong = [
        str(name)
        for name, each in learners.items()
        if isinstance(each, type) or not (hasattr(each, "path") or hasattr(each, "at_budget"))
    ]
    if wrong:
        raise DataError(f"{what}: {wrong} have no path; give estimators, not classes")
    tasks = {name: task_of(each) for name, each in learners.items()}
    if len(set(tasks.values())) > 1:
        listed = ", ".join(f"{name} is for {task}" for name, task in tasks.items())
        raise DataError(f"{what}: they have different tasks: {listed}")
    return next(iter(tasks.values()))


def read_table(task: str, X: Any, y: Any, qid: Any, groups: Any = None) -> TrainingSet:
    """Read a table whose learners bring their own prices; check that queries fit the task."""
    if qid is None and task == "ranking":
        raise DataError("qid: ranking needs the query of each row: give qid")
    if qid is not None and task != "ranking":
        raise DataError(f"qid: {task} has no queries: leave qid out, or give groups")
    return TrainingSet.read(task, X, y, qid=qid, groups=groups)


def _read_validation(validation: Any, train: TrainingSet) -> ValidationSet:
    """Read the validation set that `trace` was given; a ranking needs queries."""
    if isinstance(validation, ValidationSet):
        return validation
    if train.task == "ranking" and isinstance(validation, (tuple, list)) and len(validation) == 2:
        raise DataError("validation: ranking needs the query of each row, (X, y, qid)")
    return ValidationSet.read(validation, train)


def _seeded(learner: Any, seed: int) -> Any:
    """Copy a learner; one without a seed gets that of the run, so that runs can be repeated."""
    learner = clone(learner)
    if "random_state" in learner.get_params(deep=False) and learner.random_state is None:
        learner.set_params(random_state=seed)
    return learner


def _path(learner: Any, train: TrainingSet, validation: ValidationSet | None) -> list[Point]:
    """Run `path`; learners that are not Thrifty's get the tables as the user gave them."""
    if isinstance(learner, PricedEstimator) or validation is None:
        return list(learner.path(train, None, validation=validation))
    if train.query is None:
        held_out: tuple[Any, ...] = (validation.table, validation.labels)
        return list(learner.path(train.table, train.labels, validation=held_out))
    held_out = (validation.table, validation.labels, validation.query)
    return list(learner.path(train.table, train.labels, qid=train.query, validation=held_out))


def describe_run(
    train: TrainingSet, validation: ValidationSet | None, scoring: Any, seed: Any
) -> dict[str, Any]:
    """Describe, in plain values, everything that the curves depend on besides the learners."""
    from thrifty import __version__

    return {
        "data": digest_of_set(train),
        "validation": None if validation is None else digest_of_set(validation),
        "scoring": scoring,
        "seed": seed,
        "thrifty": __version__,
    }
