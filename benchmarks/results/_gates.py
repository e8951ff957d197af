"""Data sets of the experiments with gates, two classes each, and curves over the rows sent."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from thrifty.data import load
from thrifty.learn.gates.thresholds import Thresholds

# Training, validation and test rows: as many as in Nan 2018, table 5.1.
SIZES = {
    "Letters": (12000, 4000, 4000),
    "Covertype": (36603, 15688, 58101),
    "CIFAR-10": (19761, 8468, 10000),
}
# Shares of rows sent at which a curve is shown.
GRID = tuple(np.linspace(0.0, 1.0, 21).round(2).tolist())


def split(
    name: str, seed: int, sizes: tuple[int, ...] | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training, validation and test rows, drawn anew for each seed.

    Letters A to M are one class, N to Z the other; the largest class of Covertype is set against
    the rest, and the first five classes of images against the others.
    """
    file = {"Letters": "letter", "Covertype": "covertype", "CIFAR-10": "cifar10_coates400"}[name]
    table = load(file)
    codes = np.unique(np.asarray(table.y), return_inverse=True)[1]
    positive = {
        "Letters": codes > 12,
        "Covertype": codes == np.bincount(codes).argmax(),
        "CIFAR-10": codes > 4,
    }[name]
    X, y = table.X.to_numpy(np.float32), positive.astype(int)
    order = np.random.default_rng(seed).permutation(len(y))
    ends = np.cumsum([0, *(SIZES[name] if sizes is None else sizes)])
    return [(X[order[a:b]], y[order[a:b]]) for a, b in pairwise(ends)]


def share_curve(
    values: np.ndarray, local: np.ndarray, remote: np.ndarray, below: tuple[float, ...]
) -> dict[str, object]:
    """Return accuracy by share of rows sent, in the order of gate values, the highest first.

    Parameters
    ----------
    values : array of shape (n,)
        Gate values.
    local, remote : bool arrays of shape (n,)
        Rows that either model gets right.
    below : tuple of float
        For each of them, the smallest share is found that loses no more accuracy against the remote
        model.
    """
    thresholds = Thresholds(values)
    accuracy = thresholds.means(local.astype(float), remote.astype(float))
    shares = thresholds.counts / len(values)
    sent = []
    for loss in below:
        reached = np.flatnonzero(accuracy >= remote.mean() - loss - 1e-12)
        sent.append(shares[reached[0]])
    return {
        "area": thresholds.area(local.astype(float), remote.astype(float)),
        "sent": sent,
        "accuracy": np.interp(GRID, shares, accuracy),
    }
