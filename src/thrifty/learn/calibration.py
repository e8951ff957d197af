"""Calibration: one factor for the outputs of a boosted model, chosen on held-out rows.

The factor is folded into the trees, so that a calibrated model is a forest like any other.

One factor for the log-odds of someone else's probabilities, so that their loss means something.

Votes of trees and decisions of machines are often too sure, or not sure enough. Gates compare
losses; the factor at which the answers have the least loss makes them comparable.

Platt scaling: the outputs of a machine, or of one machine a class, as probabilities.

Two classes: a sigmoid of ``scale * output + offset``, fitted to smoothed targets (Platt 1999). More
classes: its plain extension, a softmax with one scale and an offset for each class.

Slopes that make decisions log-odds: Platt's method, without an offset.

Without the offset the even odds stay where the decision is 0, so that the most probable class of
two is the one the machine decides for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp

from thrifty.learn.losses import LogLoss, Loss
from thrifty.model import Forest
from thrifty.model.links import apply_link
from thrifty.model.pairwise import pair_classes

__all__ = ["Scaling", "calibrated", "factor_of", "pair_slopes", "platt", "scaled"]

# Natural logarithm of the largest factor, and minus that of the smallest.
WIDEST = 2.0
# Few rows say little about the factor: so many rows' worth of loss pull it to 1.
PULL = 10.0


def factor_of(raw: NDArray[np.float64], loss: Loss) -> float:
    """The factor at which the outputs `raw` (k, n) have the least loss.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import factor_of
    >>> from thrifty.learn.losses import LogLoss
    >>> y = np.arange(1000) % 4 // 3  # a quarter is of class 1
    >>> raw = np.full((1, 1000), 2 * np.log(1 / 3))  # and a tenth is said to be
    >>> round(factor_of(raw, LogLoss(y, None, 2)), 1)
    0.5
    """
    pull = PULL / raw.shape[1]

    def cost(exponent: float) -> float:
        return loss.value(np.exp(exponent) * raw) + float(pull * exponent * exponent)

    return float(np.exp(minimize_scalar(cost, bounds=(-WIDEST, WIDEST), method="bounded").x))


def scaled(forest: Forest, factor: float) -> Forest:
    """The forest with all outputs times `factor`."""
    return replace(forest, values=factor * forest.values, base=factor * forest.base)


Floats = NDArray[np.float64]
# Answers of 0 and 1 count as nearly so.
LEAST = 1e-6


def calibrated(answers: Floats, codes: NDArray[np.int64], weight: Floats | None) -> Floats:
    """Probabilities (n, K) made as sure as they are right.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import calibrated
    >>> sure = np.tile([0.001, 0.999], (1000, 1))  # and wrong every tenth time
    >>> calibrated(sure, (np.arange(1000) % 10 > 0).astype(int), None)[0].round(1)
    array([0.1, 0.9])
    """
    raw = np.log(np.clip(answers, LEAST, 1.0)).T
    if len(raw) == 2:
        raw = raw[1:] - raw[:1]
    loss = LogLoss(codes, weight, answers.shape[1])
    return apply_link(loss.link, (factor_of(raw, loss) * raw).T)


# A softmax does not change when all offsets do; this chooses one.
RIDGE = 1e-6


class Scaling(NamedTuple):
    """Multiply the outputs, then add: log odds, or log shares up to a constant."""

    scale: float
    offset: Floats


def platt(outputs: Floats, codes: NDArray[np.int64], weight: Floats, classes: int) -> Scaling:
    """Fit a scaling to outputs (n, k); two classes have one output.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import platt
    >>> outputs, codes = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    >>> scale, offset = platt(outputs, codes, np.ones(4), classes=2)
    >>> round(scale, 3)  # log odds of the smoothed target, 3 to 1
    1.099
    """
    if outputs.shape[1] < classes:
        outputs = np.column_stack([np.zeros(len(outputs)), outputs])
    targets = _smoothed(codes, weight, classes)
    total = max(float(weight.sum()), 1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        scale, offset = parameters[0], parameters[1:]
        logits = scale * outputs + offset
        logs = logits - logsumexp(logits, axis=1, keepdims=True)
        error = weight[:, np.newaxis] * (np.exp(logs) - targets)
        value = -float(np.sum(weight * np.sum(targets * logs, axis=1))) / total
        slope = np.append(np.sum(error * outputs), error.sum(axis=0)) / total
        slope[1:] += RIDGE * offset
        return value + 0.5 * RIDGE * float(offset @ offset), slope

    bounds = [(0.0, None), *[(None, None)] * classes]
    start = np.append(1.0, np.zeros(classes))
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=options).x
    offset = found[1:] if classes > 2 else found[2:] - found[1]
    return Scaling(float(found[0]), offset)


def _smoothed(codes: NDArray[np.int64], weight: Floats, classes: int) -> Floats:
    """Targets (n, K) short of 0 and 1 as if each class had one more row on either side."""
    mass = np.bincount(codes, weight, minlength=classes)
    doubt = 1.0 / (mass + 2.0)
    # What a class leaves goes to the others, by their size.
    others = np.where(np.eye(classes, dtype=bool), 0.0, mass + 1.0)
    table = doubt[:, np.newaxis] * others / others.sum(axis=1, keepdims=True)
    table += np.diag(1.0 - doubt)
    return np.asarray(table[codes])


STEPS = 50
# A machine that decides no better than chance still decides.
LEAST_PAIR_SLOPES, MOST = 1e-3, 1e6


def pair_slopes(
    decisions: Floats, codes: NDArray[np.int64], n_classes: int, weight: Floats | None = None
) -> Floats:
    """Slope of each pair, from the decisions (n, pairs) on rows of known classes.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import pair_slopes
    >>> pair_slopes(np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([0, 0, 1, 1]), 2).round(3)
    array([1.099])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    slopes = np.ones(decisions.shape[1])
    for pair, (first, second) in enumerate(zip(*pair_classes(n_classes), strict=True)):
        own = (codes == first) | (codes == second)
        if own.any():
            slopes[pair] = _slope(decisions[own, pair], codes[own] == first, weight[own])
    return slopes


def _slope(f: Floats, is_first: NDArray[np.bool_], weight: Floats) -> float:
    """The likeliest slope for Platt's targets, which are not quite 0 and 1."""
    ahead, behind = float(weight[is_first].sum()), float(weight[~is_first].sum())
    target = np.where(is_first, (ahead + 1.0) / (ahead + 2.0), 1.0 / (behind + 2.0))
    size = float(np.average(np.abs(f), weights=weight)) or 1.0
    f = f / size
    low, high = LEAST_PAIR_SLOPES, MOST
    slope = 1.0
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * f, -500.0, 500.0)))
        gradient = float((weight * f * (p - target)).sum())
        low, high = (low, slope) if gradient > 0 else (slope, high)
        curve = float((weight * f * f * p * (1.0 - p)).sum())
        step = slope - gradient / curve if curve > 0 else np.inf
        # Newton where it stays between the bounds that are known, else their middle.
        step = step if low < step < high else np.sqrt(low * high)
        if abs(step - slope) <= 1e-10 * slope:
            break
        slope = float(step)
    return slope / size
