"""A table, prices and a budget in; the best predictor inside the budget out.

Learning sees the training rows, choosing the validation rows, and the figures that are told come
from test rows that neither has seen.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.bundle import Predictor, Schema
from thrifty.costs import Prices
from thrifty.errors import DataError
from thrifty.frontier.choice import check_budget, choose
from thrifty.frontier.parts import Rows, divide, take
from thrifty.frontier.tasks import TASKS, Task, guess_task
from thrifty.learn import Point
from thrifty.learn.targets import queries

__all__ = ["BudgetFit", "Figures", "fit_budget"]


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
    metric : str
        What quality is: ``"accuracy"``, ``"R2"`` or ``"NDCG@5"``.
    budget : float
        What may be spent on average.
    seed : int
        What divided the rows.
    points : tuple of Point
        The whole path, cheapest first; bills and qualities are those of the validation rows.
    chosen : Point
        The best within the budget; its model knows where it comes from.
    baseline : Point
        The best of those that were learnt without regard to prices.
    held_out, baseline_held_out : Figures
        Bill and quality of both on the test rows.
    sizes : dict
        Number of rows of each part.
    test : Rows
        The test rows.
    data : str
        SHA-256 of the table and target as they were read.
    """

    task: str
    guessed: bool
    metric: str
    budget: float
    seed: int
    points: tuple[Point, ...]
    chosen: Point
    baseline: Point
    held_out: Figures
    baseline_held_out: Figures
    sizes: dict[str, int]
    test: Rows
    data: str


def fit_budget(
    X: Any,
    y: Any,
    *,
    budget: float,
    prices: Prices | None = None,
    task: str | None = None,
    qid: Any = None,
    share: float = 0.2,
    random_state: int = 0,
) -> BudgetFit:
    """Learn a path of predictors and choose the best one inside a budget.

    Parameters
    ----------
    X : pandas or polars DataFrame, or array of shape (n, d)
        The table.
    y : sequence of shape (n,)
        Labels, values, or relevance grades.
    budget : float
        Largest mean bill.
    prices : Prices, optional
        What features cost; one unit each when left out.
    task : {"classification", "regression", "ranking"}, optional
        What to predict; guessed from the target when left out.
    qid : sequence of shape (n,), optional
        Query of each row, for ranking.
    share : float
        Share of the rows to choose on, and again of the rows to report on.
    random_state : int
        Divides the rows.

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
    >>> found.task, found.metric, found.held_out.bill
    ('regression', 'R2', 1.0)
    >>> found.baseline_held_out.bill
    51.0
    """
    budget, y, qid = check_budget(budget), np.asarray(y), None if qid is None else np.asarray(qid)
    name = task or guess_task(y, qid)
    data = _check(X, y, qid, name, prices)
    strata = y if name == "classification" else np.zeros(len(y))
    index = divide(strata, qid, share, random_state)
    parts = {part: take(rows, X, y, qid) for part, rows in index.items()}
    points = _path(TASKS[name], parts["train"], parts["validation"], prices, random_state)
    chosen, baseline = choose(points, budget), _baseline(points)
    told = _figures(TASKS[name], chosen, parts["test"])
    sizes = {part: len(rows) for part, rows in parts.items()}
    origin = {"task": name, "budget": budget, "seed": random_state, "rows": sizes,
              "data": data, "metric": TASKS[name].metric, "held_out": asdict(told)}  # fmt: skip
    return BudgetFit(
        task=name,
        guessed=task is None,
        metric=TASKS[name].metric,
        budget=budget,
        seed=random_state,
        points=points,
        chosen=replace(chosen, model=_signed(chosen.model, origin)),
        baseline=baseline,
        held_out=told,
        baseline_held_out=_figures(TASKS[name], baseline, parts["test"]),
        sizes=sizes,
        test=parts["test"],
        data=data,
    )


def _check(
    X: Any, y: NDArray[Any], qid: NDArray[Any] | None, task: str, prices: Prices | None
) -> str:
    """Refuse what cannot be used while rows still have their numbers; give the data's hash."""
    if task not in TASKS:
        raise DataError(f"task: {task!r} is not one of {', '.join(TASKS)}")
    schema = Schema.of(X)
    (prices or Prices()).bind([*map(str, schema.names)] if schema.named else len(schema))
    encoded = schema.encode(X)
    _check_queries(qid, task, len(encoded))
    TASKS[task].check(y, len(encoded))
    return _digest(schema, encoded, y)


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


def _path(
    task: Task, train: Rows, validation: Rows, prices: Prices | None, random_state: int
) -> tuple[Point, ...]:
    learner = task.learner(prices=prices, random_state=random_state)
    queries = {} if train.qid is None else {"qid": train.qid}
    held_out = (validation.X, validation.y, validation.qid)[: 2 + len(queries)]
    try:
        return tuple(learner.path(train.X, train.y, validation=held_out, **queries))
    except DataError as error:
        # The whole table was fit, so it is a value or a class so rare that no training row has it.
        raise DataError(f"the {len(train)} rows to learn from: {error}") from error


def _baseline(points: tuple[Point, ...]) -> Point:
    priceless = [point for point in points if point.knob.get("penalty") == 0.0]
    return max(priceless or points, key=lambda point: point.quality)


def _figures(task: Task, point: Point, rows: Rows) -> Figures:
    bill = float(point.model.bill(rows.X).mean())
    return Figures(bill, task.quality(point.model, rows))


def _signed(model: Predictor, origin: dict[str, Any]) -> Predictor:
    provenance = {**(model.provenance or {}), **origin}
    return Predictor(model.model, model.schema, model.prices, model.classes, model.knob, provenance)
