"""Buy features row by row, each chosen by the nearest training rows (Nan 2018, ch. 2).

`thrifty.kernels.nearest` finds the near rows after each purchase. Ties at the K-th distance all
count, and counts are integers: nothing depends on the order of the training rows or on how the
work is divided.

Terms of rows are stored as one row of d * c numbers each, so that those of a classifier with one
output are next to each other.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc.math import isnan
from cython.cimports.thrifty.kernels.nearest import approach, select

__all__ = ["Examples", "Rule", "Steps", "TrainingRows", "follow_rows"]


@cython.cclass
class TrainingRows:
    """The training rows and what an additive classifier says of them.

    Attributes
    ----------
    coordinates : float32 array (d, n)
        Coordinates of the rows; -1 for a missing category.
    mismatch : float32 array (d,)
        Squared distance of two unequal categories; 0 for a feature without categories.
    terms : float array (n, d * c)
        What each feature adds to each of the c outputs.
    offset : float array (c,)
        Outputs before any feature is bought.
    labels : int64 array (n,)
        Classes of the rows.
    """

    coordinates: cython.const[cython.float][:, ::1]
    mismatch: cython.const[cython.float][::1]
    terms: cython.const[cython.double][:, ::1]
    offset: cython.const[cython.double][::1]
    labels: cython.const[cython.longlong][::1]

    def __init__(self, coordinates, mismatch, terms, offset, labels) -> None:
        self.coordinates = coordinates
        self.mismatch = mismatch
        self.terms = terms
        self.offset = offset
        self.labels = labels


@cython.cclass
class Rule:
    """How a row chooses its next feature and when it stops.

    Attributes
    ----------
    order : int64 array (m,)
        Features that may be bought. The first one is always bought first; later, earlier ones win
        ties.
    price : float array (d,)
        Penalty subtracted from the score of a feature.
    group : int64 array (d,)
        Group of each feature; -1 for none.
    group_price : float array (g,)
        The same for the first feature of a group, in addition.
    adaptive : bool
        Whether the near rows choose the next feature; otherwise it is the next one in `order`.
    k : int
        Smallest number of near rows.
    threshold : float
        A row stops when the share of near rows with a positive margin exceeds this.
    """

    order: cython.const[cython.longlong][::1]
    price: cython.const[cython.double][::1]
    group: cython.const[cython.longlong][::1]
    group_price: cython.const[cython.double][::1]
    adaptive: cython.bint
    k: cython.Py_ssize_t
    threshold: cython.double

    def __init__(self, order, price, group, group_price, adaptive, k, threshold) -> None:
        self.order = order
        self.price = price
        self.group = group
        self.group_price = group_price
        self.adaptive = adaptive
        self.k = k
        self.threshold = threshold


@cython.cclass
class Examples:
    """The rows that buy.

    Attributes
    ----------
    coordinates : float32 array (r, d)
        Coordinates of the rows; NaN for a missing value.
    terms : float array (r, d * c)
        What each feature adds to each of the c outputs.
    """

    coordinates: cython.const[cython.float][:, ::1]
    terms: cython.const[cython.double][:, ::1]

    def __init__(self, coordinates, terms) -> None:
        self.coordinates = coordinates
        self.terms = terms


@cython.cclass
class Steps:
    """What the examples do; filled by `follow_rows` up to the last step of each.

    Attributes
    ----------
    feature : int64 array (r, m)
        The feature bought.
    correct : int64 array (r, m)
        Near rows with a positive margin on what is bought.
    near : int64 array (r, m)
        Number of near rows.
    predicted : int64 array (r, m)
        Class that the outputs of the example favor.
    count : int64 array (r,)
        Number of steps.
    """

    feature: cython.longlong[:, ::1]
    correct: cython.longlong[:, ::1]
    near: cython.longlong[:, ::1]
    predicted: cython.longlong[:, ::1]
    count: cython.longlong[::1]

    def __init__(self, feature, correct, near, predicted, count) -> None:
        self.feature = feature
        self.correct = correct
        self.near = near
        self.predicted = predicted
        self.count = count


@cython.cclass
class Scratch:
    """What `follow_rows` knows of the example at hand.

    Parameters
    ----------
    n, d, c : int
        Number of training rows, of features and of outputs.

    Attributes
    ----------
    distance : float32 array (n,)
        Squared distance of each training row on what is bought.
    buffer : float32 array (n,)
        Distances of which the K-th least is searched.
    pool : int32 array (n,)
        Training rows among which all near rows are, in increasing order.
    near : int32 array (n,)
        The near rows, in increasing order.
    sums : float array (n, c)
        Outputs of the near rows on what is bought.
    outputs : float array (c,)
        Outputs of the example on what is bought.
    counts : int64 array (d,)
        Near rows that would have a positive margin with each feature added.
    bought : uint8 array (d,)
        Which features are bought.
    pool_size : int
        Number of rows in `pool`.
    near_size : int
        Number of rows in `near`.
    """

    distance: cython.float[::1]
    buffer: cython.float[::1]
    pool: cython.int[::1]
    near: cython.int[::1]
    sums: cython.double[:, ::1]
    outputs: cython.double[::1]
    counts: cython.longlong[::1]
    bought: cython.uchar[::1]
    pool_size: cython.Py_ssize_t
    near_size: cython.Py_ssize_t

    def __init__(self, n: cython.Py_ssize_t, d: cython.Py_ssize_t, c: cython.Py_ssize_t) -> None:
        self.distance = np.empty(n, dtype=np.float32)
        self.buffer = np.empty(n, dtype=np.float32)
        self.pool = np.empty(n, dtype=np.int32)
        self.near = np.empty(n, dtype=np.int32)
        self.sums = np.empty((n, c))
        self.outputs = np.empty(c)
        self.counts = np.empty(d, dtype=np.int64)
        self.bought = np.empty(d, dtype=np.uint8)
        self.pool_size = n
        self.near_size = n


def follow_rows(rows: TrainingRows, rule: Rule, examples: Examples, steps: Steps) -> None:
    """Let every example buy until it stops; fill `steps`."""
    scratch = Scratch(rows.labels.shape[0], rows.mismatch.shape[0], rows.offset.shape[0])
    with cython.nogil:
        for example in range(examples.coordinates.shape[0]):
            follow(rows, rule, examples, example, scratch, steps)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def follow(
    rows: TrainingRows,
    rule: Rule,
    examples: Examples,
    example: cython.Py_ssize_t,
    scratch: Scratch,
    steps: Steps,
) -> cython.void:
    """Let one example buy until it stops."""
    reset(rows, scratch)
    for step in range(rule.order.shape[0]):
        feature = rule.order[step]
        if step > 0 and rule.adaptive:
            count_ahead(rows, scratch)
            feature = choose(rule, scratch, steps.feature, example, step)
        steps.feature[example, step] = feature
        scratch.bought[feature] = 1
        here = examples.coordinates[example, feature]
        if not isnan(here):
            scratch.pool_size = approach(
                rows.coordinates, feature, here, rows.mismatch[feature], scratch.distance,
                scratch.pool, scratch.pool_size, rule.k, scratch.buffer,
            )  # fmt: skip
        scratch.near_size = select(
            scratch.distance, scratch.pool, scratch.pool_size, scratch.buffer, rule.k, scratch.near
        )
        for k in range(scratch.outputs.shape[0]):
            scratch.outputs[k] += examples.terms[example, feature * scratch.outputs.shape[0] + k]
        add_up(
            rows.terms, rows.offset, steps.feature, example, step + 1,
            scratch.near, scratch.near_size, scratch.sums,
        )  # fmt: skip
        correct = count_correct(rows.labels, scratch.near, scratch.near_size, scratch.sums)
        steps.correct[example, step] = correct
        steps.near[example, step] = scratch.near_size
        steps.predicted[example, step] = largest_output(scratch.outputs)
        steps.count[example] = step + 1
        # Compiled, a quotient of integers would be an integer.
        if cython.cast(cython.double, correct) / scratch.near_size > rule.threshold:
            break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def reset(rows: TrainingRows, scratch: Scratch) -> cython.void:
    """Start an example: nothing is bought, and every training row is near."""
    for row in range(scratch.distance.shape[0]):
        scratch.distance[row] = 0.0
        scratch.pool[row] = row
    for feature in range(scratch.bought.shape[0]):
        scratch.bought[feature] = 0
    for k in range(scratch.outputs.shape[0]):
        scratch.outputs[k] = rows.offset[k]
    scratch.pool_size = scratch.distance.shape[0]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_up(
    terms: cython.const[cython.double][:, ::1],
    offset: cython.const[cython.double][::1],
    feature: cython.const[cython.longlong][:, ::1],
    example: cython.Py_ssize_t,
    steps: cython.Py_ssize_t,
    near: cython.const[cython.int][::1],
    near_size: cython.Py_ssize_t,
    sums: cython.double[:, ::1],
) -> cython.void:
    """Outputs of the near rows on what is bought, added in the order of purchase."""
    width = offset.shape[0]
    for place in range(near_size):
        row = near[place]
        for k in range(width):
            total: cython.double = offset[k]
            for step in range(steps):
                total += terms[row, feature[example, step] * width + k]
            sums[place, k] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def largest_output(outputs: cython.const[cython.double][::1]) -> cython.Py_ssize_t:
    """The class that outputs favor; the first of equal ones."""
    if outputs.shape[0] == 1:
        return 1 if outputs[0] > 0.0 else 0
    best: cython.Py_ssize_t = 0
    for k in range(outputs.shape[0]):
        if outputs[k] > outputs[best]:
            best = k
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_correct(
    labels: cython.const[cython.longlong][::1],
    near: cython.const[cython.int][::1],
    near_size: cython.Py_ssize_t,
    sums: cython.const[cython.double][:, ::1],
) -> cython.longlong:
    """How many near rows have a positive margin."""
    correct: cython.longlong = 0
    for place in range(near_size):
        label = labels[near[place]]
        if sums.shape[1] == 1:
            correct += sums[place, 0] > 0.0 if label == 1 else sums[place, 0] < 0.0
        else:
            correct += leads(sums, place, label)
    return correct


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def leads(
    sums: cython.const[cython.double][:, ::1], place: cython.Py_ssize_t, label: cython.Py_ssize_t
) -> cython.bint:
    """Whether a class has more than every other."""
    for k in range(sums.shape[1]):
        if k != label and sums[place, k] >= sums[place, label]:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def count_ahead(rows: TrainingRows, scratch: Scratch) -> cython.void:
    """How many near rows would have a positive margin with each feature added."""
    for feature in range(scratch.counts.shape[0]):
        scratch.counts[feature] = 0
    for place in range(scratch.near_size):
        row = scratch.near[place]
        if scratch.sums.shape[1] == 1:
            sign = 1.0 if rows.labels[row] == 1 else -1.0
            count_signs(rows.terms, row, scratch.sums[place, 0], sign, scratch.counts)
        else:
            count_leads(
                rows.terms, row, rows.labels[row], scratch.sums, place,
                scratch.bought, scratch.counts,
            )  # fmt: skip


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def count_signs(
    terms: cython.const[cython.double][:, ::1],
    row: cython.Py_ssize_t,
    total: cython.double,
    sign: cython.double,
    counts: cython.longlong[::1],
) -> cython.void:
    """Count a near row at the features with which its only output has the right sign."""
    # Bought features are counted too, and never looked at: the loop has no branch.
    feature: cython.Py_ssize_t
    for feature in range(counts.shape[0]):
        counts[feature] += (total + terms[row, feature]) * sign > 0.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def count_leads(
    terms: cython.const[cython.double][:, ::1],
    row: cython.Py_ssize_t,
    label: cython.Py_ssize_t,
    sums: cython.const[cython.double][:, ::1],
    place: cython.Py_ssize_t,
    bought: cython.const[cython.uchar][::1],
    counts: cython.longlong[::1],
) -> cython.void:
    """Count a near row at the open features with which its class has more than every other."""
    feature: cython.Py_ssize_t
    for feature in range(counts.shape[0]):
        if not bought[feature]:
            counts[feature] += leads_with(terms, row, feature, label, sums, place)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def leads_with(
    terms: cython.const[cython.double][:, ::1],
    row: cython.Py_ssize_t,
    feature: cython.Py_ssize_t,
    label: cython.Py_ssize_t,
    sums: cython.const[cython.double][:, ::1],
    place: cython.Py_ssize_t,
) -> cython.bint:
    """Whether a class has more than every other after a term is added."""
    width = sums.shape[1]
    own = sums[place, label] + terms[row, feature * width + label]
    for k in range(width):
        if k != label and sums[place, k] + terms[row, feature * width + k] >= own:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def choose(
    rule: Rule,
    scratch: Scratch,
    features: cython.const[cython.longlong][:, ::1],
    example: cython.Py_ssize_t,
    steps: cython.Py_ssize_t,
) -> cython.longlong:
    """The open feature with the largest estimate less its price; ties go to the first in order."""
    chosen: cython.longlong = -1
    largest = 0.0
    for place in range(rule.order.shape[0]):
        feature = rule.order[place]
        if scratch.bought[feature]:
            continue
        value = cython.cast(cython.double, scratch.counts[feature]) / scratch.near_size
        value -= price_now(rule, feature, features, example, steps)
        if chosen < 0 or value > largest:
            chosen = feature
            largest = value
    return chosen


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def price_now(
    rule: Rule,
    feature: cython.Py_ssize_t,
    features: cython.const[cython.longlong][:, ::1],
    example: cython.Py_ssize_t,
    steps: cython.Py_ssize_t,
) -> cython.double:
    """What a feature loses now: its price, and that of a group that is not open yet."""
    group = rule.group[feature]
    if group >= 0:
        for step in range(steps):
            if rule.group[features[example, step]] == group:
                return rule.price[feature]
        return rule.price[feature] + rule.group_price[group]
    return rule.price[feature]
