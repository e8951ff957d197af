"""Teacher and student: a local model that learns the answers of the expensive one, without it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.binned import Binned
from thrifty.learn.boosting import Boosting
from thrifty.learn.bought import Bought
from thrifty.learn.gate_boosted import constant_value
from thrifty.learn.gate_task import GateTask
from thrifty.learn.gated import Job, Knob, Learnt
from thrifty.learn.grower import Grower
from thrifty.learn.losses import LogLoss
from thrifty.learn.rivals.gate_rival import GateRival
from thrifty.model import Forest, Frozen, Gate

__all__ = ["DistilledClassifier"]


class _SoftLogLoss(LogLoss):
    """Log-loss of memberships that are shared among classes."""

    def __init__(self, task: GateTask) -> None:
        super().__init__(task.codes, task.weight, task.n_classes)
        truth = np.eye(task.n_classes)[task.codes]
        soft = (0.5 * task.answers + 0.5 * truth).T
        self.member = soft[-self.outputs :]
        self.share = np.array([self._mean(row) for row in self.member])


class DistilledClassifier(GateRival):
    """Boosted trees that learn, half and half, the labels and the answers of an expensive model.

    No row is sent: the expensive model is not part of the frozen one (teacher and student; 000
    sec. 5.1).

    Parameters
    ----------
    expensive, penalty, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the boosted model.
    share, target
        Of no effect: nothing is sent.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.rivals import DistilledClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> model = DistilledClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> model.sent(X).any(), bool(model.score(X, X[:, 0] > 0) > 0.95)
    (np.False_, True)
    """

    def sent(self, X: Any) -> NDArray[np.bool_]:
        """No row is sent."""
        return np.zeros(len(self._rows(X)), dtype=bool)

    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        found = []
        for penalty, some in groupby(knobs, key=lambda knob: knob.penalty):
            local = self._student(task, penalty, random)
            gate = constant_value(0.0, len(task.schema))
            found += [Learnt(knob, gate, local) for knob in some][:1]
        return found

    def _student(self, task: GateTask, penalty: float, random: RandomState) -> Forest:
        trees = self._trees
        grower = Grower(
            Binned.of(task.X, task.categorical, random),
            Bought(task.prices, len(task.X), "model"),
            penalty=penalty,
            max_depth=trees.max_depth,
            min_samples_leaf=trees.min_samples_leaf,
            weight=task.weight,
        )
        boosting = Boosting(_SoftLogLoss(task), grower, trees.learning_rate)
        boosting.boost(trees.n_estimators)
        return boosting.freeze()

    def _install(self, job: Job, model: Frozen, knob: dict[str, Any]) -> None:
        assert isinstance(model, Gate)
        super()._install(job, model.local, knob)
