"""The objective of soft trees against that of the thesis, written out row by row."""

from __future__ import annotations

import numpy as np
import pytest
from soft_tree_cases import LOSSES, SHAPES, plain_objective, random_objective, random_tree


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_the_thesis(kind, loss) -> None:
    rng = np.random.default_rng(0)
    shape, at_exit = SHAPES[kind]
    on = random_objective(rng, LOSSES[loss], at_exit, n=12)
    tree = random_tree(rng, shape)
    np.testing.assert_allclose(on.value(tree), plain_objective(on, tree), rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_derivatives_equal_finite_differences(loss) -> None:
    rng = np.random.default_rng(1)
    f, y, step = rng.normal(size=20), np.where(rng.random(20) < 0.5, 1.0, -1.0), 1e-6
    value, derivatives = LOSSES[loss].value, LOSSES[loss].derivatives
    first, second = derivatives(f, y)
    difference = (value(f + step, y) - value(f - step, y)) / (2.0 * step)
    np.testing.assert_allclose(first, difference, atol=1e-8)
    difference = (derivatives(f + step, y)[0] - derivatives(f - step, y)[0]) / (2.0 * step)
    np.testing.assert_allclose(second, difference, atol=1e-8)
    assert second.max() <= LOSSES[loss].curvature


def test_the_parts_of_the_rows_add_up() -> None:
    rng = np.random.default_rng(2)
    on, tree = random_objective(rng, LOSSES["logistic"]), random_tree(rng, SHAPES["tree"][0])
    parts = [on.take(np.arange(10)), on.take(np.arange(10, 30)), on.take(np.arange(0))]
    norm = parts[2].value(tree)  # no rows: neither loss nor cost
    value = parts[0].value(tree) + parts[1].value(tree) - norm
    np.testing.assert_allclose(value, on.value(tree))
