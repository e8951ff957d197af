"""Branching: a split is found where it decides which features matter, and nowhere else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from thrifty.data import context_blocks, switched_logits
from thrifty.learn.ladder import branching
from thrifty.learn.ladder.branching import Split, find_split

N = 1500


def find(rows, bought=frozenset(), errors=3.0) -> Split | None:
    """Find a split with a fixed seed."""
    return find_split(rows, bought, errors, np.random.RandomState(0))


@pytest.fixture(scope="module")
def columns() -> np.ndarray:
    """Nine columns of noise."""
    return np.random.default_rng(0).normal(size=(N, 9))


@pytest.fixture(scope="module")
def switched(columns) -> np.ndarray:
    """Numbers that depend on columns 1 to 3 where column 0 is negative, else on 4 to 6."""
    return np.where(columns[:, 0] < 0, columns[:, 1:4].sum(axis=1), columns[:, 4:7].sum(axis=1))


# --- where there is something to find ----------------------------------------


@pytest.mark.parametrize("form", ["syn1", "syn2", "syn3"])
def test_the_feature_whose_sign_selects_the_others_is_found(read_rows, form) -> None:
    table = switched_logits(form, N, random_state=0)
    split = find(read_rows("classification", table.X, table.y))
    assert split is not None
    assert sorted(table.X.columns)[split.feature] == table.X.columns[10]
    assert split.threshold == pytest.approx(0.0, abs=0.2)


def test_a_context_that_tells_nothing_by_itself_is_found(read_rows) -> None:
    table = context_blocks(N, random_state=0)
    split = find(read_rows("classification", table.X, table.y))
    assert split is not None
    assert split.feature == 0
    assert split.threshold in (0.5, 1.5)


def test_a_second_split_divides_the_other_two_contexts(read_rows) -> None:
    table = context_blocks(2 * N, random_state=0)
    rows = read_rows("classification", table.X, table.y)
    first = find(rows)
    assert first is not None
    sides = rows.split(first.goes_left(rows.X), first.feature)
    larger = max(sides, key=len)
    # A feature that is split on is bought, and may be split on once more.
    second = find(larger, frozenset({0}), errors=2.0)
    assert second is not None
    assert second.feature == 0
    assert second.threshold != first.threshold


def test_numbers_are_branched_on_too(read_rows, columns, switched) -> None:
    split = find(read_rows("regression", columns, switched))
    assert split is not None
    assert split.feature == 0
    assert split.threshold == pytest.approx(0.0, abs=0.2)


def test_missing_values_of_the_context_do_not_hide_it(read_rows, columns, switched) -> None:
    X = columns.copy()
    X[::10, 0] = np.nan
    split = find(read_rows("regression", X, switched))
    assert split is not None
    assert split.feature == 0


def test_a_category_is_split_off_by_its_code(read_rows, columns) -> None:
    X = pd.DataFrame(columns, columns=[f"x{j}" for j in range(9)])
    X["kind"] = np.random.default_rng(1).choice(["a", "b", "c"], N)
    chosen = X["kind"] == "b"
    y = np.where(chosen, columns[:, 1:4].sum(axis=1), columns[:, 4:7].sum(axis=1))
    rows = read_rows("regression", X, y)
    split = find(rows)
    assert split is not None
    assert sorted(X.columns)[split.feature] == "kind"
    assert split.threshold is None
    assert np.array_equal(split.goes_left(rows.X), chosen)


# --- where there is nothing --------------------------------------------------


def test_noise_has_no_split(read_rows, columns) -> None:
    random = np.random.default_rng(2)
    assert find(read_rows("classification", columns, random.integers(3, size=N))) is None
    assert find(read_rows("regression", columns, random.normal(size=N))) is None


def test_features_that_matter_for_all_rows_lead_to_no_split(read_rows, columns) -> None:
    assert find(read_rows("classification", columns, columns[:, :4].sum(axis=1) > 0)) is None


def test_small_models_read_what_is_bought(read_rows, columns, switched) -> None:
    # With the context and the first block bought, four more features are all that matters.
    assert find(read_rows("regression", columns, switched), frozenset(range(4))) is None


def test_few_rows_or_few_columns_lead_to_no_split(read_rows, columns, switched) -> None:
    few = 2 * branching.FEWEST_ROWS
    assert find(read_rows("regression", columns[:few], switched[:few])) is None
    least = branching.FEATURES + 1
    assert find(read_rows("regression", columns[:, :least], switched)) is None


def test_a_gain_within_the_noise_is_not_enough(read_rows, columns, switched) -> None:
    assert find(read_rows("regression", columns, switched), errors=100.0) is None


# --- splits ------------------------------------------------------------------


def test_missing_values_go_right() -> None:
    X = np.array([[-1.0], [0.5], [2.0], [np.nan]])
    assert Split(0, 0.5, -1).goes_left(X).tolist() == [True, True, False, False]
    assert Split(0, None, 2).goes_left(X).tolist() == [False, False, True, False]


def test_the_same_seed_finds_the_same_split(read_rows, columns, switched) -> None:
    rows = read_rows("regression", columns, switched)
    assert find(rows) == find(rows)
