"""Sample weights: what is refused, and what is too small to count."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import DataError
from thrifty.learn.weights import comparable_weights, read_weights

X = np.zeros((3, 1))


def test_no_weights_are_no_weights() -> None:
    assert read_weights(None, X) is None


@pytest.mark.parametrize("weight", [[1.0, 1e101, 1.0], [1e-101] * 3, [0.0, 1e-320, 0.0]])
def test_weights_beyond_the_range_are_refused_with_the_remedy(weight) -> None:
    with pytest.raises(DataError, match="sample_weight: .* in row .* divide all weights by it"):
        read_weights(weight, X)


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(DataError, match="sample_weight: give a number for each row"):
        read_weights([1.0, 2.0, {}], X)
    with pytest.raises(ValueError, match="NaN"):
        read_weights([1.0, np.nan, 1.0], X)


def test_negligible_weights_become_0() -> None:
    assert comparable_weights("w", np.array([1.0, 1e-31, 1e-29])).tolist() == [1.0, 0.0, 1e-29]
