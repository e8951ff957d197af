"""The split of the rows, and a representation that grows and is undone."""

from __future__ import annotations

import numpy as np
from anytime_cases import split_rows, start_representation


def test_the_parts_of_a_split_are_half_four_tenths_and_one_tenth():
    split = split_rows(400)
    sizes = [len(split.rows.X[part]) for part in (split.training, split.validation, split.stopping)]
    assert sizes == [200, 160, 40]
    assert len(split.rows.X[split.growing]) == 360
    for part in (split.training, split.validation, split.stopping):
        assert np.mean(split.rows.y[part]) == 0.5


def test_a_row_of_weight_two_is_split_as_two_rows():
    twice = split_rows(200, sample_weight=np.full(200, 2.0))
    once = split_rows(200)
    np.testing.assert_array_equal(twice.rows.X, once.rows.X)
    assert (twice.training, twice.validation) == (once.training, once.validation)


def test_each_tree_of_greedymiser_starts_a_dimension():
    representation = start_representation()
    losses = [representation.loss]
    for number, _ in enumerate(representation.add_dimensions(4), start=1):
        assert representation.trees.count == number
        assert representation.n_dimensions == 1 + number
        losses.append(representation.loss)
    # The dimensions up to the smallest loss are kept.
    assert representation.loss == min(losses)
    assert representation.n_dimensions == 1 + int(np.argmin(losses))
    assert representation.trees.count == representation.n_dimensions - 1


def test_the_representation_is_the_output_of_the_trees():
    representation = start_representation()
    for _ in representation.add_dimensions(3):
        pass
    for _ in representation.refine(1, 3):
        pass
    forest = representation.trees.freeze(representation.n_dimensions)
    outputs = forest.raw(representation.split.rows.X).T
    np.testing.assert_allclose(representation.phi[1:], outputs[1:], atol=1e-12)
    assert (representation.phi[0] == 1.0).all()


def test_refining_stops_at_the_first_tree_that_does_not_reduce_the_loss():
    representation = start_representation()
    for _ in representation.add_dimensions(2):
        pass
    loss, kept = representation.loss, 0
    for _ in representation.refine(1, 50):
        assert representation.loss < loss
        loss, kept = representation.loss, kept + 1
    assert representation.loss == loss
    assert representation.trees.count == representation.n_dimensions - 1 + kept


def test_nothing_is_added_where_nothing_is_worth_its_price():
    representation = start_representation(penalty=1e9)
    before = representation.loss
    dimensions = [*representation.add_dimensions(3)]
    # Only the fourth feature, which is free, can be read.
    assert not representation.trees.purchases.features[[0, 1, 2, 4, 5]].any()
    assert len(dimensions) <= 3 and representation.loss <= before
