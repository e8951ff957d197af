"""Data sets from scikit-learn with illustrative prices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from thrifty.data import Table, breast_cancer, diabetes, digits, heart, heart_files, wine

SHIPPED = [breast_cancer, diabetes, digits, wine]


def bill(table: Table, *features: str) -> float:
    bound = table.prices.bind(list(table.X.columns))
    return float(bound.bill(np.isin(table.X.columns, features)[None, :])[0])


@pytest.mark.parametrize("make", SHIPPED)
def test_prices_fit_the_columns_and_every_feature_costs_something(
    make: Callable[[], Table],
) -> None:
    table = make()
    bound = table.prices.bind(list(table.X.columns))
    assert (bound.own > 0).all()
    assert bound.unit
    assert make.__name__ == table.name


@pytest.mark.parametrize("make", SHIPPED)
def test_prices_are_said_to_be_illustrative(make: Callable[[], Table]) -> None:
    assert "illustrative" in make().note
    assert "ILLUSTRATIVE" in (make.__doc__ or "")


@pytest.mark.parametrize(
    ("make", "shape", "classes"),
    [(breast_cancer, (569, 30), 2), (wine, (178, 13), 3), (digits, (1797, 64), 10)],
)
def test_the_sets_have_their_known_sizes(
    make: Callable[[], Table], shape: tuple[int, int], classes: int
) -> None:
    table = make()
    assert table.X.shape == shape
    assert len(np.unique(table.y)) == classes


def test_diabetes_is_a_regression_in_raw_units() -> None:
    table = diabetes()
    assert table.X.shape == (442, 10)
    assert table.y.dtype.kind == "f"
    assert table.X["age"].between(18, 80).all()


def test_a_measurement_of_cells_is_paid_once_for_its_three_statistics() -> None:
    table = breast_cancer()
    assert bill(table, "mean area") == pytest.approx(1.1)
    assert bill(table, "mean area", "area error", "worst area") == pytest.approx(1.3)
    assert bill(table, "mean area", "worst concave points") == pytest.approx(5.2)


def test_blood_is_drawn_once() -> None:
    assert bill(diabetes(), "s6") == 8.0
    assert bill(diabetes(), "s6", "s1") == 12.0
    assert bill(diabetes(), "age", "bmi") == 1.5


def test_a_row_of_pixels_is_visited_once() -> None:
    assert bill(digits(), "pixel_3_0", "pixel_3_7") == 1.5
    assert bill(digits(), "pixel_3_0", "pixel_4_0") == 2.5


def test_wine_preparations_are_shared() -> None:
    assert bill(wine(), "hue", "color_intensity") == 5.0
    assert bill(wine(), "ash", "hue") == 14.0


def test_heart_has_the_published_prices() -> None:
    table = heart()
    assert table.X.shape == (920, 13) and sorted(set(table.y)) == ["no", "yes"]
    assert (table.y == "yes").sum() == 509
    assert "Turney (1995)" in table.note and "CC BY 4.0" in table.note
    # First of its group, and later ones: 7.27 and 3.10 of 5.20 for the blood, and so on.
    assert bill(table, "age") == 1.0
    assert bill(table, "chol") == 7.27 and bill(table, "fbs") == 5.2
    assert bill(table, "chol", "fbs") == pytest.approx(10.37)
    assert bill(table, "thal") == 102.9 and bill(table, "thal", "thalach") == 103.9
    assert bill(table, "exang") == 87.3 and bill(table, "exang", "oldpeak", "slope") == 89.3
    assert bill(table, "restecg", "ca") == pytest.approx(116.4)


def test_the_files_of_heart_are_the_table() -> None:
    files = heart_files()
    assert set(files) == {"heart.csv", "heart-prices.csv"}
    header, *rows = files["heart.csv"].splitlines()
    assert header.split(",") == [*heart().X.columns, "disease"] and len(rows) == 920
    assert not (heart().X[["chol", "trestbps"]] == 0).any(axis=None)  # missing, not zero
