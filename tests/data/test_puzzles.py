"""Synthetic data sets with a known optimum have the properties that the papers state."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.svm import SVC

from thrifty.data import binary_points, noisy_xor, quadrants
from thrifty.errors import DataError

XOR_PRICES = [1, 1, 1, 2, 5, 15, 25, 70, 100, 1000]


def errors_left(X: pd.DataFrame, y: np.ndarray, features: list[str]) -> int:
    """Errors of the best predictor that sees only `features`: all but the majority of each cell."""
    sizes = pd.crosstab([X[name] for name in features], y).to_numpy()
    return int(sizes.sum() - sizes.max(axis=1).sum())


def test_binary_points_are_all_different() -> None:
    table = binary_points()
    assert len(table.X.drop_duplicates()) == 1024
    assert set(np.unique(table.X.to_numpy())) == {0, 1}


def test_binary_points_have_the_labels_of_the_paper() -> None:
    table = binary_points()
    number = table.X.to_numpy() @ (2 ** np.arange(9, -1, -1))
    label = dict(zip(number.tolist(), table.y.tolist(), strict=True))
    for start, inner, exception in [(0, 1, 2), (256, 2, 3), (512, 3, 4), (768, 4, 1)]:
        assert label[start] == exception
        assert {label[i] for i in range(start + 1, start + 256)} == {inner}


def test_only_the_first_two_binary_features_leave_four_errors() -> None:
    table = binary_points()
    left = {
        pair: errors_left(table.X, table.y, list(pair)) for pair in combinations(table.X.columns, 2)
    }
    assert left.pop(("t_1", "t_2")) == 4
    assert min(left.values()) > 4


def test_no_nine_binary_features_are_without_error() -> None:
    table = binary_points()
    assert errors_left(table.X, table.y, list(table.X.columns)) == 0
    for nine in combinations(table.X.columns, 9):
        assert errors_left(table.X, table.y, list(nine)) > 0


def test_an_exception_differs_from_each_of_its_ten_neighbors() -> None:
    """So every tree without error asks all ten features of it: depth 10."""
    table = binary_points()
    for number in (0, 256, 512, 768):
        assert all(table.y[number] != table.y[number ^ (1 << digit)] for digit in range(10))


def test_a_seed_only_shuffles_the_binary_points() -> None:
    ordered, shuffled = binary_points(16), binary_points(16, random_state=3)
    number = shuffled.X.to_numpy() @ (2 ** np.arange(3, -1, -1))
    assert sorted(number) == list(range(16))
    assert not np.array_equal(number, np.arange(16))
    assert np.array_equal(shuffled.y, ordered.y[number])


@pytest.mark.parametrize("n", [0, 4, 1000, -8])
def test_binary_points_come_in_powers_of_two(n: int) -> None:
    with pytest.raises(DataError, match="power of two"):
        binary_points(n)


def test_quadrants_are_answered_without_error_for_exactly_twelve() -> None:
    table = quadrants(random_state=0)
    X = table.X
    letter = {1: "p", -1: "m"}
    own = [f"z_{letter[x]}{letter[z]}" for x, z in zip(X["sign_x"], X["sign_z"], strict=True)]
    answer = np.array([X.at[row, feature] for row, feature in enumerate(own)])
    used = np.array([[c in ("sign_x", "sign_z", feature) for c in X.columns] for feature in own])
    assert np.array_equal(answer, table.y)
    assert (table.prices.bind(list(X.columns)).bill(used) == 12.0).all()


def test_no_quadrant_is_answered_for_less_than_twelve() -> None:
    """Below 12 one may buy the signs, or one value and one sign: neither gives the label."""
    table = quadrants(random_state=0)
    X, y = table.X, table.y
    assert min(y[cell].std() for cell in X.groupby(["sign_x", "sign_z"]).indices.values()) > 0.5
    for value in X.columns[2:]:
        for sign in ("sign_x", "sign_z"):
            right = [
                np.mean(X[value].to_numpy()[c] == y[c]) for c in X.groupby(sign).indices.values()
            ]
            assert max(right) < 0.7


def test_a_wrong_quadrant_value_looks_like_a_label() -> None:
    table = quadrants(n=5000, random_state=0)
    for value in table.X.columns[2:]:
        random_value = table.X[value].to_numpy()
        random_value = random_value[random_value != table.y]
        assert random_value.mean() == pytest.approx(table.y.mean(), abs=0.25)
        assert random_value.std() == pytest.approx(table.y.std(), rel=0.1)


def test_quadrants_with_negative_z_have_the_higher_labels() -> None:
    table = quadrants(n=5000, random_state=0)
    means = pd.Series(table.y).groupby([table.X["sign_z"], table.X["sign_x"]]).mean()
    assert means[-1].min() > means[1].max()
    deviations = pd.Series(table.y).groupby([table.X["sign_z"], table.X["sign_x"]]).std()
    assert np.allclose(deviations, 1.0, atol=0.1)


def test_noisy_xor_has_the_sizes_and_prices_of_the_thesis() -> None:
    table = noisy_xor(random_state=0)
    assert table.X.shape == (1000, 10)
    assert np.unique(table.split, return_counts=True)[1].tolist() == [360, 640]
    assert table.prices.bind(list(table.X.columns)).own.tolist() == XOR_PRICES
    assert np.unique(table.y, return_counts=True)[1].tolist() == [500, 500]


def test_the_noise_of_an_xor_feature_has_variance_one_over_its_price() -> None:
    """Two nearly noiseless features give the hidden point back; what is left over is noise."""
    table = noisy_xor(n=20_000, random_state=1)
    X = table.X.to_numpy()
    basis = X[:, 8:]
    for feature, price in enumerate(XOR_PRICES[:5]):
        weights, *_ = np.linalg.lstsq(basis, X[:, feature], rcond=None)
        left = np.var(X[:, feature] - basis @ weights)
        assert left == pytest.approx(1 / price, rel=0.15)


def xor_accuracy(features: list[int]) -> float:
    table = noisy_xor(random_state=0)
    X = table.X.to_numpy()[:, features] * np.sqrt(np.array(XOR_PRICES)[features])
    X = X / np.sqrt(max(XOR_PRICES[i] for i in features))
    train = table.split == "train"
    return float(
        SVC(C=10.0, gamma=2.0).fit(X[train], table.y[train]).score(X[~train], table.y[~train])
    )


def test_xor_is_nearly_solved_for_95_and_solved_by_all_features() -> None:
    assert xor_accuracy([0, 1, 2]) < 0.8
    assert xor_accuracy([0, 1, 2, 3, 4, 5, 7]) > 0.97
    assert xor_accuracy(list(range(10))) == 1.0


def test_no_plane_separates_the_xor_classes() -> None:
    table = noisy_xor(random_state=0)
    line = LinearDiscriminantAnalysis().fit(table.X.to_numpy(), table.y)
    assert line.score(table.X.to_numpy(), table.y) < 0.6
