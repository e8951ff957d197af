"""Choosing support vectors by least angle regression on the least-squares form (002 eq. 4.9).

With the bias fixed and the hinge dropped, the machine's objective is that of least squares:
labels less the bias, explained by the columns of the kernel matrix, plus the squared norm. LARS
on it takes vectors one at a time, so one run orders them for every size.
"""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.learn.least_angle import least_angle
from thrifty.learn.machine import Machine

__all__ = ["select"]

# More support vectors than these are not all compared with each other, but so many drawn.
MOST = 6000


def select(machine: Machine, count: int, random: RandomState) -> NDArray[np.intp]:
    """Positions of `count` support vectors, the first to enter first; fewer if no more tell.

    All pairs of classes choose together. A pair has labels for the vectors of its two classes;
    for the others, what the machine itself says takes their place.
    """
    among = np.arange(len(machine.vectors))
    if len(among) > MOST:
        among = np.sort(random.permutation(among)[:MOST])
    S = machine.vectors[among]
    labels = machine.labels[among]
    targets = np.where(labels != 0, labels, machine.values(S)) - machine.intercepts
    K = machine.kernel.matrix(S, S)
    order = least_angle(K.T @ K + K / machine.C, K.T @ targets, min(count, len(S)))
    return among[order]
