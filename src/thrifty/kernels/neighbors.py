"""Buy features row by row, each chosen by the nearest training rows (Nan 2018, ch. 2).

A row keeps its distances to all training rows and adds one coordinate at a time. Its neighbors
after a step are searched among the training rows within a bound. The K-th least distance among
any subset of at least K rows is such a bound, and the rows that were near before the step give a
close one. Ties at the K-th distance all count as neighbors, and counts are integers: nothing
depends on the order of the training rows or on how the work is divided.
"""

from __future__ import annotations

import numpy as np

from thrifty.kernels.jit import jit

__all__ = ["follow_rows"]

# A bound is drawn from at most this many times K rows.
SAMPLE = 16


@jit
def follow_rows(
    places, mismatch, terms, labels, offset, toll, group, entry, order, rule, Q, query, trail,
    hits, sizes, winner, steps,
):  # fmt: skip
    """Fill `trail` (features bought), `hits` of `sizes` near rows and `winner` after each.

    `rule` holds K, whether the order is the same for all rows, and the threshold.
    """
    n, d = places.shape[1], places.shape[0]
    least = np.intp(rule[0])
    distance = np.empty(n, dtype=np.float32)
    buffer = np.empty(n, dtype=np.float32)
    pool, near = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    sums = np.empty((n, len(offset)))
    counts, closed = np.empty(d, dtype=np.int64), np.empty(d, dtype=np.bool_)
    own = np.empty(len(offset))
    for row in range(len(Q)):
        distance[:], own[:], pool[:] = 0.0, offset, np.arange(n)
        closed[:] = False
        size, found = n, n
        for step in range(len(order)):
            feature = order[step]
            if step > 0 and rule[1] == 0.0:
                count_ahead(terms, labels, near[:found], sums, closed, counts)
                feature = choose(
                    counts, found, closed, toll, group, entry, order, trail[row, :step]
                )
            bought = trail[row, : step + 1]
            bought[step], closed[feature] = feature, True
            here = Q[row, feature]
            if not np.isnan(here):
                fence = bound(places[feature], mismatch[feature], here, distance, pool[:size],
                              buffer, least)  # fmt: skip
                move(places[feature], mismatch[feature], here, distance)
                size = gather(distance, fence, pool)
            found = select(distance, pool[:size], buffer, least, near)
            for k in range(len(own)):
                own[k] += query[row, feature, k]
            add_up(terms, offset, bought, near[:found], sums)
            hits[row, step] = count_right(labels, near[:found], sums)
            sizes[row, step], winner[row, step], steps[row] = found, best(own), step + 1
            if hits[row, step] / found > rule[2]:
                break


@jit
def bound(places, mismatch, here, distance, pool, buffer, least):
    """A distance within which at least K rows lie after a coordinate is added."""
    size = min(len(pool), SAMPLE * least)
    # Half of the rows that were near stay within; the closest bound would leave too few of them
    # to bound the step after it.
    rank = max(least, size * size // (2 * len(pool)))
    for k in range(size):
        row = pool[k * len(pool) // size]
        buffer[k] = distance[row] + apart(places[row], here, mismatch)
    return kth(buffer, size, rank - 1)


@jit
def move(places, mismatch, here, distance):
    """Add a coordinate to all distances."""
    if mismatch > 0.0:
        for k in range(len(distance)):
            distance[k] += apart(places[k], here, mismatch)
    else:
        for k in range(len(distance)):
            gap = places[k] - here
            distance[k] += gap * gap


@jit
def gather(distance, fence, pool):
    """Rows no farther than a fence, in increasing order."""
    size = 0
    for k in range(len(distance)):
        if distance[k] <= fence:
            pool[size] = k
            size += 1
    return size


@jit
def apart(place, here, mismatch):
    """Squared distance along one coordinate; categories are equal, unequal or missing."""
    if mismatch > 0.0:
        if place == here:
            return np.float32(0.0)
        return mismatch if place >= 0.0 else mismatch / np.float32(2.0)
    gap = place - here
    return gap * gap


@jit
def select(distance, pool, buffer, least, near):
    """The rows no farther than the K-th, in increasing order."""
    for k in range(len(pool)):
        buffer[k] = distance[pool[k]]
    last = kth(buffer, len(pool), least - 1)
    found = 0
    for row in pool:
        near[found] = row
        found += distance[row] <= last
    return found


@jit
def kth(values, size, rank):
    """The value of a rank, from 0; `values` is put in another order."""
    low, high = 0, size - 1
    while low < high:
        pivot = middle(values[low], values[(low + high) >> 1], values[high])
        left, right = low, high
        while left <= right:
            while values[left] < pivot:
                left += 1
            while values[right] > pivot:
                right -= 1
            if left <= right:
                values[left], values[right] = values[right], values[left]
                left += 1
                right -= 1
        if rank <= right:
            high = right
        elif rank >= left:
            low = left
        else:
            break
    return values[rank]


@jit
def middle(a, b, c):
    """The median of three."""
    return max(min(a, b), min(max(a, b), c))


@jit
def add_up(terms, offset, bought, near, sums):
    """Scores of the near rows on what is bought, added in the order of purchase."""
    for place in range(len(near)):
        for k in range(len(offset)):
            total = offset[k]
            for feature in bought:
                total += terms[near[place], feature, k]
            sums[place, k] = total


@jit
def best(scores):
    """The class that scores speak for."""
    if len(scores) == 1:
        return 1 if scores[0] > 0.0 else 0
    return np.argmax(scores)


@jit
def count_right(labels, near, sums):
    """How many near rows have a positive margin."""
    right = 0
    for place in range(len(near)):
        label = labels[near[place]]
        if sums.shape[1] == 1:
            right += sums[place, 0] > 0.0 if label == 1 else sums[place, 0] < 0.0
        else:
            right += leads(sums, place, label)
    return right


@jit
def leads(sums, place, label):
    """Whether a class has more than every other."""
    for k in range(sums.shape[1]):
        if k != label and sums[place, k] >= sums[place, label]:
            return False
    return True


@jit
def count_ahead(terms, labels, near, sums, closed, counts):
    """How many near rows would have a positive margin with each open feature added."""
    counts[:] = 0
    single = sums.shape[1] == 1
    for place in range(len(near)):
        row, label = near[place], labels[near[place]]
        if single:
            sign = 1.0 if label == 1 else -1.0
            for j in range(len(counts)):
                counts[j] += (sums[place, 0] + terms[row, j, 0]) * sign > 0.0
        else:
            for j in range(len(counts)):
                if not closed[j]:
                    counts[j] += leads_with(sums, place, terms, row, j, label)


@jit
def leads_with(sums, place, terms, row, feature, label):
    """Whether a class has more than every other after a term is added."""
    # By index: taking rows out of the arrays would cost more than the comparisons.
    own = sums[place, label] + terms[row, feature, label]
    for k in range(sums.shape[1]):
        if k != label and sums[place, k] + terms[row, feature, k] >= own:
            return False
    return True


@jit
def choose(counts, found, closed, toll, group, entry, order, bought):
    """The open feature with the largest estimate less its toll; ties go to the first in order."""
    chosen, largest = -1, -np.inf
    for feature in order:
        if closed[feature]:
            continue
        value = counts[feature] / found - charge(feature, toll, group, entry, bought)
        if value > largest:
            chosen, largest = feature, value
    return chosen


@jit
def charge(feature, toll, group, entry, bought):
    """What a feature loses now: its toll, and the entry to a group that is not open yet."""
    if group[feature] < 0:
        return toll[feature]
    for other in bought:
        if group[other] == group[feature]:
            return toll[feature]
    return toll[feature] + entry[group[feature]]
