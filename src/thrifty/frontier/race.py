"""Race learners: each traces its curve, and those that lose on a sample do not start.

On many rows, all learners are screened on a sample first. A learner whose every point lies clearly
below the hull of the others is left out of the final, in which the others use all rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from thrifty.frontier.curve import Curve
from thrifty.frontier.fit_progress import reporting
from thrifty.frontier.jobs import Job, ResumeFolder, plain_settings, run_job, run_kept
from thrifty.frontier.scoring import Metric, find_metric
from thrifty.frontier.splits import split_rows
from thrifty.frontier.tracing import trace_learner
from thrifty.learn.dataset import TrainingSet, ValidationSet

__all__ = ["LearnerResult", "forecast", "race", "screen"]

# Screening uses this many training rows and half as many validation rows. It costs a few finals on
# as many rows, so it pays off if there are many times more.
SCREENING_ROWS = 2000
WORTH_SCREENING = 10
# Training rows of the two samples that a forecast times.
FORECAST_ROWS = (200, 1500)


@dataclass(frozen=True)
class LearnerResult:
    """What became of one learner in a race.

    Parameters
    ----------
    learner : str
    outcome : {"ran", "beaten on a sample", "no time left"}
    seconds : float
        Time that its final took, or to read its curve if that was kept; 0 if it did not start. That
        of the whole race, if several ran at a time.
    """

    learner: str
    outcome: str
    seconds: float = 0.0


def race(
    learners: Mapping[str, Any],
    train: TrainingSet,
    validation: ValidationSet | None,
    metric: Metric,
    time_limit: float | None,
    rng: np.random.Generator,
    resume: str | os.PathLike[str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> tuple[Curve, tuple[LearnerResult, ...]]:
    """Trace the learners one after the other and merge their curves.

    Without a time limit, several run at a time if `joblib.parallel_config` says so.

    Parameters
    ----------
    learners : mapping of name to estimator
        Fast ones first.
    train : TrainingSet
    validation : ValidationSet or None
        None if all learners cross-fit: then points are measured on the training rows.
    metric : Metric
    time_limit : float or None
        Seconds after which no further learner starts; the first one always runs.
    rng : numpy.random.Generator
        Draws the sample for screening.
    resume : path, optional
        A folder that keeps the curve of each learner when it is done.
    about : mapping, optional
        What the curves depend on besides the learners, in plain values, if they are kept.

    Raises
    ------
    ResumeError
        If `resume` is for other data or settings, before anything is run.
    """
    start = monotonic()
    is_screened = len(learners) > 1 and len(train) > WORTH_SCREENING * SCREENING_ROWS
    settings: dict[str, dict[str, Any]] = {name: {} for name in learners}
    kept = None
    if resume is not None:
        for name, learner in learners.items():
            settings[name] = {"name": name, "learner": plain_settings(learner), **(about or {})}
        sampled = map(_on_sample, settings.values()) if is_screened else ()
        kept = ResumeFolder(resume, [*settings.values(), *sampled])
    beaten: set[str] = set()
    if is_screened:
        beaten = screen(learners, train, validation, metric, rng, kept, settings)
    finals = {
        name: Job(
            settings[name],
            partial(_run_final, name, learner, metric=metric, place=(number, len(learners))),
            (train, validation),
        )
        for number, (name, learner) in enumerate(learners.items(), start=1)
        if name not in beaten
    }
    if time_limit is None and len(finals) > 1 and effective_n_jobs(None) > 1:
        together = run_kept([*finals.values()], kept)
        seconds = monotonic() - start  # of all of them
        return Curve.merge(together), tuple(
            LearnerResult(name, "ran", seconds)
            if name in finals
            else LearnerResult(name, "beaten on a sample")
            for name in learners
        )
    curves: list[Curve] = []
    results: list[LearnerResult] = []
    for name in learners:
        began = monotonic()
        if name in beaten:
            results.append(LearnerResult(name, "beaten on a sample"))
        elif curves and time_limit is not None and began - start >= time_limit:
            results.append(LearnerResult(name, "no time left"))
        else:
            curves.append(run_job(finals[name], kept))
            results.append(LearnerResult(name, "ran", monotonic() - began))
    return Curve.merge(curves), tuple(results)


def _run_final(
    name: str,
    learner: Any,
    train: TrainingSet,
    validation: ValidationSet | None,
    metric: Metric,
    place: tuple[int, int],
) -> Curve:
    """Trace a learner on all rows, and report how far it is."""
    with reporting(name, *place):
        return trace_learner(name, learner, train, validation, metric)


def _on_sample(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the screening of a learner: the data and the seed say which sample."""
    return {**settings, "name": f"{settings['name']}, on a sample"}


def screen(
    learners: Mapping[str, Any],
    train: TrainingSet,
    validation: ValidationSet | None,
    metric: Metric,
    rng: np.random.Generator,
    kept: ResumeFolder | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
) -> set[str]:
    """Return the names of the learners that are beaten on a sample.

    A learner is beaten if every point of it but the constant lies clearly below the hull of the
    others. Finished curves are kept in a folder if there is one; `settings` are those of the
    finals.
    """
    sample, held_out = train, validation
    if len(train) > SCREENING_ROWS:
        share = SCREENING_ROWS / len(train)
        _, taken = split_rows(train.task, train.y, train.groups, share, rng)
        sample = train.sample(taken)
    if validation is not None:
        held_out = validation
        if len(validation) > SCREENING_ROWS // 2:
            share = SCREENING_ROWS // 2 / len(validation)
            _, taken = split_rows(train.task, validation.y, validation.clusters, share, rng)
            held_out = validation.take(taken)
        held_out = held_out.recode(sample.schema)
    curves = {}
    for name, learner in learners.items():
        about = {} if kept is None or settings is None else _on_sample(settings[name])
        work = partial(trace_learner, name, learner, sample, held_out, metric)
        curves[name] = run_job(Job(about, work), kept)
    beaten = set()
    for name, curve in curves.items():
        hull = Curve.merge([other for key, other in curves.items() if key != name]).hull
        bills, qualities = [p.bill for p in hull], [p.quality for p in hull]
        points = [point for point in curve.points if point.bill > hull[0].bill]
        if all(p.quality_interval[1] < np.interp(p.bill, bills, qualities) for p in points):
            beaten.add(name)
    return beaten


def forecast(
    learners: Mapping[str, Any],
    train: TrainingSet,
    validation: ValidationSet | None,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Estimate the seconds that each learner would take on all rows.

    Two small samples are timed; from there on, time is assumed to grow linearly.

    Parameters
    ----------
    learners : mapping of name to estimator
    train : TrainingSet
    validation : ValidationSet or None
        None if all learners cross-fit.
    rng : numpy.random.Generator
        Draws the samples.

    Raises
    ------
    DataError
        If a learner cannot use the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.frontier.race import forecast
    >>> from thrifty.learn.dataset import TrainingSet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> whole = TrainingSet.read("regression", X, X[:, 0])
    >>> train = whole.sample(np.arange(200))
    >>> validation = whole.hold_out(np.arange(200, 300), train.schema)
    >>> seconds = forecast({"miser": GreedyMiserRegressor(n_estimators=5)}, train, validation, rng)
    >>> list(seconds), seconds["miser"] < 10
    (['miser'], True)
    """
    metric = find_metric(None, train.task)
    samples = []
    for size in sorted({min(size, len(train)) for size in FORECAST_ROWS}):
        share = size / len(train)
        sample = train
        held_out = validation
        if share < 1:
            sample = train.sample(_draw(train.y, train.query, share, train.task, rng))
            if validation is not None:
                taken = _draw(validation.y, validation.query, share, train.task, rng)
                held_out = validation.take(taken).recode(sample.schema)
        samples.append((size, sample, held_out))
    seconds = {}
    for name, learner in learners.items():
        times = []
        for size, sample, held_out in samples:
            start = perf_counter()
            trace_learner(name, learner, sample, held_out, metric)
            times.append((size, perf_counter() - start))
        (n, short), (m, long) = times[0], times[-1]
        per_row = max(0.0, (long - short) / (m - n)) if m > n else 0.0
        seconds[name] = long + per_row * (len(train) - m)
    return seconds


def _draw(
    y: NDArray[Any],
    query: NDArray[np.int64] | None,
    share: float,
    task: str,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Draw a share of the rows; whole queries, those with a relevant row first."""
    if query is not None:
        count = int(query.max()) + 1
        relevant = np.bincount(query, np.asarray(y, dtype=np.float64)) > 0
        shuffled = rng.permutation(count)
        order = shuffled[np.argsort(~relevant[shuffled], kind="stable")]
        return np.flatnonzero(np.isin(query, order[: max(1, round(share * count))]))
    taken = rng.permutation(len(y))[: max(1, round(share * len(y)))]
    if task == "classification":  # a class that the sample misses could not be learned
        taken = np.union1d(taken, np.unique(y, return_index=True)[1])
    return np.sort(taken)
