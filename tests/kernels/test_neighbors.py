"""Rows buy the features, and count the neighbors, that a plain search finds."""

from __future__ import annotations

import numpy as np
import pytest
from uncompiled import agree

from thrifty.kernels import neighbors


def margins(scores, labels):
    """Return whether the class of each row leads all others."""
    if scores.shape[-1] == 1:
        return np.where(labels == 1, scores[..., 0] > 0, scores[..., 0] < 0)
    own = np.take_along_axis(scores, labels[..., np.newaxis], axis=-1)
    return (scores < own).sum(axis=-1) == scores.shape[-1] - 1


class Problem:
    """Training rows, the terms of an additive classifier, and prices; all random."""

    def __init__(self, seed, classes, adaptive):
        rng = np.random.default_rng(seed)
        self.n, self.d, self.k, self.adaptive = 60, 5, 7, adaptive
        outputs = 1 if classes == 2 else classes
        # A coarse grid, so that many distances are equal; feature 0 holds categories.
        self.coordinates = rng.integers(0, 4, (self.d, self.n)).astype(np.float32)
        self.mismatch = np.array([2.0, 0, 0, 0, 0], dtype=np.float32)
        self.coordinates[0, :5] = -1.0  # missing categories
        self.terms = rng.normal(size=(self.n, self.d, outputs))
        self.labels = rng.integers(0, classes, self.n)
        self.offset = rng.normal(size=outputs)
        self.price = rng.uniform(0, 0.3, self.d)
        self.group, self.group_price = np.array([-1, 0, 0, -1, -1]), np.array([0.2])
        self.order = rng.permutation(self.d)
        self.Q = rng.integers(0, 4, (9, self.d)).astype(np.float32)
        self.Q[rng.random(self.Q.shape) < 0.2] = np.nan
        self.query = rng.normal(size=(9, self.d, outputs))

    def follow(self, threshold, module=neighbors):
        shape = (9, self.d)
        bought = np.full(shape, -1, dtype=np.int64)
        hits, sizes, winner = np.zeros((3, *shape), dtype=np.int64)
        steps = np.zeros(9, dtype=np.int64)
        terms, query = self.terms.reshape(self.n, -1), self.query.reshape(9, -1)
        module.follow_rows(
            module.TrainingRows(self.coordinates, self.mismatch, terms, self.offset, self.labels),
            module.Rule(
                self.order, self.price, self.group, self.group_price, self.adaptive, self.k,
                threshold,
            ),
            module.Examples(self.Q, query),
            module.Steps(bought, hits, sizes, winner, steps),
        )  # fmt: skip
        return bought, hits, sizes, winner, steps

    def plain(self, row, threshold):
        """Yield feature, hits, number of near rows and class after each purchase."""
        distance = np.zeros(self.n, dtype=np.float32)
        bought, near, scores = [], np.arange(self.n), self.offset.copy()
        while len(bought) < self.d:
            feature = self.choose(bought, near) if bought and self.adaptive else None
            feature = int(self.order[len(bought)]) if feature is None else feature
            bought.append(feature)
            value, there = self.Q[row, feature], self.coordinates[feature]
            if not np.isnan(value):
                apart = (there - value) ** 2
                if self.mismatch[feature] > 0:
                    unequal = np.where(there >= 0, 1.0, 0.5) * self.mismatch[feature]
                    apart = np.where(there == value, 0.0, unequal)
                distance += apart.astype(np.float32)
            near = np.flatnonzero(distance <= np.sort(distance)[self.k - 1])
            scores = scores + self.query[row, feature]
            right = margins(self.scores(near, bought), self.labels[near])
            best = int(scores[0] > 0) if len(scores) == 1 else int(scores.argmax())
            yield feature, int(right.sum()), len(near), best
            if right.mean() > threshold:
                return

    def scores(self, near, bought):
        return self.offset + self.terms[near][:, bought].sum(axis=1)

    def choose(self, bought, near):
        """Return the feature with the largest estimate less its price."""
        values = {}
        for feature in self.order.tolist():
            if feature not in bought:
                opened = self.group[feature] in self.group[bought]
                entry = 0.0 if self.group[feature] < 0 or opened else self.group_price[0]
                ahead = margins(self.scores(near, [*bought, feature]), self.labels[near])
                values[feature] = ahead.mean() - self.price[feature] - entry
        return max(values, key=values.get)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("threshold", [0.6, 1.0])
def test_every_step_is_that_of_a_plain_search(classes, adaptive, threshold):
    for seed in range(5):
        problem = Problem(seed, classes, adaptive)
        bought, hits, sizes, winner, steps = problem.follow(threshold)
        for row in range(9):
            due = list(problem.plain(row, threshold))
            assert steps[row] == len(due)
            found = zip(bought[row], hits[row], sizes[row], winner[row], strict=True)
            assert list(found)[: len(due)] == due


def test_ties_at_the_last_distance_are_all_near():
    problem = Problem(0, 2, adaptive=False)
    _, _, sizes, _, _ = problem.follow(1.0)
    assert (sizes >= problem.k).all() and (sizes > problem.k).any()


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_steps_are_the_same_compiled_and_uncompiled(classes, adaptive):
    problem = Problem(0, classes, adaptive)
    for threshold in (0.6, 1.0):
        agree("neighbors", lambda module, most=threshold: problem.follow(most, module))


def test_bounds_from_samples_are_the_same_compiled_and_uncompiled():
    # So few near rows that bounds come from a sample of the pool, at places that are not whole.
    problem = Problem(1, 2, adaptive=True)
    problem.k = 1
    agree("neighbors", lambda module: problem.follow(1.0, module))
