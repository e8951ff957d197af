"""BudgetPrune: the best pruning of a forest for every price of cost (Nan 2018, ch. 4).

Of all prunings, the one with the least error + penalty * mean bill. The program is a maximum
closure, so one minimum cut solves it; the solutions are nested, so all of them together are one
number a split, the penalty from which on it splits no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.bundle import Predictor
from thrifty.costs import Prices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.point import Point
from thrifty.learn.pruning.base import ForestPruner, Mask, Task
from thrifty.learn.pruning.closure_problem import Pruning, node_gains, prune
from thrifty.learn.pruning.primal_dual import solve_dual
from thrifty.model import Forest

__all__ = ["PrunedForestClassifier"]

# Prunings whose bills differ by less than this share of the largest bill are one point.
MIN_STEP = 0.005

# A bill that is above the budget by no more than this share of it is above by rounding.
CRUMB = 1e-9


def _approximate(pruning: Pruning, penalty: float) -> tuple[Mask, float]:
    found = solve_dual(pruning, penalty)
    return found.keep, found.gap


# The pruning for one penalty, and what a better one could at most be better by.
SOLVERS: dict[str, Callable[[Pruning, float], tuple[Mask, float]]] = {
    "path": lambda pruning, penalty: (pruning.penalties > penalty, 0.0),
    "cut": lambda pruning, penalty: (pruning.solve(penalty), 0.0),
    "primal_dual": _approximate,
}


@dataclass(frozen=True, eq=False)
class Solved:
    """All prunings: of the splits, those with a penalty above the one asked for are kept."""

    task: Task
    penalties: NDArray[np.float64]
    breakpoints: NDArray[np.float64]
    bills: NDArray[np.float64]

    @classmethod
    def of(cls, task: Task, pruning: Pruning) -> Self:
        """Solve for every penalty."""
        return cls(task.without_rows(), pruning.penalties, *pruning.breakpoints())

    def below(self, number: int) -> float:
        """Least penalty of the pruning that a breakpoint ends: there the next one begins."""
        after = self.breakpoints[number + 1 :][:1]
        return float(after[0]) if len(after) else 0.0

    def forest(self, penalty: float) -> Forest:
        """The best pruning."""
        return prune(self.task.forest, self.penalties > penalty)

    def chosen(self, min_step: float) -> list[int]:
        """The dearest pruning in each step of the bill, as numbers of breakpoints."""
        if min_step == 0 or not len(self.bills):
            return list(range(len(self.bills)))
        step = np.floor(self.bills / (min_step * self.bills[-1] or 1.0))
        return np.flatnonzero(np.append(step[1:] != step[:-1], True)).tolist()


class PrunedForestClassifier(ForestPruner):
    """The pruning of a forest that is best for a given price of cost.

    Parameters
    ----------
    forest : Forest, fitted estimator, or None
        What to prune: a frozen forest or an estimator of this library whose trees vote or average,
        or a RandomForestClassifier or ExtraTreesClassifier of scikit-learn. None trains a random
        forest.
    prices : Prices, optional
        What features cost; one unit each when left out. The price of an evaluation is paid for
        each tree that still splits.
    penalty : float
        Error rate that one unit of the mean bill must save (lambda). 0 takes back only the splits
        that save nothing.
    solver : {"path", "cut", "primal_dual"}
        "path" solves for all penalties at once, "cut" for this one in whole numbers,
        "primal_dual" approximates this one as the paper does.
    step_price : float
        Price of each split that an example passes, charged while pruning beside the bill.
    n_estimators : int
        Trees to train where no forest is given.
    random_state : int, RandomState or None
        Draws the forest to train, and the rows that are billed where `fit` gets no others.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Forest
        The pruned forest.
    gap_ : float
        What error + penalty * mean bill could at most be lower by; 0 but for "primal_dual".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty import PrunedForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 4))
    >>> y = X[:, 0] + 0.5 * X[:, 1] > 0
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X[:400], y[:400])
    >>> model = PrunedForestClassifier(forest, penalty=0.01, random_state=0).fit(X[:400], y[:400])
    >>> bool(model.bill(X[400:]).mean() < 4.0)
    True
    >>> cheap = model.at_budget(1.5)
    >>> bool(cheap.bill(X[400:]).mean() < 2.0)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions(set(SOLVERS))],
        "step_price": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: Prices | None = None,
        penalty: float = 0.0,
        solver: str = "path",
        step_price: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.penalty = penalty
        self.solver = solver
        self.step_price = step_price

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        min_step: float = MIN_STEP,
    ) -> Iterator[Point]:
        """Best prunings over all penalties, cheapest first, from one solution.

        The first point is the constant, at bill 0. Quality is the accuracy. There may be
        thousands of prunings: of those whose bills lie in the same step, the dearest is given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows that the bills in the program, and bill and quality of a point, are of.
        min_step : float
            Step of the bill, as a share of the largest; 0 gives every pruning.
        """
        if not 0 <= min_step <= 1:
            raise DataError(f"min_step: {min_step!r} is no share; give a number from 0 to 1")
        task = self._task(X, y, sample_weight, validation)
        return self._points(task, self._forests(task, min_step))

    def at_budget(self, budget: float) -> Predictor:
        """The dearest of the best prunings whose mean bill is within `budget`.

        The bill is that of the validation rows of `fit`. Nothing is solved again.
        """
        self.predictor_  # noqa: B018 - tells that fit comes first
        if self._solved is None:
            raise DataError(f"at_budget needs solver='path', not {self.solver!r}")
        if not budget >= 0:
            raise BudgetError(f"budget: {budget!r} is negative; the constant costs 0")
        solved, task = self._solved, self._solved.task
        number = int(np.searchsorted(solved.bills, budget * (1 + CRUMB), side="right")) - 1
        if number < 0:
            return self._predictor_of(task, prune(task.forest, task.nothing), {"budget": budget})
        penalty = solved.below(number)
        knob = {"budget": budget, "penalty": penalty}
        return self._predictor_of(task, solved.forest(penalty), knob)

    def _chosen(self, task: Task) -> tuple[dict[str, Any], Forest]:
        pruning = self._pruning(task)
        self._solved = Solved.of(task, pruning) if self.solver == "path" else None
        keep, self.gap_ = SOLVERS[self.solver](pruning, self.penalty)
        return {"penalty": float(self.penalty)}, prune(task.forest, keep)

    def _pruning(self, task: Task) -> Pruning:
        gain, unit = node_gains(task.forest, task.X, task.codes, task.weight)
        return Pruning.of(task.forest, gain, unit, task.held_rows, task.prices, self.step_price)

    def _forests(
        self, task: Task, min_step: float = MIN_STEP
    ) -> Iterator[tuple[dict[str, Any], Forest]]:
        solved = Solved.of(task, self._pruning(task))
        for penalty in map(solved.below, solved.chosen(min_step)):
            yield {"penalty": penalty}, solved.forest(penalty)
