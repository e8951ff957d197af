"""Gates that need no training: by the margin of the local model, and at random.

Both are baselines of `GatedClassifier` in Nan and Saligrama 2017, sec. 5 and 7.7. `BaselineGate`
is the base of all gate baselines; learned_gates.py has those that are trained.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import groupby
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import BudgetError, DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS
from thrifty.learn.gates.assignment import KLDistance
from thrifty.learn.gates.base import TRAINED_SHARES, BaseGateClassifier, Knob, TrainedPair
from thrifty.learn.gates.evaluation import GateEvaluation, read_threshold_target
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.problem import GateProblem
from thrifty.learn.point import Point
from thrifty.model import Blend, Forest, Frozen

__all__ = ["BaselineGate", "ConfidenceGateClassifier", "UniformGateClassifier"]


class BaselineGate(BaseGateClassifier):
    """Base of the simpler gates, whose gate and local model do not depend on the share.

    Parameters
    ----------
    expensive, prices, share, penalty, target, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Hyperparameters of the local model, a small boosted one.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "prices": PRICE_LISTS,
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "family": [LeavesFamily, None],
        "target": [dict, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        expensive: Any = None,
        prices: PriceList | None = None,
        share: float = 0.3,
        penalty: float = 0.0,
        family: Any = None,
        target: dict[str, float] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.expensive = expensive
        self.prices = prices
        self.share = share
        self.penalty = penalty
        self.family = family
        self.target = target
        self.class_weight = class_weight
        self.random_state = random_state

    @abstractmethod
    def _train_models(
        self, problem: GateProblem, penalty: float, random: RandomState
    ) -> tuple[Frozen, Frozen]:
        """Train and freeze the gate and the local model."""

    def _train_pairs(
        self, problem: GateProblem, knobs: Sequence[Knob], random: RandomState
    ) -> Iterator[TrainedPair]:
        """Train one pair for each penalty."""
        for penalty, same_penalty in groupby(knobs, key=lambda knob: knob.penalty):
            models = self._train_models(problem, penalty, random)
            yield TrainedPair(next(same_penalty), *models)


class ConfidenceGateClassifier(BaselineGate):
    """A small boosted model that keeps the rows whose margin is large enough.

    The threshold is placed on validation rows, as for the trained gate (Nan and Saligrama 2017,
    sec. 5 and 7.7).

    Parameters
    ----------
    expensive, prices, share, penalty, target, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Hyperparameters of the local model.

    Examples
    --------
    The rows that are sent lie near the boundary ``x0 + x1 = 0``:

    >>> import numpy as np
    >>> from thrifty.learn.baselines import ConfidenceGateClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = ConfidenceGateClassifier(share=0.2, random_state=0).fit(X, y)
    >>> distance, sent = np.abs(X.sum(axis=1)), model.sent(X)
    >>> distance[sent].mean().round(2).item(), distance[~sent].mean().round(2).item()
    (0.1, 0.75)
    """

    def _train_models(
        self, problem: GateProblem, penalty: float, random: RandomState
    ) -> tuple[Frozen, Frozen]:
        """Train the boosted model; the gate is minus its margin."""
        family = self.family or LeavesFamily()
        (pair,) = family.initial_pairs(problem, penalty, KLDistance(), random)
        return pair.freeze()


class UniformGateClassifier(BaselineGate):
    """A small boosted model and the expensive one, between which each row chooses at random.

    The choice is a hash of the features that the local model reads, so a row is always sent or
    never.

    Parameters
    ----------
    expensive, prices, share, penalty, target, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Hyperparameters of the local model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import UniformGateClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(1000, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = UniformGateClassifier(share=0.2, random_state=0).fit(X, y)
    >>> round(model.sent(X).mean().item(), 1)
    0.2
    """

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        expensive_proba: Any = None,
    ) -> Self:
        """Train the local model, and choose the share; see `GatedClassifier.fit`.

        A bill or a quality is met in expectation, by interpolating between the two models.
        """
        kind, number, confidence = read_threshold_target(
            self.target, self.share, validation is not None
        )
        if confidence is not None:
            raise DataError("target: a quality in expectation has no confidence; leave it out")
        problem, columns = self._prepare(X, y, sample_weight, expensive_proba)
        rows = self._threshold_rows(validation, problem, columns, run_calls=kind == "quality")
        knob = Knob(float(self.share), float(self.penalty))
        pair = next(self._train_pairs(problem, [knob], check_random_state(self.random_state)))
        evaluation = self._evaluate(pair, columns, rows)
        share = number
        if kind != "share":
            means = evaluation.mean_bills if kind == "bill" else evaluation.quality.values
            local, expensive = float(means[0]), float(means[-1])
            share = (number - local) / (expensive - local) if expensive != local else 0.0
            if (kind == "bill" and share < 0) or (kind == "quality" and share > 1):
                raise BudgetError(
                    f"target: a {kind} of {number:g} lies outside {local:g} to {expensive:g}"
                )
            share = min(max(share, 0.0), 1.0)
        self._columns = columns
        train = columns.widen_training(problem.train)
        knob = knob._replace(share=share)
        self._predictor = self._predictor_of(self._blend(evaluation, share), train, knob._asdict())
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        expensive_proba: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Return points over shares and penalties, cheapest first, from the constant model on."""
        problem, columns = self._prepare(X, y, sample_weight, expensive_proba)
        rows = self._threshold_rows(validation, problem, columns, run_calls=True)
        train = columns.widen_training(problem.train)
        points = [self._constant_point(problem, train, rows)]
        for penalty in self._path_penalties(problem, penalties):
            random = check_random_state(self.random_state)
            pair = next(self._train_pairs(problem, [Knob(0.0, penalty)], random))
            evaluation = self._evaluate(pair, columns, rows)
            for share in (*(TRAINED_SHARES if shares is None else shares), 1.0):
                knob, blend = Knob(float(share), penalty), self._blend(evaluation, share)
                model = self._predictor_of(blend, train, knob._asdict())
                points.append(Point.measure(model, rows))
        return iter(sorted(points, key=lambda point: point.bill))

    def _train_models(
        self, problem: GateProblem, penalty: float, random: RandomState
    ) -> tuple[Frozen, Frozen]:
        """Train the boosted model; the gate is 0 for every row."""
        family = self.family or LeavesFamily()
        (pair,) = family.initial_pairs(problem, penalty, KLDistance(), random)
        gate, local = pair.freeze()
        return Forest.constant([0.0], "sum", gate.n_features), local

    def _blend(self, evaluation: GateEvaluation, share: float) -> Blend:
        """Draw the seed of the hash, and blend the local and the expensive model."""
        keys = np.flatnonzero(evaluation.local.support)
        if not len(keys):  # without keys all rows would have the same hash
            keys = np.flatnonzero(evaluation.expensive.support)[:1]
        seed = int(check_random_state(self.random_state).randint(2**31))
        return Blend.of(evaluation.local, evaluation.expensive, keys, share, seed)

    def _sends(self, rows: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which encoded rows the hash sends, (n,)."""
        assert isinstance(self.model_, Blend)
        return self.model_.goes_second(rows)
