"""Tracing: whole curves of one learner or several, from one call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from thrifty.bundle import Schema
from thrifty.errors import DataError, raise_all
from thrifty.frontier.checkpoints import (
    Cell,
    digest_of_rows,
    digest_of_table,
    plain_settings,
    run_cells,
)
from thrifty.frontier.curve import Curve
from thrifty.frontier.evaluate import Bench, thin
from thrifty.frontier.scoring import quality
from thrifty.frontier.splits import Rows, hold_out, take
from thrifty.frontier.tasks import TASKS
from thrifty.learn.targets import queries

__all__ = ["trace"]

LEVEL = 0.95
# Rows of the training table that the bills of a point are foreseen on.
FORESEEN_ROWS = 500


@dataclass(frozen=True, eq=False)
class _Run:
    """What all learners of a run share."""

    task: str
    scoring: str
    train: Rows
    held_out: Rows
    clusters: NDArray[np.int64] | None
    seed: int


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

    Each learner learns its whole path from the training rows; its points are measured on the
    held-out rows. The curve does not depend on `n_jobs`.

    Parameters
    ----------
    learner : estimator with `path`, or mapping of name to estimator
        They must have the same task and the same prices.
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    validation : (Xv, yv) or (Xv, yv, qidv), optional
        Held-out rows. When left out, `share` of the rows are held out: classes in proportion,
        queries and groups whole.
    scoring : str, optional
        What quality is, see `thrifty.frontier.scoring`; accuracy, r2 or ndcg@5 when left out.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    groups : sequence of shape (n,), optional
        Rows of one group are held out together; they count as one observation where figures
        are said to be sure.
    share : float
        Share of the rows to hold out.
    resume : path, optional
        A folder that keeps each learner's curve when it is done; a run that was interrupted goes
        on from there.
    n_jobs : int, optional
        Learners that run at a time, through joblib.
    progress : bool
        Show a bar with the time left.
    random_state : int
        Divides the rows, and seeds learners that have no seed of their own.

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
    >>> curve.frontier[0].bill, curve.at_budget(1.0).bill
    (0.0, 1.0)
    """
    learners = _named(learner, random_state)
    run = _prepared(learners, X, y, qid, groups, validation, scoring, share, random_state)
    about = {} if resume is None else _about(run)
    cells = [
        Cell(_settings(name, each, about), partial(_curve, name, each, run))
        for name, each in learners.items()
    ]
    return Curve.merge(run_cells(cells, resume, n_jobs, progress))


def _named(learner: Any, seed: int) -> dict[str, Any]:
    named = learner if isinstance(learner, Mapping) else {type(learner).__name__: learner}
    if not named:
        raise DataError("learner: the mapping is empty; give at least one")
    strange = [name for name, each in named.items() if not hasattr(each, "path")]
    if strange or any(isinstance(each, type) for each in named.values()):
        raise DataError(f"learner: {strange or list(named)} have no path; give estimators")
    return {str(name): _seeded(each, seed) for name, each in named.items()}


def _seeded(learner: Any, seed: int) -> Any:
    """A copy that does not depend on the hour: one without a seed takes that of the run."""
    learner = clone(learner)
    if "random_state" in learner.get_params(deep=False) and learner.random_state is None:
        learner.set_params(random_state=seed)
    return learner


def _prepared(
    learners: Mapping[str, Any],
    X: Any,
    y: Any,
    qid: Any,
    groups: Any,
    validation: tuple[Any, ...] | None,
    scoring: str | None,
    share: float,
    seed: int,
) -> _Run:
    """Check the rows and divide them."""
    task = _task(learners)
    measure = quality(scoring, task).name
    rows = _rows(X, y, qid, task)
    units = rows.qid if groups is None else queries(groups, len(rows))
    if validation is None:
        strata = rows.y if task == "classification" else np.zeros(len(rows))
        parts = hold_out(strata, units, share, np.random.default_rng(seed))
        train, held_out = (take(part, rows.X, rows.y, rows.qid) for part in parts)
        units = None if units is None else units[parts[1]]
    else:
        train, held_out = rows, _given(validation, task)
        units = held_out.qid
    clusters = None if units is None else queries(units, len(held_out))
    return _Run(task, measure, train, held_out, clusters, seed)


def _task(learners: Mapping[str, Any]) -> str:
    tasks = {name: _task_of(each) for name, each in learners.items()}
    if len(set(tasks.values())) > 1:
        told = ", ".join(f"{name} is for {task}" for name, task in tasks.items())
        raise DataError(f"learner: they have different tasks: {told}")
    return next(iter(tasks.values()))


def _task_of(learner: Any) -> str:
    if is_classifier(learner):
        return "classification"
    return "regression" if is_regressor(learner) else "ranking"


def _rows(X: Any, y: Any, qid: Any, task: str, what: str = "") -> Rows:
    n = _num_samples(X)
    y = np.asarray(y)
    problems = []
    if qid is None and task == "ranking":
        problems.append("ranking needs the query of each row: give qid")
    if qid is not None and task != "ranking":
        problems.append(f"{task} has no queries: leave qid out, or give groups")
    raise_all(DataError, f"{what or 'qid'}", problems)
    TASKS[task].check(y, n)
    if qid is not None:
        queries(qid, n)
    return Rows(np.arange(n), X, y, None if qid is None else np.asarray(qid))


def _given(validation: Any, task: str) -> Rows:
    if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
        raise DataError("validation: give the table and its target, (X, y), or (X, y, qid)")
    X, y, *qid = validation
    n, y = _num_samples(X), np.asarray(y)
    if len(y) != n:
        raise DataError(f"validation target: {len(y)} values for {n} rows; give one value a row")
    if task == "ranking" and not qid:
        raise DataError("validation: ranking needs the query of each row, (X, y, qid)")
    return Rows(np.arange(n), X, y, np.asarray(qid[0]) if qid else None)


def _about(run: _Run) -> dict[str, Any]:
    from thrifty import __version__

    train, held_out = run.train, run.held_out
    return {
        "data": digest_of_table(train.X, train.y, train.qid),
        "validation": digest_of_table(held_out.X, held_out.y, run.clusters),
        "scoring": run.scoring,
        "seed": run.seed,
        "thrifty": __version__,
    }


def _settings(name: str, learner: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "learner": plain_settings(learner) if about else None, **about}


def _curve(name: str, learner: Any, run: _Run) -> Curve:
    """The curve of one learner: the work of one cell."""
    points = thin(_path(learner, run))
    predictor = points[0].model
    bench = _bench(predictor.schema, run)
    measured = tuple(bench.measure(name, points))
    prices = predictor.prices
    data = digest_of_rows(bench.rows.X, run.held_out.y, run.clusters)
    return Curve(
        measured,
        scoring=run.scoring,
        task=run.task,
        unit=prices.unit,
        full=prices.full,
        level=LEVEL,
        data=data,
        clusters=run.clusters,
    )


def _path(learner: Any, run: _Run) -> list[Any]:
    train, held_out = run.train, run.held_out
    if train.qid is None:
        return list(learner.path(train.X, train.y, validation=(held_out.X, held_out.y)))
    validation = (held_out.X, held_out.y, held_out.qid)
    return list(learner.path(train.X, train.y, qid=train.qid, validation=validation))


def _bench(schema: Schema, run: _Run) -> Bench:
    rows, n = run.held_out, len(run.train)
    few = np.arange(n)
    if n > FORESEEN_ROWS:
        few = np.sort(np.random.default_rng(run.seed).choice(n, FORESEEN_ROWS, replace=False))
    return Bench(
        rows=Rows(rows.index, schema.encode(rows.X), rows.y, rows.qid),
        quality=quality(run.scoring, run.task),
        level=LEVEL,
        clusters=run.clusters,
        training=schema.encode(_safe_indexing(run.train.X, few)),
    )
