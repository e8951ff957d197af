"""Sending the rows whose margin is small: the rule that a learnt gate has to beat."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from numpy.random import RandomState

from thrifty.learn.gate_task import GateTask
from thrifty.learn.gated import Knob, Learnt
from thrifty.learn.q_step import KLDistance
from thrifty.learn.rivals.gate_rival import GateRival

__all__ = ["ConfidenceGateClassifier"]


class ConfidenceGateClassifier(GateRival):
    """A small boosted model that answers a row itself where its margin is large enough.

    The limit is placed on validation rows, as for the learnt gate (003 sec. 5, 7.7).

    Parameters
    ----------
    expensive, share, penalty, target, prices, class_weight, random_state
        As in `GatedClassifier`.
    family : LeavesFamily, optional
        Settings of the local model.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.rivals import ConfidenceGateClassifier
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
