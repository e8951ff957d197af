"""Calibrate the outputs of a classifier, so that its probabilities match how often it is right.

All of it is fitted on rows that the classifier has not been trained on. There are four ways:

===========================  ==================================================  ==================
Function                     What is fitted                                      Used by
===========================  ==================================================  ==================
`fit_inverse_temperature`    one factor for all log-odds of a boosted model;     ladders
                             `scale_outputs` folds it into the trees
`rescale_probabilities`      the same factor, for probabilities of a model that  gates
                             we cannot change
`fit_platt_scaling`          a factor and an offset per class (Platt 1999), for  anytime models,
                             outputs that are not log-odds, such as the margin   submodular trees,
                             of an SVM or a least-squares fit                    linear baselines
`fit_pairwise_slopes`        a factor per pair of classes, without an offset,    one-vs-one SVMs
                             so that the sign still decides
===========================  ==================================================  ==================

A factor alone (temperature scaling, Guo et al. 2017) leaves the predicted class as it is.
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
from thrifty.model.links import MIN_PROBABILITY, apply_link
from thrifty.model.pairwise import pair_classes

__all__ = [
    "PlattScaling",
    "fit_inverse_temperature",
    "fit_pairwise_slopes",
    "fit_platt_scaling",
    "rescale_probabilities",
    "scale_outputs",
]

Floats = NDArray[np.float64]

# The inverse temperature is searched between exp(-2) and exp(2): 0.14 to 7.4.
MAX_LOG_FACTOR = 2.0
# Few rows say little about it: a quadratic penalty on its logarithm, divided by the number of
# rows, pulls it toward 1. With 10 rows, a factor of e costs one nat.
LOG_FACTOR_PENALTY = 10.0
# A softmax does not change when all offsets do; this small ridge makes them unique.
OFFSET_RIDGE = 1e-6
# Newton steps for the slope of a pair, and its bounds in units of 1 / mean |decision|. It stays
# positive, so that even decisions no better than chance keep their sign.
MAX_NEWTON_STEPS = 50
MIN_SLOPE, MAX_SLOPE = 1e-3, 1e6


def fit_inverse_temperature(raw: Floats, loss: Loss) -> float:
    """Return the factor at which the outputs `raw` (k, n) have the least loss.

    A factor below 1 makes an overconfident model less sure, one above 1 makes it surer.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import fit_inverse_temperature
    >>> from thrifty.learn.losses import LogLoss
    >>> y = np.arange(1000) % 4 // 3  # odds of 1 to 3
    >>> raw = np.full((1, 1000), 2 * np.log(1 / 3))  # predicted odds: 1 to 9
    >>> round(fit_inverse_temperature(raw, LogLoss(y, None, 2)), 1)
    0.5
    """
    penalty = LOG_FACTOR_PENALTY / raw.shape[1]

    def penalized_loss(log_factor: float) -> float:
        return loss.value(np.exp(log_factor) * raw) + float(penalty * log_factor * log_factor)

    bounds = (-MAX_LOG_FACTOR, MAX_LOG_FACTOR)
    return float(np.exp(minimize_scalar(penalized_loss, bounds=bounds, method="bounded").x))


def scale_outputs(forest: Forest, factor: float) -> Forest:
    """Return a forest with the same trees whose outputs are multiplied by `factor`."""
    return replace(forest, values=factor * forest.values, base=factor * forest.base)


def rescale_probabilities(
    probabilities: Floats, codes: NDArray[np.int64], weight: Floats | None
) -> Floats:
    """Return the probabilities (n, K) at their best temperature, given the true class codes (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import rescale_probabilities
    >>> probabilities = np.tile([0.001, 0.999], (1000, 1))
    >>> codes = (np.arange(1000) % 10 > 0).astype(int)  # but every tenth prediction is wrong
    >>> rescale_probabilities(probabilities, codes, None)[0].round(1)
    array([0.1, 0.9])
    """
    raw = np.log(np.clip(probabilities, MIN_PROBABILITY, 1.0)).T
    if len(raw) == 2:
        raw = raw[1:] - raw[:1]
    loss = LogLoss(codes, weight, probabilities.shape[1])
    return apply_link(loss.link, (fit_inverse_temperature(raw, loss) * raw).T)


class PlattScaling(NamedTuple):
    """Log-odds, or logits up to a constant, are ``scale * outputs + offset``.

    `scale` is at least 0; `offset` has shape (1,) for two classes, (K,) for more.
    """

    scale: float
    offset: Floats


def fit_platt_scaling(
    outputs: Floats, codes: NDArray[np.int64], weight: Floats, n_classes: int
) -> PlattScaling:
    """Fit a sigmoid (Platt 1999), or for more than two classes a softmax, to outputs.

    Parameters
    ----------
    outputs : array of shape (n, k)
        One column for two classes, else one for each class.
    codes : int64 array of shape (n,)
        True class codes.
    weight : array of shape (n,)
        Sample weights.
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import fit_platt_scaling
    >>> outputs, codes = np.array([[-1.0], [-1.0], [1.0], [1.0]]), np.array([0, 0, 1, 1])
    >>> scale, offset = fit_platt_scaling(outputs, codes, np.ones(4), n_classes=2)
    >>> round(scale, 3)  # log(3): with two rows in a class, the smoothed target is 3/4
    1.099
    """
    if outputs.shape[1] < n_classes:
        outputs = np.column_stack([np.zeros(len(outputs)), outputs])
    # Platt's smoothed targets: as if each class had one more row on either side. What a class
    # gives up goes to the others in proportion to their weight.
    class_weight = np.bincount(codes, weight, minlength=n_classes)
    given_up = 1.0 / (class_weight + 2.0)
    others = np.where(np.eye(n_classes, dtype=bool), 0.0, class_weight + 1.0)
    target_of_class = given_up[:, np.newaxis] * others / others.sum(axis=1, keepdims=True)
    target_of_class += np.diag(1.0 - given_up)
    targets = np.asarray(target_of_class[codes])
    total = max(float(weight.sum()), 1.0)

    def loss_and_gradient(parameters: Floats) -> tuple[float, Floats]:
        scale, offset = parameters[0], parameters[1:]
        logits = scale * outputs + offset
        logs = logits - logsumexp(logits, axis=1, keepdims=True)
        error = weight[:, np.newaxis] * (np.exp(logs) - targets)
        value = -float(np.sum(weight * np.sum(targets * logs, axis=1))) / total
        gradient = np.append(np.sum(error * outputs), error.sum(axis=0)) / total
        gradient[1:] += OFFSET_RIDGE * offset
        return value + 0.5 * OFFSET_RIDGE * float(offset @ offset), gradient

    solution = minimize(
        loss_and_gradient,
        np.append(1.0, np.zeros(n_classes)),
        jac=True,
        bounds=[(0.0, None), *[(None, None)] * n_classes],
        method="L-BFGS-B",
        options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 500},
    ).x
    offset = solution[1:] if n_classes > 2 else solution[2:] - solution[1]
    return PlattScaling(float(solution[0]), offset)


def fit_pairwise_slopes(
    decisions: Floats, codes: NDArray[np.int64], n_classes: int, weight: Floats | None = None
) -> Floats:
    """Return a factor for the decisions of each pair of classes that makes them log-odds, (pairs,).

    This is Platt's method without the offset: a decision of 0 still means even odds, so of two
    classes the more probable one is the one that the SVM decides for.

    Parameters
    ----------
    decisions : array of shape (n, pairs)
        In the order of `thrifty.model.pairwise.pair_classes`; positive for the first class.
    codes : int64 array of shape (n,)
        True class codes. A pair is fitted on the rows of its two classes.
    n_classes : int
    weight : array of shape (n,), optional
        Sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.calibration import fit_pairwise_slopes
    >>> decisions, codes = np.array([[1.0], [1.0], [-1.0], [-1.0]]), np.array([0, 0, 1, 1])
    >>> fit_pairwise_slopes(decisions, codes, n_classes=2).round(3)
    array([1.099])
    """
    weight = np.ones(len(codes)) if weight is None else weight
    slopes = np.ones(decisions.shape[1])
    for pair, (first, second) in enumerate(zip(*pair_classes(n_classes), strict=True)):
        own = (codes == first) | (codes == second)
        if own.any():
            slopes[pair] = _fit_slope(decisions[own, pair], codes[own] == first, weight[own])
    return slopes


def _fit_slope(decision: Floats, is_first: NDArray[np.bool_], weight: Floats) -> float:
    """Maximize the likelihood of Platt's smoothed targets over one slope, by safeguarded Newton."""
    n_first, n_second = float(weight[is_first].sum()), float(weight[~is_first].sum())
    target = np.where(is_first, (n_first + 1.0) / (n_first + 2.0), 1.0 / (n_second + 2.0))
    unit = float(np.average(np.abs(decision), weights=weight)) or 1.0
    f = decision / unit
    low, high = MIN_SLOPE, MAX_SLOPE
    slope = 1.0
    for _ in range(MAX_NEWTON_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(slope * f, -500.0, 500.0)))
        gradient = float((weight * f * (p - target)).sum())
        low, high = (low, slope) if gradient > 0 else (slope, high)
        curvature = float((weight * f * f * p * (1.0 - p)).sum())
        step = slope - gradient / curvature if curvature > 0 else np.inf
        # A Newton step that leaves the known bounds is replaced by their geometric mean.
        step = step if low < step < high else np.sqrt(low * high)
        if abs(step - slope) <= 1e-10 * slope:
            break
        slope = float(step)
    return slope / unit
