"""BudgetPrune: the best pruning of a forest for every penalty (Nan 2018, ch. 4).

Of all prunings, find the one with the least error + penalty * mean bill. The program is a maximum
closure, so one minimum cut solves it; the solutions are nested, so all of them together are one
number for each split: the penalty from which on it is pruned.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.errors import BudgetError, DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.point import Point
from thrifty.learn.pruning.base import ForestPruner, Knob, PruningData
from thrifty.learn.pruning.closure_problem import ClosureProblem, node_gains, prune
from thrifty.learn.pruning.feature_drops import drop_features, keep_features
from thrifty.learn.pruning.primal_dual import solve_dual
from thrifty.model import Forest

__all__ = ["MIN_STEP", "PrunedForestClassifier", "PruningPath"]

# Prunings whose bills differ by less than this share of the largest bill are one point.
MIN_STEP = 0.005
# Largest jumps are filled up to this many features: what is needed grows with their square.
MAX_FEATURES = 2000
# A bill above the budget by no more than this share of it is above by rounding.
BUDGET_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class PruningPath:
    """Nested prunings for all penalties: the best ones, or those of another method.

    Parameters
    ----------
    forest : Forest
        The forest without pruning.
    penalties : array (nodes,)
        Penalty from which on each node of the forest is pruned.
    breakpoints : array (k,)
        Penalties at which the best pruning changes, decreasing.
    bills : array (k,)
        Mean bill just below each breakpoint.
    """

    forest: Forest
    penalties: NDArray[np.float64]
    breakpoints: NDArray[np.float64]
    bills: NDArray[np.float64]

    @classmethod
    def solve(cls, forest: Forest, problem: ClosureProblem) -> Self:
        """Solve for every penalty at once."""
        return cls(forest, *problem.solve_path())

    def penalty_below(self, number: int) -> float:
        """Return the smallest penalty of the pruning that a breakpoint ends."""
        after = self.breakpoints[number + 1 :][:1]
        return float(after[0]) if len(after) else 0.0

    def pruned(self, penalty: float) -> Forest:
        """Return the best pruning for a penalty."""
        return prune(self.forest, self.penalties > penalty)

    def spaced(self, min_step: float) -> list[int]:
        """Return the most expensive pruning in each step of the bill, as numbers of breakpoints."""
        if min_step == 0 or not len(self.bills):
            return list(range(len(self.bills)))
        step = np.floor(self.bills / (min_step * self.bills[-1] or 1.0))
        return np.flatnonzero(np.append(step[1:] != step[:-1], True)).tolist()


class PrunedForestClassifier(ForestPruner):
    """The best pruning of a forest for a given penalty on cost.

    Parameters
    ----------
    forest : Forest, fitted estimator, or None
        What to prune: a frozen forest or an estimator of Thrifty whose trees vote or average, or
        a RandomForestClassifier or ExtraTreesClassifier of scikit-learn. By default a random
        forest is trained.
    prices : Prices, mapping or sequence, optional
        What features cost; one unit each by default. The price of an evaluation is paid for each
        tree that still splits.
    penalty : float
        Error rate that one unit of the mean bill must save (lambda). 0 removes only the splits
        that save nothing.
    solver : {"path", "cut", "primal_dual"}
        "path" solves for all penalties at once, "cut" for this one exactly, "primal_dual"
        approximates this one as in the thesis.
    step_price : float
        Price of each split that an example passes, charged while pruning on top of the bill.
    errors : {"training", "out_of_bag"}
        Rows on which the errors of a node are counted: all training rows, or for each tree those
        that it was not grown on. The latter are known of forests that are trained here, and of a
        bootstrapped forest of scikit-learn that was trained on the table that is passed.
    n_estimators : int
        Trees to train if no forest is given.
    random_state : int, RandomState or None
        Draws the forest to train, and the rows to bill if `fit` gets no validation set.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.Forest
        The pruned forest.
    gap_ : float
        Upper bound on how far error + penalty * mean bill is from its minimum; 0 except for
        "primal_dual".

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
    >>> round(float(model.bill(X[400:]).mean()), 2), round(model.score(X[400:], y[400:]), 2)
    (3.63, 0.95)
    >>> cheap = model.at_budget(2.0)  # nothing is solved again
    >>> round(float(cheap.bill(X[400:]).mean()), 2), round(cheap.score(X[400:], y[400:]), 2)
    (2.0, 0.94)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ForestPruner._parameter_constraints,
        "penalty": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"path", "cut", "primal_dual"})],
        "step_price": [Interval(Real, 0, None, closed="left")],
        "errors": [StrOptions({"training", "out_of_bag"})],
    }

    def __init__(
        self,
        forest: Any = None,
        prices: PriceList | None = None,
        penalty: float = 0.0,
        solver: str = "path",
        step_price: float = 0.0,
        n_estimators: int = 40,
        random_state: Any = None,
        errors: str = "training",
    ) -> None:
        super().__init__(forest, prices, n_estimators, random_state)
        self.penalty = penalty
        self.solver = solver
        self.step_price = step_price
        self.errors = errors

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        min_step: float = MIN_STEP,
    ) -> Iterator[Point]:
        """Yield the best prunings over all penalties, cheapest first, from one solution.

        The first point is the constant, at bill 0. Quality is the accuracy. There may be
        thousands of prunings: of those whose bills lie in the same step, the most expensive is
        taken. Where out-of-bag rows are known, the best prunings by their errors are yielded, too:
        the two sets fill each other's gaps. In the largest jump of the bill of each set, the
        pruning above it gives up its features one after another (``features`` in the knob).

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            The validation set: its bills enter the program, and bill and quality of a point are
            measured on it.
        min_step : float
            Step of the bill, as a share of the largest; 0 yields every pruning.
        """
        if not 0 <= min_step <= 1:
            raise DataError(f"min_step: {min_step!r} is not a share; give a number from 0 to 1")
        data = self._read_pruning(X, y, sample_weight, validation)
        return self._measure(data, self._prunings(data, min_step))

    def at_budget(self, budget: float) -> Self:
        """Return a copy with the most expensive of the best prunings within a budget.

        The mean bill is that of the validation set of `fit`. Nothing is solved again.
        """
        predictor = self.predictor_
        path = self._pruning_path
        if path is None:
            raise DataError(f"at_budget needs solver='path', not {self.solver!r}")
        if not budget >= 0:
            raise BudgetError(f"budget: {budget!r} is negative; the constant costs 0")
        number = int(np.searchsorted(path.bills, budget * (1 + BUDGET_TOL), side="right")) - 1
        penalty = path.penalty_below(number) if number >= 0 else np.inf
        knob: Knob = {"budget": budget}
        other = copy.copy(self)
        if number >= 0:
            knob["penalty"] = other.penalty = penalty
        other._predictor = self._freeze(
            path.pruned(penalty), predictor.schema, predictor.prices, predictor.classes, knob
        )
        return other

    def _prune(self, data: PruningData) -> tuple[Knob, Forest]:
        problem = self._problem(data, self.errors)
        self._pruning_path, self.gap_ = None, 0.0
        if self.solver == "path":
            self._pruning_path = PruningPath.solve(data.forest, problem)
            keep = self._pruning_path.penalties > self.penalty
        elif self.solver == "cut":
            keep = problem.solve(self.penalty)
        else:
            found = solve_dual(problem, self.penalty)
            keep, self.gap_ = found.keep, found.gap
        knob = {"penalty": float(self.penalty), "errors": self.errors}
        return knob, prune(data.forest, keep)

    def _problem(self, data: PruningData, errors: str) -> ClosureProblem:
        """Set up the program: errors that splits save, and what they make rows pay."""
        train, billed = data.train, data.billed
        counted = data.out_of_bag if errors == "out_of_bag" else None
        if errors == "out_of_bag" and counted is None:
            raise DataError(
                "errors: out-of-bag rows are known of a forest that is trained here, or of a "
                "bootstrapped one of scikit-learn and the table that it was trained on; give "
                'errors="training"'
            )
        gain, unit = node_gains(data.forest, train.X, train.y, train.weight, counted)
        return ClosureProblem.of(data.forest, gain, unit, billed.X, train.prices, self.step_price)

    def _prunings(
        self, data: PruningData, min_step: float = MIN_STEP
    ) -> Iterator[tuple[Knob, Forest]]:
        paths: dict[str, PruningPath] = {}
        found: list[tuple[float, str, float, NDArray[np.int64] | None]] = []
        for errors in ["training"] if data.out_of_bag is None else ["training", "out_of_bag"]:
            path = paths[errors] = PruningPath.solve(data.forest, self._problem(data, errors))
            for number in path.spaced(min_step):
                found.append((path.bills[number], errors, path.penalty_below(number), None))
            for bill, penalty, features in _within_jump(path, data, min_step):
                found.append((bill, errors, penalty, features))
        for _, errors, penalty, kept in sorted(found, key=lambda each: each[0]):
            forest = paths[errors].pruned(penalty)
            knob: Knob = {"penalty": penalty, "errors": errors}
            if kept is not None:
                knob["features"], forest = len(kept), keep_features(forest, kept)
            yield knob, forest


def _within_jump(
    path: PruningPath, data: PruningData, min_step: float
) -> Iterator[tuple[float, float, NDArray[np.int64]]]:
    """Yield prunings whose bills lie in the largest jump: bill, penalty and features that are left.

    The pruning above the jump gives up features one after another.
    """
    jump = int(np.diff(path.bills).argmax()) + 1 if len(path.bills) > 1 else 0
    if not jump or data.forest.n_features > MAX_FEATURES:
        return
    penalty = path.penalty_below(jump)
    above, prices = path.pruned(penalty), data.train.prices
    steps = drop_features(replace(data, forest=above), min_step * float(path.bills[-1]))
    for features in islice(steps, 1, None):  # the first gives up nothing
        forest = keep_features(above, features)
        bill = float(prices.bill(forest.used(data.billed.X), len(forest.roots)).mean())
        if bill <= path.bills[jump - 1]:
            return
        yield bill, penalty, features
