"""How far a fit is: whoever wants to know sets a callback, and learners report to it.

The callback is set for a block of code, not passed to estimators, so that it works through
pipelines and searches of scikit-learn, and a fitted estimator does not keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from thrifty.learn.ladder.pace import Report

__all__ = ["Progress", "current_report", "progress", "reporting"]

# Share of a learner's work that is done when its path is fitted; measuring the points is the rest.
PATH_DONE = 0.9


class Progress(NamedTuple):
    """How far one of several learners is, or the baselines that it is compared with."""

    learner: str
    """Its name; "baselines" for those of `fit_budget`."""

    number: int
    """Which learner it is, from 1; 0 for the baselines."""

    total: int
    """How many learners are trained, one after the other; 0 for the baselines."""

    share: float
    """Share of its work that is done, from 0 to 1; never decreasing."""


_CALLBACK: ContextVar[Callable[[Progress], None] | None] = ContextVar("_CALLBACK", default=None)
_REPORT: ContextVar[Report | None] = ContextVar("_REPORT", default=None)


@contextmanager
def progress(callback: Callable[[Progress], None]) -> Iterator[None]:
    """Within this context, tell `callback` how far each learner is.

    It is called by ``Budget*.fit``, `fit_budget` and `trace`, at least with share 0 and share 1 for
    each learner and, in `fit_budget`, for the baselines; ladders also report in between. An error
    that it raises ends the fit. Learners that run in other processes (``n_jobs``) do not report.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import BudgetClassifier, progress
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> shares = []
    >>> with progress(lambda report: shares.append(report.share)):
    ...     model = BudgetClassifier(budget=1, effort="fast").fit(X, X[:, 0] > 0)
    >>> shares[0], shares[-1], shares == sorted(shares)
    (0.0, 1.0, True)
    """
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


@contextmanager
def reporting(learner: str, number: int, total: int) -> Iterator[None]:
    """Within this context, `current_report` is that of one learner, from 0 to 1."""
    callback = _CALLBACK.get()
    if callback is None:
        yield
        return
    done = 0.0

    def report(share: float) -> None:
        nonlocal done
        done = max(done, share)
        callback(Progress(learner, number, total, done))

    report(0.0)
    token = _REPORT.set(report)
    try:
        yield
    finally:
        _REPORT.reset(token)
    report(1.0)


def current_report() -> Report | None:
    """Return what a learner's path reports its share to; None if nobody wants to know."""
    report = _REPORT.get()
    return None if report is None else lambda share: report(PATH_DONE * share)
