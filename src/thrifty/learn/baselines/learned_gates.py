"""The greedy gate: a local model first, then a gate that tells where it errs (Nan 2018, sec. 5.4).

Linear: regression with an L1 norm chooses columns, the local model is refitted on them, and the
gate is a logistic regression of its errors on the same columns. On leaves: the gate has a weight
for each leaf of a boosted model and one for its margin, fitted to its errors.

Teacher and student: a local model that learns the answers of the expensive one, without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from thrifty.learn.baselines.gates import GateRival
from thrifty.learn.boosting.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.boosting.purchases import Bought
from thrifty.learn.gates.assignment import KLDistance
from thrifty.learn.gates.base import Job, Knob, Learnt
from thrifty.learn.gates.boosted import constant_value
from thrifty.learn.gates.leaves import LeavesFamily, LeavesPair
from thrifty.learn.gates.linear import Bench, LinearFamily, linear_model
from thrifty.learn.gates.problem import GateTask
from thrifty.learn.losses import LogLoss
from thrifty.model import Forest, Frozen, Gate

__all__ = ["DistilledClassifier", "GreedyGateClassifier"]

Floats = NDArray[np.float64]


class GreedyGateClassifier(GateRival):
    """A gate on the correctness of a model that was learnt without it.

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LinearFamily or LeavesFamily, optional
        A linear model of the columns that an L1 norm chooses, or a small boosted model.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from thrifty.data import four_clusters
    >>> from thrifty.learn.baselines import GreedyGateClassifier
    >>> table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    >>> model = GreedyGateClassifier(SVC(gamma=1.0, C=10.0), share=0.75, penalty=0.05)
    >>> model.fit(table.X, table.y).score(table.X, table.y), model.bill(table.X).mean().item()
    (1.0, 1.75)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GateRival._parameter_constraints,
        "family": [LeavesFamily, LinearFamily, None],
    }

    def _learn(self, task: GateTask, knobs: Sequence[Knob], random: RandomState) -> list[Learnt]:
        found = []
        for penalty, some in groupby(knobs, key=lambda knob: knob.penalty):
            models = self._models(task, penalty, random)
            found += [Learnt(knob, *models) for knob in some]
        return found

    def _models(self, task: GateTask, penalty: float, random: RandomState) -> tuple[Frozen, Frozen]:
        if isinstance(self.family, LeavesFamily):
            return _on_leaves(self.family, task, penalty, random)
        return _linear(self.family or LinearFamily(), task, penalty)


def _linear(family: LinearFamily, task: GateTask, penalty: float) -> tuple[Frozen, Frozen]:
    bench = Bench.of(family, task, penalty, KLDistance())
    sparse = bench.solved(bench.blank(), np.zeros(len(task.X)), gated=False)
    chosen = np.asarray(sparse.C.any(axis=1))
    encoding, Z = bench.encoding.keep(chosen), bench.Z[:, chosen]
    link = "sigmoid" if bench.outputs == 1 else "softmax"
    weights, bias = _regression(Z, task.codes, task, bench.outputs)
    raw = Z @ weights + bias
    said = (raw[:, 0] > 0).astype(int) if bench.outputs == 1 else raw.argmax(axis=1)
    gate = _regression(Z, (said != task.codes).astype(np.int64), task, 1)
    d = len(task.schema)
    return linear_model(encoding, *gate, "sum", d), linear_model(encoding, weights, bias, link, d)


def _regression(
    Z: Floats, codes: NDArray[np.int64], task: GateTask, outputs: int
) -> tuple[Floats, Floats]:
    """Coefficients (q, outputs) and constants; constants alone where there is nothing to tell."""
    kinds, counts = np.unique(codes, return_counts=True)
    if len(kinds) < 2 or not Z.shape[1]:
        share = np.clip(np.bincount(codes, minlength=max(outputs, 2)) / counts.sum(), 1e-6, 1.0)
        bias = np.log(share) if outputs > 1 else np.log(share[1:2] / share[0])
        return np.zeros((Z.shape[1], outputs)), bias
    found = LogisticRegression(max_iter=1000).fit(Z, codes, sample_weight=task.weight)
    if outputs == 1 or len(kinds) == outputs:
        return found.coef_.T.copy(), found.intercept_.copy()
    weights, bias = np.zeros((Z.shape[1], outputs)), np.full(outputs, -30.0)
    both = len(kinds) == 2
    weights[:, kinds[1:] if both else kinds] = found.coef_.T
    bias[kinds] = [0.0, found.intercept_[0]] if both else found.intercept_
    return weights, bias


def _on_leaves(
    family: LeavesFamily, task: GateTask, penalty: float, random: RandomState
) -> tuple[Frozen, Frozen]:
    bench = family.bench(task, penalty, KLDistance(), random)
    raw = bench.raw(bench.worth)
    said = (raw[0] > 0).astype(int) if len(raw) == 1 else raw.argmax(axis=0)
    # Errors as chances: the distance is then the logistic loss of telling them.
    weights = bench.gate_for((said != task.codes).astype(np.float64), bench.confidence)
    return LeavesPair(bench, bench.worth, weights).freeze()


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

    No row is sent: the expensive model is not part of the frozen one (teacher and student; Nan 2018,
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
    >>> from thrifty.learn.baselines import DistilledClassifier
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
