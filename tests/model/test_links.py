"""Links make scores of outputs; activations make factors of gate values."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.model.links import ACTIVATIONS, LINKS, apply_link, apply_temperature, sigmoid


@pytest.mark.parametrize("link", ["sigmoid", "softmax"])
def test_large_outputs_do_not_overflow(link):
    raw = np.array([[-1e4], [0.0], [1e4]]) if link == "sigmoid" else np.diag([1e4, -1e4, 0.0])
    scores = apply_link(link, raw)
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)


def test_the_hinge_link_is_uniform_when_every_class_is_rejected():
    np.testing.assert_allclose(apply_link("hinge", np.full((1, 4), -3.0)), 0.25)
    two = apply_link("hinge", np.array([[0.5], [-7.0]]))
    np.testing.assert_allclose(two, [[0.25, 0.75], [1.0, 0.0]])


def test_the_sum_is_the_output_itself_but_not_its_memory():
    raw = np.array([[1.5], [-2.0]])
    scores = apply_link("sum", raw)
    scores[0] = 9.0
    assert raw.tolist() == [[1.5], [-2.0]]


@pytest.mark.parametrize("link", ["mean", "vote"])
def test_averages_are_scores_already(link):
    raw = np.array([[0.25, 0.75]])
    np.testing.assert_array_equal(apply_link(link, raw), raw)


def test_an_unknown_link_is_refused():
    with pytest.raises(ValueError, match=f"unknown link 'cubic'; the links are {', '.join(LINKS)}"):
        apply_link("cubic", np.zeros((1, 1)))


def test_the_sigmoid_link_is_the_sigmoid_of_the_output_and_its_complement():
    raw = np.linspace(-40.0, 40.0, 81)[:, np.newaxis]
    np.testing.assert_array_equal(apply_link("sigmoid", raw)[:, 1], sigmoid(raw[:, 0]))
    np.testing.assert_allclose(sigmoid(raw), 1.0 / (1.0 + np.exp(-raw)), rtol=1e-14)


def test_activations_of_open_gates():
    values = np.array([0.0, 2.0])
    assert ACTIVATIONS["step"](values).tolist() == [1.0, 1.0]
    assert ACTIVATIONS["relu"](values).tolist() == [0.0, 2.0]
    np.testing.assert_array_equal(ACTIVATIONS["sigmoid"](values), sigmoid(values))


def test_a_temperature_leaves_the_order_of_the_classes_and_1_leaves_everything():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    assert apply_temperature(probabilities, 1.0) is probabilities
    for factor in (0.2, 3.0):
        tempered = apply_temperature(probabilities, factor)
        np.testing.assert_allclose(tempered.sum(axis=1), 1.0)
        np.testing.assert_array_equal(tempered.argsort(axis=1), probabilities.argsort(axis=1))


def test_a_probability_of_0_has_a_temperature_too():
    tempered = apply_temperature(np.array([[0.0, 1.0]]), 0.5)
    np.testing.assert_allclose(tempered, [[0.001 / 1.001, 1 / 1.001]])
