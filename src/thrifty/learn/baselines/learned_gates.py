"""Gate baselines that are trained in sequence, or without a gate.

- `GreedyGateClassifier` trains the local model first, then a gate that predicts its errors
  (Nan 2018, sec. 5.4).
- `DistilledClassifier` trains a local model on the outputs of the expensive one, and has no gate
  (teacher and student; Nan 2018, sec. 5.1).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from thrifty.learn.baselines.gates import BaselineGate
from thrifty.learn.binned import Binned
from thrifty.learn.boosting.ensemble import Boosting
from thrifty.learn.boosting.grower import Grower
from thrifty.learn.gates.assignment import KLDistance
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily, LinearTrainer, freeze_linear
from thrifty.learn.gates.problem import GateProblem
from thrifty.learn.losses import LogLoss
from thrifty.learn.purchases import Purchases
from thrifty.model import Forest, Frozen, Gate

__all__ = ["DistilledClassifier", "GreedyGateClassifier", "SoftLabelLoss", "fit_logistic"]

Floats = NDArray[np.float64]
# Intercept of a class that has no row in the fit: its probability is nearly 0.
ABSENT_INTERCEPT = -30.0


class GreedyGateClassifier(BaselineGate):
    """A gate that predicts the errors of a local model that was trained without it.

    With linear models, a logistic regression under priced norms selects columns, the local model is
    refitted on them, and the gate is a logistic regression of its errors on the same columns. With
    leaves, the gate has a weight for each leaf of a boosted model and one for its margin.

    Parameters
    ----------
    expensive, prices, share, penalty, target, class_weight, random_state
        As in `GatedClassifier`.
    family : LinearFamily or LeavesFamily, optional
        Linear models by default, or a small boosted model.

    Examples
    --------
    Four clusters and two features. This gate reads the first feature and costs 1.75 on average at
    full accuracy; a gate that is trained together with its local model costs 1.5:

    >>> from sklearn.svm import SVC
    >>> from thrifty.data import four_clusters
    >>> from thrifty.learn.baselines import GreedyGateClassifier
    >>> table = four_clusters(80, random_state=0, shares=(1, 1, 1, 1))
    >>> model = GreedyGateClassifier(SVC(gamma=1.0, C=10.0), share=0.75, penalty=0.05)
    >>> model.fit(table.X, table.y).score(table.X, table.y), model.bill(table.X).mean().item()
    (1.0, 1.75)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaselineGate._parameter_constraints,
        "family": [LeavesFamily, LinearFamily, None],
    }

    def _train_models(
        self, problem: GateProblem, penalty: float, random: RandomState
    ) -> tuple[Frozen, Frozen]:
        """Train the local model, then the gate on its errors."""
        train, distance = problem.train, KLDistance()
        if isinstance(self.family, LeavesFamily):
            leaves = self.family.trainer(problem, penalty, distance, random)
            return leaves.initial_pair("greedy").freeze()
        linear = LinearTrainer.of(self.family or LinearFamily(), problem, penalty, distance)
        sparse = linear.solve(linear.constant_pair(), np.zeros(len(train)), gated=False)
        selected = np.asarray(sparse.coef.any(axis=1))
        encoding, Z = linear.encoding.keep(selected), linear.Z[:, selected]
        coef, intercept = fit_logistic(Z, train.y, train.weight, linear.n_outputs)
        raw = Z @ coef + intercept
        binary = linear.n_outputs == 1
        predicted = (raw[:, 0] > 0).astype(int) if binary else raw.argmax(axis=1)
        gate = fit_logistic(Z, (predicted != train.y).astype(np.int64), train.weight, 1)
        d, link = train.n_features, "sigmoid" if binary else "softmax"
        local = freeze_linear(encoding, coef, intercept, link, d)
        return freeze_linear(encoding, *gate, "sum", d), local


def fit_logistic(
    Z: Floats, codes: NDArray[np.int64], weight: Floats | None, n_outputs: int
) -> tuple[Floats, Floats]:
    """Fit a logistic regression; return coefficients (q, n_outputs) and intercepts.

    Without columns, or if all rows are of one class, the coefficients are 0.
    """
    present, counts = np.unique(codes, return_counts=True)
    if len(present) < 2 or not Z.shape[1]:
        share = np.clip(np.bincount(codes, minlength=max(n_outputs, 2)) / counts.sum(), 1e-6, 1.0)
        intercept = np.log(share) if n_outputs > 1 else np.log(share[1:2] / share[0])
        return np.zeros((Z.shape[1], n_outputs)), intercept
    model = LogisticRegression(max_iter=1000).fit(Z, codes, sample_weight=weight)
    if n_outputs == 1 or len(present) == n_outputs:
        return model.coef_.T.copy(), model.intercept_.copy()
    coef, intercept = np.zeros((Z.shape[1], n_outputs)), np.full(n_outputs, ABSENT_INTERCEPT)
    binary = len(present) == 2
    coef[:, present[1:] if binary else present] = model.coef_.T
    intercept[present] = [0.0, model.intercept_[0]] if binary else model.intercept_
    return coef, intercept


class SoftLabelLoss(LogLoss):
    """Log-loss against the mean of the labels and the expensive model's probabilities."""

    def __init__(self, problem: GateProblem) -> None:
        train = problem.train
        super().__init__(train.y, train.weight, train.n_classes)
        labels = np.eye(train.n_classes)[train.y]
        soft = (0.5 * problem.expensive_scores + 0.5 * labels).T
        self.member = soft[-self.outputs :]
        self.share = np.array([self._mean(row) for row in self.member])


class DistilledClassifier(BaselineGate):
    """Boosted trees that learn the labels and the outputs of an expensive model, half and half.

    No row is sent: the expensive model is not part of the frozen one (teacher and student;
    Nan 2018, sec. 5.1).

    Parameters
    ----------
    expensive, prices, penalty, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Hyperparameters of the boosted model.
    share, target
        Without effect, as nothing is sent.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.baselines import DistilledClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> y = X[:, 0] > 0
    >>> model = DistilledClassifier(random_state=0).fit(X, y)
    >>> model.sent(X).sum().item(), model.score(X, y)
    (0, 0.998)
    """

    def _train_models(
        self, problem: GateProblem, penalty: float, random: RandomState
    ) -> tuple[Frozen, Frozen]:
        """Boost trees on soft labels; the gate is 0 for every row."""
        train, family = problem.train, self.family or LeavesFamily()
        grower = Grower(
            Binned.of(train.X, train.categorical, random),
            Purchases(train.prices, len(train), "model"),
            penalty=penalty,
            max_depth=family.max_depth,
            min_samples_leaf=family.min_samples_leaf,
            weight=train.weight,
        )
        boosting = Boosting(SoftLabelLoss(problem), grower, family.learning_rate)
        boosting.boost(family.n_estimators)
        return Forest.constant([0.0], "sum", train.n_features), boosting.freeze()

    def _select_model(self, model: Gate) -> Frozen:
        """Return the local model alone."""
        return model.local

    def _sends(self, rows: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return zeros (n,): no row is sent."""
        return np.zeros(len(rows), dtype=bool)
