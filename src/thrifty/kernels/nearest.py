"""The training rows nearest to an example, updated as it buys one coordinate after another.

Its neighbors after a step are searched among the training rows within a bound, the pool. The K-th
least distance among any subset of at least K rows is such a bound, and the rows that were in the
pool before the step give a close one.
"""

from __future__ import annotations

import cython

__all__ = ["kth_least"]

# A bound is drawn from at most this many times K rows.
SAMPLE = cython.declare(cython.Py_ssize_t, 16)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def approach(
    coordinates: cython.const[cython.float][:, ::1],
    feature: cython.Py_ssize_t,
    here: cython.float,
    mismatch: cython.float,
    distance: cython.float[::1],
    pool: cython.int[::1],
    pool_size: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    buffer: cython.float[::1],
) -> cython.Py_ssize_t:
    """Add a coordinate to the distances, and put the rows that can be near into the pool.

    Returns the new size of the pool. `here` is the coordinate of the example; `mismatch` is the
    squared distance of two unequal categories, 0 for a number.
    """
    fence = bound(coordinates, feature, here, mismatch, distance, pool, pool_size, k, buffer)
    move(coordinates, feature, here, mismatch, distance)
    return gather(distance, fence, pool)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def bound(
    coordinates: cython.const[cython.float][:, ::1],
    feature: cython.Py_ssize_t,
    here: cython.float,
    mismatch: cython.float,
    distance: cython.const[cython.float][::1],
    pool: cython.const[cython.int][::1],
    pool_size: cython.Py_ssize_t,
    k: cython.Py_ssize_t,
    buffer: cython.float[::1],
) -> cython.float:
    """A distance within which at least K rows lie after a coordinate is added."""
    size = min(pool_size, SAMPLE * k)
    # Half of the rows that were near stay within; the closest bound would leave too few of them
    # to bound the step after it.
    rank = max(k, size * size // (2 * pool_size))
    stride, remainder = pool_size // size, pool_size % size
    # Place i of the sample is i * pool_size // size in the pool, without a division for each.
    place: cython.Py_ssize_t = 0
    rest: cython.Py_ssize_t = 0
    for i in range(size):
        row = pool[place]
        buffer[i] = distance[row] + apart(coordinates[feature, row], here, mismatch)
        place += stride
        rest += remainder
        if rest >= size:
            rest -= size
            place += 1
    return kth(buffer, size, rank - 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def move(
    coordinates: cython.const[cython.float][:, ::1],
    feature: cython.Py_ssize_t,
    here: cython.float,
    mismatch: cython.float,
    distance: cython.float[::1],
) -> cython.void:
    """Add a coordinate to all distances."""
    row: cython.Py_ssize_t
    if mismatch > 0.0:
        for row in range(distance.shape[0]):
            distance[row] += apart(coordinates[feature, row], here, mismatch)
    else:
        for row in range(distance.shape[0]):
            gap = coordinates[feature, row] - here
            distance[row] += gap * gap


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def gather(
    distance: cython.const[cython.float][::1], fence: cython.float, pool: cython.int[::1]
) -> cython.Py_ssize_t:
    """Put the rows no farther than a fence into the pool, in increasing order; their number."""
    size: cython.Py_ssize_t = 0
    row: cython.Py_ssize_t
    for row in range(distance.shape[0]):
        # Written in any case and kept where the size grows: a branch would be hard to predict.
        pool[size] = row
        size += distance[row] <= fence
    return size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def apart(place: cython.float, here: cython.float, mismatch: cython.float) -> cython.float:
    """Squared distance along one coordinate; categories are equal, unequal or missing."""
    if mismatch > 0.0:
        if place == here:
            return 0.0
        return mismatch if place >= 0.0 else mismatch / 2.0
    gap = place - here
    return gap * gap


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def select(
    distance: cython.const[cython.float][::1],
    pool: cython.const[cython.int][::1],
    pool_size: cython.Py_ssize_t,
    buffer: cython.float[::1],
    k: cython.Py_ssize_t,
    near: cython.int[::1],
) -> cython.Py_ssize_t:
    """Put the rows no farther than the K-th into `near`, in increasing order; their number."""
    for place in range(pool_size):
        buffer[place] = distance[pool[place]]
    last = kth(buffer, pool_size, k - 1)
    found: cython.Py_ssize_t = 0
    for place in range(pool_size):
        near[found] = pool[place]
        found += distance[pool[place]] <= last
    return found


def kth_least(values: cython.float[::1], rank: cython.Py_ssize_t) -> cython.float:
    """Return the value of a rank, from 0; `values` is put in another order."""
    with cython.nogil:
        value = kth(values, values.shape[0], rank)
    return value


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def kth(
    values: cython.float[::1], size: cython.Py_ssize_t, rank: cython.Py_ssize_t
) -> cython.float:
    """The value of a rank, from 0, among the first `size`; they are put in another order."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = size - 1
    while low < high:
        pivot = middle(values[low], values[(low + high) >> 1], values[high])
        left: cython.Py_ssize_t = low
        right: cython.Py_ssize_t = high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                value = values[left]
                values[left] = values[right]
                values[right] = value
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    return values[rank]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def middle(a: cython.float, b: cython.float, c: cython.float) -> cython.float:
    """The median of three."""
    return max(min(a, b), min(max(a, b), c))
