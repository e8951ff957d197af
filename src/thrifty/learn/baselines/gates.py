"""What the rivals of the learnt gate share: its settings, without those of the search.

Sending the rows whose margin is small: the rule that a learnt gate has to beat.

Sending rows by lot: what a gate has to beat in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from thrifty.costs import Prices
from thrifty.errors import BudgetError, DataError
from thrifty.learn.gates.assignment import KLDistance
from thrifty.learn.gates.base import SHARES, Gated, Job, Knob, Learnt
from thrifty.learn.gates.boosted import constant_value
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.problem import GateTask
from thrifty.learn.gates.threshold import Trial, read_target
from thrifty.learn.point import Point
from thrifty.model import Blend

__all__ = ["ConfidenceGateClassifier", "GateRival", "UniformGateClassifier"]


class GateRival(Gated):
    """Base of simpler gates before an expensive model.

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the local model, a small boosted one.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "expensive": "no_validation",
        "share": [Interval(Real, 0, 1, closed="both")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "family": [LeavesFamily, None],
        "target": [dict, None],
        "prices": [Prices, None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        expensive: Any = None,
        share: float = 0.3,
        penalty: float = 0.0,
        family: Any = None,
        target: dict[str, float] | None = None,
        prices: Prices | None = None,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.expensive = expensive
        self.share = share
        self.penalty = penalty
        self.family = family
        self.target = target
        self.prices = prices
        self.class_weight = class_weight
        self.random_state = random_state

    @property
    def _trees(self) -> LeavesFamily:
        return LeavesFamily() if self.family is None else self.family


class ConfidenceGateClassifier(GateRival):
    """A small boosted model that answers a row itself where its margin is large enough.

    The limit is placed on validation rows, as for the learnt gate (Nan and Saligrama 2017, sec. 5, 7.7).

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the local model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import ConfidenceGateClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = ConfidenceGateClassifier(share=0.2, random_state=0).fit(X, y)
    >>> bool(abs(X[model.sent(X)].sum(axis=1)).mean() < abs(X.sum(axis=1)).mean())
    True
    """

    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        found = []
        for penalty, some in groupby(knobs, key=lambda knob: knob.penalty):
            (pair,) = self._trees.start(task, penalty, KLDistance(), random)
            models = pair.freeze()
            found += [Learnt(knob, *models) for knob in some]
        return found


class UniformGateClassifier(GateRival):
    """A small boosted model and the expensive one, of which each row draws one.

    The lot is a hash of what the local model reads, so the same row is always sent or never.

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the local model.

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
        answers: Any = None,
    ) -> Self:
        """As `GatedClassifier.fit`; a bill or a quality is met on average."""
        aim, number = read_target(self.target, self.share)
        if aim == "quality" and validation is None:
            raise DataError("target: a quality is measured on rows of its own; give validation")
        job = self._job(X, y, sample_weight, answers)
        (learnt,) = self._learn(job.task, [Knob(self.share, self.penalty)], self._random())
        trial = self._trial(job, learnt, validation, answers=aim == "quality")
        share = number if aim == "share" else _between(trial, aim, number)
        self._install(job, self._blend(job, trial, share), learnt.knob.plain | {"share": share})
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        answers: Any = None,
        shares: Sequence[float] | None = None,
        penalties: Sequence[float] | None = None,
    ) -> Iterator[Point]:
        """Operating points over shares and penalties, cheapest first, from the constant on."""
        job = self._job(X, y, sample_weight, answers)
        rows, codes = held = self._held(job, validation, answers=True)
        points = [self._constant(job, held)]
        for penalty in self._penalties(job.task, penalties):
            (learnt,) = self._learn(job.task, [Knob(0.0, penalty)], self._random())
            trial = self._tried(job, learnt, *held)
            for share in (*(SHARES if shares is None else shares), 1.0):
                knob = Knob(share, penalty).plain
                model = self._predictor_of(job, self._blend(job, trial, share), knob)
                bills = model.prices.bill(model.model.used(rows), model.model.evaluations(rows))
                right = model.model.score(rows).argmax(axis=1) == codes
                points.append(Point(knob, model, float(bills.mean()), float(right.mean())))
        return iter(sorted(points, key=lambda point: point.bill))

    def sent(self, X: Any) -> NDArray[np.bool_]:
        """Which rows the lot sends to the expensive model, (n,); no call is made."""
        rows, model = self._rows(X), self.model_
        assert isinstance(model, Blend)
        return model.goes_second(rows)

    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        gate = constant_value(0.0, len(task.schema))
        (pair,) = self._trees.start(task, knobs[0].penalty, KLDistance(), random)
        return [Learnt(knob, gate, pair.freeze()[1]) for knob in knobs]

    def _blend(self, job: Job, trial: Trial, share: float) -> Blend:
        keys = np.flatnonzero(trial.local.support)
        if not len(keys):  # without keys all rows have one lot
            keys = np.flatnonzero(trial.expensive.support)[:1]
        seed = int(self._random().randint(2**31))
        return Blend.of(trial.local, trial.expensive, keys, share, seed)


def _between(trial: Trial, aim: str, number: float) -> float:
    """The share at which the mean of the two ends is the number."""
    ends = trial.mean_bills if aim == "bill" else trial.accuracies
    first, last = float(ends[0]), float(ends[-1])
    share = (number - first) / (last - first) if last != first else 0.0
    if (aim == "bill" and share < 0) or (aim == "quality" and share > 1):
        raise BudgetError(f"target: a {aim} of {number:g} lies outside {first:g} to {last:g}")
    return min(max(share, 0.0), 1.0)
