"""A table, prices and a budget in; the best predictor inside the budget out, with its figures.

Learning sees the training rows, choosing the validation rows, and the figures that are told come
from test rows that neither has seen.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor, Schema
from thrifty.costs import BoundPrices, Prices
from thrifty.errors import DataError
from thrifty.frontier.baselines import Baseline, baselines
from thrifty.frontier.budget_base import BudgetEstimator
from thrifty.frontier.budget_estimators import BudgetClassifier, BudgetRanker, BudgetRegressor
from thrifty.frontier.curve import Curve, CurvePoint
from thrifty.frontier.scoring import Quality, quality
from thrifty.frontier.splits import Rows, divide, take
from thrifty.frontier.tasks import TASKS, guess_task
from thrifty.learn.targets import queries

__all__ = ["BudgetFit", "Figures", "fit_budget", "parts_of"]

# Share of the rows to choose on, and again to report on.
SHARE = 0.2

ESTIMATORS: dict[str, type[BudgetEstimator]] = {
    "classification": BudgetClassifier,
    "regression": BudgetRegressor,
    "ranking": BudgetRanker,
}


@dataclass(frozen=True)
class Figures:
    """Mean bill and quality of a predictor on some rows."""

    bill: float
    quality: float


@dataclass(frozen=True, eq=False)
class BudgetFit:
    """What `fit_budget` found.

    Parameters
    ----------
    task : str
        ``"classification"``, ``"regression"`` or ``"ranking"``.
    guessed : bool
        Whether the task was guessed from the target.
    estimator : BudgetEstimator
        The fitted estimator: `frontier_` has the curve on the validation rows.
    predictor : Predictor
        The chosen model, which knows where it comes from.
    held_out : Figures
        Its bill and quality on the test rows.
    baselines : tuple of Baseline
        Bills and qualities on the test rows of what one would do without prices.
    parts : dict of Rows
        The rows "train", "validation" and "test".
    target_quality : float or None
        The quality that was asked for, if it was not a budget.
    seed : int
        What divided the rows.
    data : str
        SHA-256 of the table and target as they were read.
    """

    task: str
    guessed: bool
    estimator: BudgetEstimator
    predictor: Predictor
    held_out: Figures
    baselines: tuple[Baseline, ...]
    parts: dict[str, Rows]
    target_quality: float | None
    seed: int
    data: str

    @property
    def curve(self) -> Curve:
        """All points on the validation rows."""
        return self.estimator.frontier_

    @property
    def chosen(self) -> CurvePoint:
        """The chosen point, with its figures on the validation rows."""
        return self.estimator.point_

    @property
    def test(self) -> Rows:
        """The rows that took no part in learning and choosing."""
        return self.parts["test"]

    @property
    def sizes(self) -> dict[str, int]:
        """Number of rows of each part."""
        return {name: len(rows) for name, rows in self.parts.items()}


def fit_budget(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    qid: Any = None,
    groups: Any = None,
    target_quality: float | None = None,
    share: float = SHARE,
    random_state: int = 0,
    **settings: Any,
) -> BudgetFit:
    """Learn a curve of predictors, choose the best one inside a budget, and measure it.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    task : {"classification", "regression", "ranking"}, optional
        What to predict; guessed from the target when left out.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    groups : sequence of shape (n,), optional
        Rows of one group are not divided.
    target_quality : float, optional
        Instead of the best inside a budget, the cheapest that is at least so good.
    share : float
        Share of the rows to choose on, and again of the rows to report on.
    random_state : int
        Divides the rows and seeds the learners.
    **settings
        Parameters of `BudgetClassifier`: prices, budget, cap, scoring, learners, confidence,
        time_limit.

    Raises
    ------
    DataError
        If table, target or prices cannot be used; tables are checked before any learning.
    BudgetError
        If no predictor meets the budget.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty import Prices
    >>> from thrifty.frontier import fit_budget
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> y = X[:, 0] + 0.1 * X[:, 1]
    >>> found = fit_budget(X, y, prices=Prices([1.0, 50.0]), budget=10)
    >>> found.task, found.curve.scoring, found.held_out.bill
    ('regression', 'r2', 1.0)
    >>> found.baselines[0].bill
    51.0
    """
    y, qid, groups = np.asarray(y), _array(qid), _array(groups)
    name = task or guess_task(y, qid)
    bound, data = _check(X, y, qid, name, settings.get("prices"))
    parts = parts_of(name, X, y, qid, groups, share=share, random_state=random_state)
    estimator = _fitted(name, parts, random_state, settings)
    if target_quality is not None:
        estimator = estimator.at_quality(target_quality)
    measure = quality(estimator.frontier_.scoring, name)
    told = _figures(estimator.point_.model, measure, parts["test"])
    spendable = estimator.point_.bill if estimator.budget is None else estimator.budget
    plain = TASKS[name].learners["greedy-miser"](random_state=random_state)
    return BudgetFit(
        task=name,
        guessed=task is None,
        estimator=estimator,
        predictor=_signed(estimator, told, data, random_state, parts),
        held_out=told,
        baselines=tuple(baselines(plain, bound, parts, measure, spendable)),
        parts=parts,
        target_quality=target_quality,
        seed=random_state,
        data=data,
    )


def parts_of(
    task: str,
    X: Any,
    y: NDArray[Any],
    qid: NDArray[Any] | None,
    groups: NDArray[Any] | None,
    *,
    share: float = SHARE,
    random_state: int = 0,
) -> dict[str, Rows]:
    """Rows to learn from, to choose on and to report on: what `fit_budget` divides a table into."""
    strata = y if task == "classification" else np.zeros(len(y))
    index = divide(strata, qid if groups is None else groups, share, random_state)
    return {part: take(rows, X, y, qid) for part, rows in index.items()}


def _array(values: Any) -> NDArray[Any] | None:
    return None if values is None else np.asarray(values)


def _check(
    X: Any, y: NDArray[Any], qid: NDArray[Any] | None, task: str, prices: Prices | None
) -> tuple[BoundPrices, str]:
    """Refuse what cannot be used while rows still have their numbers; give the data's hash."""
    if task not in TASKS:
        raise DataError(f"task: {task!r} is not one of {', '.join(TASKS)}")
    schema = Schema.of(X)
    bound = (prices or Prices()).bind([*map(str, schema.names)] if schema.named else len(schema))
    encoded = schema.encode(X)
    _check_queries(qid, task, len(encoded))
    TASKS[task].check(y, len(encoded))
    return bound, _digest(schema, encoded, y)


def _check_queries(qid: NDArray[Any] | None, task: str, rows: int) -> None:
    if qid is None and task == "ranking":
        raise DataError("qid: ranking needs the query of each row")
    if qid is not None and task != "ranking":
        raise DataError(f"qid: {task} has no queries; leave it out, or choose ranking")
    queries(qid, rows)


def _digest(schema: Schema, encoded: NDArray[Any], y: NDArray[Any]) -> str:
    digest = hashlib.sha256(json.dumps(schema.plain(), sort_keys=True).encode())
    digest.update(encoded.tobytes())
    digest.update(json.dumps([str(value) for value in y.tolist()]).encode())
    return digest.hexdigest()


def _fitted(task: str, parts: dict[str, Rows], random_state: int, settings: dict[str, Any]) -> Any:
    train, rows = parts["train"], parts["validation"]
    asked = {} if train.qid is None else {"qid": train.qid}
    held_out = (rows.X, rows.y) if rows.qid is None else (rows.X, rows.y, rows.qid)
    estimator: Any = ESTIMATORS[task](random_state=random_state, **settings)
    try:
        return estimator.fit(train.X, train.y, validation=held_out, **asked)
    except DataError as error:
        # The whole table was fit, so it is a value or a class so rare that no training row has it.
        raise DataError(f"the {len(train)} rows to learn from: {error}") from error


def _figures(model: Predictor, measure: Quality, rows: Rows) -> Figures:
    return Figures(float(model.bill(rows.X).mean()), measure.measure(model, rows))


def _signed(
    estimator: BudgetEstimator, told: Figures, data: str, seed: int, parts: dict[str, Rows]
) -> Predictor:
    """The chosen model with a note of where it comes from."""
    point = estimator.point_
    model = point.model
    origin = {
        "task": estimator._task,
        "learner": point.learner,
        "budget": estimator.budget,
        "seed": seed,
        "rows": {name: len(rows) for name, rows in parts.items()},
        "data": data,
        "metric": estimator.frontier_.scoring,
        "held_out": asdict(told),
    }
    provenance = {**(model.provenance or {}), **origin}
    return Predictor(model.model, model.schema, model.prices, model.classes, model.knob, provenance)
