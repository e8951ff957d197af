"""The checks of entries and arrays that the models share."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.model.encoding import Encoding
from thrifty.model.file_checks import (
    MAX_COUNT,
    MAX_OUTPUTS,
    count_problems,
    encoding_arrays,
    encoding_problems,
    entry_problems,
    finite_problems,
    layout_problems,
    magnitude_problems,
    output_problems,
    prior_problems,
    sealed_encoding,
    shape_problems,
)


def test_entries_must_be_exactly_those_expected() -> None:
    assert list(entry_problems({"k": 1, "link": "sum"}, ("link", "k"))) == []
    assert list(entry_problems({"k": 1}, ("k", "link"))) == [
        "expected the entries ['k', 'link'], got ['k']"
    ]


@pytest.mark.parametrize("value", [0, -1, True, 2.0, "3", None, MAX_COUNT + 1])
def test_a_count_is_a_whole_number_in_its_range(value) -> None:
    assert list(count_problems({"n_features": 3}, {"n_features": 1})) == []
    (problem,) = count_problems({"n_features": value}, {"n_features": 1})
    assert problem.startswith(f"n_features is {value!r}")


def test_arrays_must_have_the_expected_names_types_and_dimensions() -> None:
    layout = {"order": ("<i8", 1), "rows": ("<f8", 2)}
    arrays = {"order": np.arange(3), "rows": np.zeros((3, 2))}
    assert list(layout_problems(arrays, layout)) == []
    assert list(layout_problems({**arrays, "more": np.zeros(1)}, layout)) == [
        "expected the arrays ['order', 'rows'], got ['more', 'order', 'rows']"
    ]
    damaged = {"order": np.arange(3.0), "rows": np.zeros(3)}
    assert list(layout_problems(damaged, layout)) == [
        "order must be 1-d of int64", "rows must be 2-d of float64",
    ]  # fmt: skip


def test_all_arrays_of_the_wrong_shape_or_size_are_reported() -> None:
    arrays = {"a": np.array([1.0, np.nan]), "b": np.array([-1e9])}
    assert list(shape_problems(arrays, {"a": (2,), "b": (2,)})) == [
        "b has shape (1,), expected (2,)"
    ]
    assert list(finite_problems(arrays, arrays)) == ["a must be finite"]
    assert list(magnitude_problems(arrays, arrays, 1e6)) == ["b must be at most 1e+06"]


def test_an_encoding_is_rebuilt_read_only_from_its_arrays() -> None:
    encoding = Encoding(np.array([1]), np.array([-1]), np.zeros(1), np.ones(1), np.zeros(1))
    again = sealed_encoding({**encoding_arrays(encoding), "other": np.zeros(1)})
    assert again.apply(np.array([[5.0, 7.0]])).tolist() == [[7.0]]
    with pytest.raises(ValueError, match="read-only"):
        again.scales[0] = 2.0


def test_an_encoding_must_fit_the_table() -> None:
    arrays = {
        "columns": np.array([0, 3]), "codes": np.array([-1, -2]), "scales": np.array([1.0, 0.0]),
        "centers": np.array([0.0, -1e200]), "fills": np.array([1e31, 0.0]),
    }  # fmt: skip
    assert list(encoding_problems(arrays, 3)) == [
        "an encoded column reads beyond the 3 columns of the table",
        "an encoded column stands for a category that does not exist",
        "scales must be positive",
        "centers must be at most 1e+100",
        "fills must be at most 1e+30",
    ]


@pytest.mark.parametrize(
    ("prior", "n_scores", "message"),
    [
        ([0.5, 0.5, 0.0], 2, "2 finite numbers"),
        ([np.nan], 1, "1 finite numbers"),
        ([0.4, 0.4], 2, "a sum of 1"),
        ([-1.0, 2.0], 2, "not negative"),
    ],
)
def test_a_prior_is_scores_of_the_model(prior, n_scores, message) -> None:
    (problem,) = prior_problems(np.array(prior), n_scores)
    assert message in problem


def test_a_value_of_any_size_and_probabilities_are_priors() -> None:
    assert not [*prior_problems(np.array([-40.0]), 1)]
    assert not [*prior_problems(np.array([0.0, 0.25, 0.75]), 3)]


def test_a_model_has_at_most_so_many_outputs() -> None:
    assert list(output_problems(MAX_OUTPUTS)) == []
    assert list(output_problems(MAX_OUTPUTS + 1)) == [
        "there are 16385 outputs, at most 16384 are possible"
    ]
