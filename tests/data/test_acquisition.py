"""Tasks of feature acquisition: what a row should read depends on what it has read."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.data import context_blocks, cube, switched_logits
from thrifty.errors import DataError

N = 4000


def numbers(table) -> np.ndarray:
    """The features of a table as an array (n, d)."""
    return table.X.to_numpy()


# --- cube --------------------------------------------------------------------


def test_the_classes_of_the_cube_are_equally_frequent() -> None:
    counts = np.bincount(cube(N, random_state=0).y, minlength=8)
    assert len(counts) == 8
    assert np.abs(counts / N - 1 / 8).max() < 0.02


@pytest.mark.parametrize("label", range(8))
def test_three_features_of_the_cube_hold_the_bits_of_the_class(label: int) -> None:
    table = cube(N, random_state=0)
    mean = numbers(table)[table.y == label].mean(axis=0)
    expected = np.full(20, 0.5)
    expected[label : label + 3] = [label & 1, label >> 1 & 1, label >> 2 & 1]
    np.testing.assert_allclose(mean, expected, atol=0.06)


def test_the_noise_of_the_cube_is_the_same_everywhere() -> None:
    table = cube(N, random_state=0)
    for label in range(8):
        spread = numbers(table)[table.y == label].std(axis=0)
        np.testing.assert_allclose(spread, 0.3, atol=0.04)


# --- switched logits ---------------------------------------------------------

FIRST, SECOND, THIRD = (0, 1), (2, 3, 4, 5), (6, 7, 8, 9)


def log_odds(table, block: tuple[int, ...]) -> np.ndarray:
    """The log-odds of class 1 that a block of features stands for, by its formula."""
    x = numbers(table)
    if block == FIRST:
        against = 4 * x[:, 0] * x[:, 1]
    elif block == SECOND:
        against = 1.2 * np.sum(x[:, 2:6] ** 2, axis=1) - 4.2
    else:
        against = -10 * np.sin(0.2 * x[:, 6]) + np.abs(x[:, 7]) + x[:, 8] + np.exp(-x[:, 9]) - 2.4
    return -against


@pytest.mark.parametrize(
    ("form", "below", "above"),
    [("syn1", FIRST, SECOND), ("syn2", FIRST, THIRD), ("syn3", SECOND, THIRD)],
)
def test_the_sign_of_the_last_feature_selects_the_block(form, below, above) -> None:
    table = switched_logits(form, N, random_state=0)
    negative = numbers(table)[:, 10] < 0
    for side, block, other in ((negative, below, above), (~negative, above, below)):
        # Class 1 is right as often as its probability says, for the block of the side only.
        chance = 1 / (1 + np.exp(-log_odds(table, block)))[side]
        assert np.mean(chance - table.y[side]) == pytest.approx(0.0, abs=0.03)
        brier = np.mean((chance - table.y[side]) ** 2)
        wrong = 1 / (1 + np.exp(-log_odds(table, other)))[side]
        assert brier < np.mean((wrong - table.y[side]) ** 2) - 0.1


def test_an_unknown_form_is_an_error() -> None:
    with pytest.raises(DataError, match="form is 'syn4'; pass syn1, syn2 or syn3"):
        switched_logits("syn4", 100)


# --- context blocks ----------------------------------------------------------


def test_the_context_says_nothing_about_the_class() -> None:
    table = context_blocks(N, random_state=0)
    context = numbers(table)[:, 0]
    assert set(context) == {0.0, 1.0, 2.0}
    for value in range(3):
        shares = np.bincount(table.y[context == value], minlength=4) / np.sum(context == value)
        assert np.abs(shares - 0.25).max() < 0.05


def test_only_the_block_of_the_context_depends_on_the_class() -> None:
    table = context_blocks(N, random_state=0)
    X, context = numbers(table), numbers(table)[:, 0]
    for value in range(3):
        for label in range(4):
            mean = X[(context == value) & (table.y == label), 1:].mean(axis=0)
            expected = np.zeros(18)
            low, high = 2 * (label & 1) - 1, 2 * (label >> 1) - 1
            expected[6 * value : 6 * value + 6] = 1.1 * np.array([low, high] * 3)
            np.testing.assert_allclose(mean, expected, atol=0.25)


# --- all ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [cube, switched_logits, context_blocks])
def test_a_seed_decides_the_table_and_all_features_cost_one_unit(make) -> None:
    first, again, other = (make(n=50, random_state=seed) for seed in (0, 0, 1))
    assert first.X.equals(again.X) and np.array_equal(first.y, again.y)
    assert not first.X.equals(other.X)
    d = first.X.shape[1]
    assert first.prices.bind(list(first.X.columns)).full == d


@pytest.mark.parametrize("make", [cube, switched_logits, context_blocks])
def test_a_table_without_rows_is_an_error(make) -> None:
    with pytest.raises(DataError):
        make(n=0)
