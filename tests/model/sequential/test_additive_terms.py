"""Additive terms: steps, slopes, missing values, and what is no classifier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty.model.sequential import AdditiveTerms


def two_features():
    """Steps at 0 and 1 and a slope of 2 around 1 in the first feature; a constant second one."""
    return AdditiveTerms(
        offset=np.array([0.5]), center=np.array([1.0, 0.0]), slope=np.array([[2.0], [0.0]]),
        starts=np.array([0, 2, 2]), edges=np.array([0.0, 1.0]),
        steps=np.array([[10.0], [20.0], [30.0], [7.0]]), absent=np.array([[-1.0], [-2.0]]),
    )  # fmt: skip


def test_a_term_is_its_step_plus_its_slope_and_an_edge_belongs_to_the_step_below():
    values = np.array([-1.0, 0.0, 0.5, 1.0, 3.0])
    terms = two_features().evaluate_column(0, values)[:, 0]
    assert terms.tolist() == [10.0 - 4.0, 10.0 - 2.0, 20.0 - 1.0, 20.0, 30.0 + 4.0]


def test_a_missing_value_has_a_term_of_its_own():
    terms = two_features().evaluate(np.array([[np.nan, np.nan], [1.0, 5.0]]))
    assert terms[:, :, 0].tolist() == [[-1.0, -2.0], [20.0, 7.0]]


def test_terms_of_far_values_are_finite():
    assert np.isfinite(two_features().evaluate(np.array([[1e308, -1e308]]))).all()


def test_two_classes_have_one_score():
    assert (two_features().n_classes, two_features().n_features) == (2, 2)
    assert AdditiveTerms.linear(np.zeros((4, 3)), np.zeros(3), np.zeros(4)).n_classes == 3


def test_sound_terms_have_no_problems():
    assert list(two_features().problems()) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": np.array([1.0, 0.0])}, "edges of a feature must increase"),
        ({"starts": np.array([0, 1, 0])}, "starts must increase"),
        ({"steps": np.zeros((3, 1))}, "steps has shape"),
        ({"slope": np.full((2, 1), np.nan)}, "slope must be finite"),
        (
            {name: np.zeros((rows, 2)) for name, rows in (("slope", 2), ("steps", 4))},
            "two classes have one score",
        ),
    ],
)
def test_arrays_that_are_no_classifier_are_reported(changes, message):
    problems = list(replace(two_features(), **changes).problems())
    assert any(message in problem for problem in problems)
