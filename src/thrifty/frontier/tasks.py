"""The three tasks, each with its learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

__all__ = ["LEARNERS", "guess_task", "learners_named"]

# A numeric target with more distinct values than this is taken for a quantity.
MOST_CLASSES = 30
# In a race, some learners use less than their defaults: only the first trees of the forest have a
# chance to be on the hull, and the last rounds of a rung add little.
RACE_SETTINGS: dict[str, dict[str, Any]] = {
    "budget-forest": {"n_estimators": 5},
    "ladder": {"n_estimators": 200},
}


def guess_task(y: NDArray[Any], qid: NDArray[Any] | None) -> str:
    """Guess the task: ranking if there are queries, regression for many distinct numbers.

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
    """Return learners of a task by name; without names all of them, set up to race.

    Raises
    ------
    DataError
        If the task has no learner of that name.

    Examples
    --------
    >>> from thrifty.frontier.tasks import learners_named
    >>> learners_named(["greedy-miser"], "ranking")
    {'greedy-miser': GreedyMiserRanker()}
    """
    known = LEARNERS[task]
    strange = [name for name in names if name not in known]
    if strange:
        raise DataError(f"learners: {strange} are not for {task}; there are {', '.join(known)}")
    if names:
        return {name: known[name]() for name in names}
    return {name: make(**RACE_SETTINGS.get(name, {})) for name, make in known.items()}


# The estimators that race for each task, fast ones first.
LEARNERS: dict[str, dict[str, Callable[..., Any]]] = {
    "classification": {
        "greedy-miser": GreedyMiserClassifier,
        "budget-forest": BudgetForestClassifier,
        "ladder": LadderClassifier,
    },
    "regression": {"greedy-miser": GreedyMiserRegressor, "ladder": LadderRegressor},
    "ranking": {"greedy-miser": GreedyMiserRanker},
}
