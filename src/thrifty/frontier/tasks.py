"""What there is to predict: classes, values or an order, each with the learners for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thrifty.errors import DataError
from thrifty.learn import (
    BudgetForestClassifier,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    LadderClassifier,
    LadderRegressor,
)
from thrifty.learn.targets import Labels, grades, numbers

__all__ = ["TASKS", "Task", "guess_task", "learners_named"]

# A target of numbers with more distinct values than this is taken for a quantity.
MOST_CLASSES = 30
# Where all learners race, some do so with less than they have by default: the forest's first trees
# are those that stand a chance of being on the hull, and the last rounds of a rung add little.
SLIM: dict[str, dict[str, Any]] = {
    "budget-forest": {"n_estimators": 5},
    "ladder": {"n_estimators": 200},
}


@dataclass(frozen=True, eq=False)
class Task:
    """One kind of target.

    Parameters
    ----------
    learners : mapping of name to class
        The estimators that race for it, cheap ones first.
    check : function of (y, rows)
        Raises a DataError for a target that does not fit.
    """

    learners: Mapping[str, Callable[..., Any]]
    check: Callable[[Any, int], object]


def guess_task(y: NDArray[Any], qid: NDArray[Any] | None) -> str:
    """Guess the task: ranking with queries, regression for many numbers, else classification.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.frontier.tasks import guess_task
    >>> guess_task(np.linspace(0, 1, 50), None), guess_task(np.arange(50) % 3, None)
    ('regression', 'classification')
    """
    if qid is not None:
        return "ranking"
    many = y.dtype.kind in "iuf" and len(np.unique(y)) > MOST_CLASSES
    return "regression" if many else "classification"


def learners_named(names: Sequence[str], task: str) -> dict[str, Any]:
    """Learners of a task by their names; without any, all of them, slim enough to race.

    Raises
    ------
    DataError
        If the task has no learner of a name.

    Examples
    --------
    >>> from thrifty.frontier.tasks import learners_named
    >>> learners_named(["greedy-miser"], "ranking")
    {'greedy-miser': GreedyMiserRanker()}
    """
    known = TASKS[task].learners
    strange = [name for name in names if name not in known]
    if strange:
        raise DataError(f"learners: {strange} are not for {task}; there are {', '.join(known)}")
    if names:
        return {name: known[name]() for name in names}
    return {name: make(**SLIM.get(name, {})) for name, make in known.items()}


def _labels(y: Any, rows: int) -> Labels:
    try:
        return Labels.of(y, rows)
    except DataError:
        raise
    except (TypeError, ValueError) as error:  # a mixture of types, or fractions as labels
        raise DataError(f"target: these are not classes ({error}); try regression") from error


CLASSIFIERS = {
    "greedy-miser": GreedyMiserClassifier,
    "budget-forest": BudgetForestClassifier,
    "ladder": LadderClassifier,
}
REGRESSORS = {"greedy-miser": GreedyMiserRegressor, "ladder": LadderRegressor}
TASKS = {
    "classification": Task(CLASSIFIERS, _labels),
    "regression": Task(REGRESSORS, numbers),
    "ranking": Task({"greedy-miser": GreedyMiserRanker}, grades),
}
