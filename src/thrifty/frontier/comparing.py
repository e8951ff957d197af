"""Comparing learners: the same splits, the same rule of choice, figures on rows of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier, is_regressor

from thrifty.costs import Prices
from thrifty.errors import DataError, raise_all
from thrifty.frontier.checkpoints import Cell, digest_of_table, plain_settings, run_cells
from thrifty.frontier.comparison import Comparison, Steps
from thrifty.frontier.curve import SCALES, Curve, CurvePoint
from thrifty.frontier.scoring import Quality, quality
from thrifty.frontier.splits import Rows, divide, take
from thrifty.frontier.tracing import trace

__all__ = ["compare"]


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows, and how they are divided."""

    X: Any
    y: NDArray[Any]
    qid: NDArray[Any] | None
    stratified: bool
    share: float
    seed: int

    def parts(self, split: int) -> dict[str, Rows]:
        """Rows to learn from, to choose on and to report on; each split has a seed of its own."""
        strata = self.y if self.stratified else np.zeros(len(self.y))
        index = divide(strata, self.qid, self.share, self.seed + split)
        return {name: take(rows, self.X, self.y, self.qid) for name, rows in index.items()}


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

    On each split a learner learns its path from the training rows; at each budget the point that
    the validation rows favor is taken, and its quality on the test rows counts. The result does not
    depend on `n_jobs`.

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
        How many times the rows are divided anew, at least 2.
    scoring : str, optional
        What quality is, see `thrifty.frontier.scoring`; accuracy, r2 or ndcg@5 when left out.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    share : float
        Share of the rows to choose on, and again of the rows to report on.
    scale : {"log", "linear"}
        What the area is uniform over: the logarithm of the budget, or the budget.
    resume : path, optional
        A folder that keeps each finished curve; a run that was interrupted goes on from there.
    n_jobs : int, optional
        Curves that are traced at a time, through joblib.
    progress : bool
        Show a bar with the time left.
    random_state : int
        Divides the rows, and seeds learners that have no seed of their own.

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
    >>> found = compare(learners, X, y, splits=2)
    >>> found.ranks
    {'deep': 1.0, 'short': 2.0}
    """
    named = _named(learners)
    _refuse_options(splits, scale)
    measure = quality(scoring, _task(named))
    rows = None if qid is None else np.asarray(qid)
    stratified = "classification" in measure.task
    table = _Table(X, np.asarray(y), rows, stratified, share, random_state)
    about = {} if resume is None else _about(table, measure.name)
    cells = [
        Cell(
            _settings(name, each, split, about),
            partial(_curve, name, each, table, split, measure.name),
        )
        for split in range(splits)
        for name, each in named.items()
    ]
    curves = run_cells(cells, resume, n_jobs, progress)
    _refuse_mixtures(curves)
    return _compared(list(named), curves, table, measure, scale)


def _curve(name: str, learner: Any, table: _Table, split: int, scoring: str) -> Curve:
    """The curve of one learner on one split, on its validation rows: the work of one cell."""
    parts = table.parts(split)
    train, rows = parts["train"], parts["validation"]
    held_out = (rows.X, rows.y) if rows.qid is None else (rows.X, rows.y, rows.qid)
    seed = table.seed + split
    if hasattr(learner, "path"):
        return trace({name: learner}, train.X, train.y, validation=held_out, qid=train.qid,
                     scoring=scoring, random_state=seed)  # fmt: skip
    own = {"random_state": seed} if learner.random_state is None else {}
    fitted = clone(learner).set_params(scoring=scoring, **own)
    queries = {} if train.qid is None else {"qid": train.qid}
    curve: Curve = fitted.fit(train.X, train.y, validation=held_out, **queries).frontier_
    return curve


def _compared(
    names: list[str], curves: list[Curve], table: _Table, measure: Quality, scale: str
) -> Comparison:
    steps = []
    for split in range(len(curves) // len(names)):
        parts = table.parts(split)
        here = curves[split * len(names) : (split + 1) * len(names)]
        steps += [
            _steps(name, split, curve, parts["test"], measure)
            for name, curve in zip(names, here, strict=True)
        ]
    test, others = len(parts["test"]), len(parts["train"]) + len(parts["validation"])
    first = curves[0]
    return Comparison(tuple(steps), measure.name, first.unit, first.full, scale, test / others)


def _steps(learner: str, split: int, curve: Curve, test: Rows, measure: Quality) -> Steps:
    """Which point is taken from which budget on, and what it reaches on the test rows."""
    taken: list[tuple[float, CurvePoint]] = []
    for budget in np.unique([point.bill for point in curve.points]).tolist():
        point = curve.at_budget(budget)
        if not taken or point is not taken[-1][1]:
            taken.append((budget, point))
    return Steps(
        learner,
        split,
        budgets=np.array([budget for budget, _ in taken]),
        bills=np.array([point.model.bill(test.X).mean() for _, point in taken]),
        qualities=np.array([measure.measure(point.model, test) for _, point in taken]),
    )


# --- settings ----------------------------------------------------------------


def _about(table: _Table, scoring: str) -> dict[str, Any]:
    from thrifty import __version__

    return {
        "data": digest_of_table(table.X, table.y, table.qid),
        "share": table.share,
        "seed": table.seed,
        "scoring": scoring,
        "thrifty": __version__,
    }


def _settings(name: str, learner: Any, split: int, about: Mapping[str, Any]) -> dict[str, Any]:
    told = plain_settings(learner) if about else None
    return {"name": f"{name}, split {split}", "learner": told, "split": split, **about}


# --- refusals ----------------------------------------------------------------


def _named(learners: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    if not isinstance(learners, Mapping):
        names = [type(each).__name__ for each in learners]
        if len(set(names)) < len(names):
            raise DataError(f"learners: {names} are not distinct names; give a mapping")
        learners = dict(zip(names, learners, strict=True))
    if not learners:
        raise DataError("learners: there are none; give at least one")
    strange = [name for name, each in learners.items() if isinstance(each, type) or not _fits(each)]
    if strange:
        raise DataError(f"learners: {strange} have no path; give estimators of thrifty")
    _refuse_prices(learners)
    return {str(name): each for name, each in learners.items()}


def _fits(learner: Any) -> bool:
    return hasattr(learner, "path") or hasattr(learner, "at_budget")


def _refuse_prices(learners: Mapping[str, Any]) -> None:
    """Areas over different prices cannot be compared."""
    prices = {name: getattr(each, "prices", None) or Prices() for name, each in learners.items()}
    first = next(iter(prices))
    others = [name for name in prices if prices[name] != prices[first]]
    raise_all(DataError, "learners", [f"{name} has other prices than {first}" for name in others])


def _refuse_options(splits: int, scale: str) -> None:
    if splits < 2:
        raise DataError(f"splits: {splits!r} is not 2 or more, so nothing tells luck from skill")
    if scale not in SCALES:
        raise DataError(f"scale: {scale!r} is not one of {', '.join(SCALES)}")


def _task(learners: Mapping[str, Any]) -> str:
    tasks = {
        name: "classification" if is_classifier(each)
        else "regression" if is_regressor(each) else "ranking"
        for name, each in learners.items()
    }  # fmt: skip
    if len(set(tasks.values())) > 1:
        told = ", ".join(f"{name} is for {task}" for name, task in tasks.items())
        raise DataError(f"learners: they have different tasks: {told}")
    return next(iter(tasks.values()))


def _refuse_mixtures(curves: Sequence[Curve]) -> None:
    full = sorted({curve.full for curve in curves})
    if len(full) > 1:
        raise DataError(f"learners: their full prices differ, {full}; give them the same prices")
