"""Fit a linear model on some of the columns: ridge regression, or logistic regression with L2.

Numbers are standardized, categories become indicators, missing values the mean. The frozen model
is a `LinearTree` of one node, which takes the table as it is.

- Ridge regression: the penalty with the least leave-one-out error is chosen from a grid. One
  eigendecomposition serves all penalties, and the errors follow from the fits on all rows: each
  residual is divided by 1 minus the leverage of its row.
- Logistic regression, softmax for more than two classes: the sum of the log-losses plus half the
  squared weights is minimized, as scikit-learn's `LogisticRegression` does with C = 1. Two classes
  with few columns take a handful of Newton steps, the others L-BFGS.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from thrifty.learn.encoding import encode_blockwise, standardize_columns
from thrifty.model import LinearTree
from thrifty.model.encoding import Encoding

__all__ = ["fit_linear"]

Floats = NDArray[np.float64]

# Penalties of ridge regression, as multiples of the total weight of the rows.
RIDGE_GRID = np.logspace(-5, 2, 29)
# Directions with less than this share of the largest variance are noise of the arithmetic.
MIN_VARIANCE_SHARE = 1e-12
# A leverage of 1 would leave nothing to compute an error from.
MAX_LEVERAGE = 1.0 - 1e-9
# Constants are penalized so little that it only matters for a class without rows: its probability
# is about a hundredth of a row's, instead of 0.
CONSTANT_PENALTY = 0.01
# The loss ends within about this share of its minimum; more digits do not change predictions.
LOSS_TOL = 1e-5
MAX_ITERATIONS = 200
# Up to this many columns, the matrix of a Newton step costs less than the many steps of L-BFGS.
MAX_NEWTON_COLUMNS = 100


class LinearWeights(NamedTuple):
    """Outputs are ``Z @ weights + bias``."""

    weights: Floats
    """(q, S): S is 1 for values and for two classes, else the number of classes."""

    bias: Floats
    """(S,)."""


def fit_linear(
    X: NDArray[np.floating],
    y: NDArray[Any],
    n_classes: int,
    categorical: NDArray[np.bool_],
    features: NDArray[np.integer],
    weight: Floats | None = None,
) -> LinearTree:
    """Fit ridge regression, or logistic regression with an L2 penalty, on some columns.

    The result depends neither on the scale of the weights nor on random numbers.

    Parameters
    ----------
    X : array of shape (n, d)
        Encoded rows: categories are codes, missing values are NaN.
    y : array of shape (n,)
        Class codes, or numbers.
    n_classes : int
        0 if the target holds numbers.
    categorical : bool array of shape (d,)
        Which columns hold codes.
    features : int array
        Columns to read, in the order in which they are added up.
    weight : array of shape (n,), optional
        Positive sample weights.

    Returns
    -------
    LinearTree
        With one node. It reads the columns of `features` that vary.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.linear import fit_linear
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = 10 + 3 * X[:, 0] + X[:, 2]
    >>> model = fit_linear(X, y, 0, np.zeros(3, dtype=bool), features=np.array([0, 2]))
    >>> model.score(np.array([[1.0, np.nan, 1.0]])).round(2)
    array([14.])
    >>> model.support
    array([ True, False,  True])
    """
    w = np.ones(len(X)) if weight is None else weight / weight.mean()
    table = X.take(features, axis=1)
    encoding = _fit_encoding(table, categorical[features], w)
    Z = encode_blockwise(encoding, table)
    if n_classes == 0:
        solution, link = _fit_ridge(Z, y.astype(np.float64), w), "sum"
    else:
        link = "sigmoid" if n_classes == 2 else "softmax"
        solution = _fit_logistic(Z, y, n_classes, w)
    q = len(encoding.columns)
    return LinearTree(
        left=np.array([-1]), right=np.array([-1]), starts=np.array([0, q]), inputs=np.arange(q),
        route=np.zeros(q), threshold=np.zeros(1), weights=solution.weights,
        bias=solution.bias[np.newaxis], link=link, n_features=X.shape[1],
        encoding=Encoding(
            np.asarray(features, dtype=np.int64)[encoding.columns], encoding.codes,
            encoding.centers, encoding.scales, encoding.fills,
        ),
    )  # fmt: skip


def _fit_encoding(
    table: NDArray[np.floating], categorical: NDArray[np.bool_], weight: Floats
) -> Encoding:
    """Standardize the columns that vary; leave out those whose numbers are too large to square."""
    n_categories = [
        int(np.nanmax(table[:, j], initial=-1.0)) + 1 if is_category else None
        for j, is_category in enumerate(categorical.tolist())
    ]
    with np.errstate(over="ignore", invalid="ignore"):
        encoding = standardize_columns(table, n_categories, weight)
    return encoding.keep(np.isfinite(encoding.centers) & np.isfinite(encoding.scales))


def _fit_ridge(Z: Floats, y: Floats, weight: Floats) -> LinearWeights:
    """Minimize the weighted squares plus the penalty with the least leave-one-out error."""
    total = weight.sum()
    share = weight / total
    center, mean = share @ Z, float(share @ y)
    residual = y - mean
    # On rows times the root of their weight, weighted least squares are plain ones.
    root = np.sqrt(weight)
    A, target = root[:, np.newaxis] * (Z - center), root * residual
    # The products of rows and those of columns have the same eigenvalues: take the smaller matrix.
    is_wide = A.shape[1] > len(A)
    values, vectors = np.linalg.eigh(A @ A.T if is_wide else A.T @ A)
    kept = values > MIN_VARIANCE_SHARE * values.max(initial=0.0)
    values, vectors = values[kept], vectors[:, kept]
    if is_wide:
        vectors = A.T @ (vectors / np.sqrt(values))
    scores = A @ vectors
    projected = scores.T @ target
    inverse = 1.0 / (values[:, np.newaxis] + total * RIDGE_GRID)  # (directions, penalties)
    errors = target[:, np.newaxis] - scores @ (inverse * projected[:, np.newaxis])
    leverage = np.square(scores) @ inverse + share[:, np.newaxis]
    errors /= 1.0 - np.minimum(leverage, MAX_LEVERAGE)
    best = int(np.argmin(np.square(errors).sum(axis=0)))
    weights = vectors @ (inverse[:, best] * projected)
    return LinearWeights(weights[:, np.newaxis], np.array([mean - center @ weights]))


def _fit_logistic(Z: Floats, y: NDArray[np.int64], n_classes: int, weight: Floats) -> LinearWeights:
    """Minimize the sum of the log-losses plus half the squared weights."""
    n, q = Z.shape
    A = np.column_stack([Z, np.ones(n)])
    # Two classes need one output, the log-odds of the second.
    codes = np.arange(n_classes) if n_classes > 2 else np.array([1])
    target = (y[:, np.newaxis] == codes).astype(np.float64)
    penalty = np.append(np.ones(q), CONSTANT_PENALTY)[:, np.newaxis]
    if n_classes == 2 and q < MAX_NEWTON_COLUMNS:
        theta = _newton(A, target[:, 0], weight, penalty[:, 0])
        return LinearWeights(theta[:-1, np.newaxis], theta[-1:])

    def loss_and_gradient(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(q + 1, len(codes))
        logits = A @ theta
        right = np.einsum("ij,ij->i", logits, target)
        # The highest logit is subtracted before the exponential; the output left out is 0.
        highest = logits.max(axis=1, initial=0.0 if n_classes == 2 else -np.inf)
        logits -= highest[:, np.newaxis]
        error = np.exp(logits, out=logits)
        total = error.sum(axis=1)
        if n_classes == 2:
            total += np.exp(-highest)
        losses = highest + np.log(total) - right
        error /= total[:, np.newaxis]
        error -= target
        error *= weight[:, np.newaxis]
        gradient = A.T @ error + penalty * theta
        value = float(weight @ losses) + 0.5 * float(np.sum(penalty * theta * theta))
        return value, gradient.ravel()

    solution = minimize(
        loss_and_gradient,
        np.zeros((q + 1) * len(codes)),
        jac=True,
        method="L-BFGS-B",
        options={"ftol": LOSS_TOL, "maxiter": MAX_ITERATIONS},
    ).x.reshape(q + 1, len(codes))
    return LinearWeights(solution[:-1], solution[-1])


def _newton(A: Floats, target: Floats, weight: Floats, penalty: Floats) -> Floats:
    """Minimize the logistic loss of ``A @ theta`` plus half the penalized squares of theta."""
    theta, previous = np.zeros(A.shape[1]), np.zeros(A.shape[1])
    least = np.inf
    for _ in range(MAX_ITERATIONS):
        logits = A @ theta
        losses = np.logaddexp(0.0, logits) - target * logits
        loss = float(weight @ losses) + 0.5 * float(penalty @ (theta * theta))
        if loss > least:  # a full step went too far
            theta = (theta + previous) / 2
            continue
        if least - loss <= LOSS_TOL * max(loss, 1.0):
            break
        least, previous = loss, theta
        p = expit(logits)
        gradient = A.T @ (weight * (p - target)) + penalty * theta
        hessian = (A * (weight * p * (1.0 - p))[:, np.newaxis]).T @ A + np.diag(penalty)
        theta = theta - np.linalg.solve(hessian, gradient)
    return theta
