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
    LadderRanker,
    LadderRegressor,
)

__all__ = ["LEARNERS", "guess_task", "learners_named"]

# A numeric target with more distinct values than this is taken for a quantity.
MOST_CLASSES = 30
# The learner that races where none is named: no other has been better anywhere on the curve.
AUTO = "ladder"


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
    """Return learners of a task by name; without names, the ladder alone.

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
    return {name: known[name]() for name in names or (AUTO,)}


# The estimators of each task.
LEARNERS: dict[str, dict[str, Callable[..., Any]]] = {
    "classification": {
        "ladder": LadderClassifier,
        "greedy-miser": GreedyMiserClassifier,
        "budget-forest": BudgetForestClassifier,
    },
    "regression": {"ladder": LadderRegressor, "greedy-miser": GreedyMiserRegressor},
    "ranking": {"ladder": LadderRanker, "greedy-miser": GreedyMiserRanker},
}
