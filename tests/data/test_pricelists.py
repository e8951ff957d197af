"""Published costs and natural groups as price lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thrifty.costs import Prices
from thrifty.data.pricelists import read_costs, read_groups
from thrifty.errors import PriceError

COSTS = """feature,cost,group,discount_cost,delayed
age,1.0,,1.0,immediate
chol,7.27,A,5.17,delayed
fbs,5.2,A,3.1,delayed
thal,102.9,B,1.0,delayed
"""
COLUMNS = ["age", "chol", "fbs", "thal"]


def write(folder: Path, text: str) -> Path:
    path = folder / "toy.csv"
    path.write_text(text)
    return path


def bill(prices: Prices, columns: list[str], *features: str) -> float:
    return float(prices.bind(columns).bill(np.isin(columns, features)[None, :])[0])


def test_the_first_test_of_a_group_costs_its_cost_and_a_later_one_its_discount(
    tmp_path: Path,
) -> None:
    prices = read_costs(write(tmp_path, COSTS), COLUMNS, "CAD")
    assert bill(prices, COLUMNS, "chol") == pytest.approx(7.27)
    assert bill(prices, COLUMNS, "fbs") == pytest.approx(5.2)
    assert bill(prices, COLUMNS, "fbs", "chol") == pytest.approx(5.2 + 5.17)
    assert bill(prices, COLUMNS, "age", "thal") == pytest.approx(103.9)
    assert prices.bind(COLUMNS).unit == "CAD"


def test_shared_prices_are_rounded_to_the_cent(tmp_path: Path) -> None:
    bound = read_costs(write(tmp_path, COSTS), COLUMNS, "CAD").bind(COLUMNS)
    assert sorted(bound.shared.tolist()) == [2.1, 101.9]


def test_rows_for_features_that_are_not_in_the_table_are_left_out(tmp_path: Path) -> None:
    prices = read_costs(write(tmp_path, COSTS), ["age", "fbs"], "CAD")
    assert prices.bind(["age", "fbs"]).group_names == ("A",)


def test_members_that_disagree_share_the_smallest_part(tmp_path: Path) -> None:
    text = "feature,cost,group,discount_cost\nTT4,14.51,A,12.41\nFTI,25.92,A,21.72\n"
    bound = read_costs(write(tmp_path, text), ["TT4", "FTI"], "CAD").bind(["TT4", "FTI"])
    assert bound.shared.tolist() == [2.1]
    assert bound.own.tolist() == [12.41, 21.72]


def test_every_bad_number_is_reported_with_its_line(tmp_path: Path) -> None:
    text = "feature,cost,group,discount_cost\na,much,,1\nb,1,,1\nc,2,,\n"
    with pytest.raises(PriceError) as caught:
        read_costs(write(tmp_path, text), ["a", "b", "c"], "CAD")
    assert "line 2, 'a'" in str(caught.value)
    assert "line 4, 'c'" in str(caught.value)
    assert "line 3" not in str(caught.value)


def test_a_feature_occurs_once_in_the_file(tmp_path: Path) -> None:
    text = "feature,group\na,g\nb,g\na,h\n"
    with pytest.raises(PriceError, match="line 4: 'a' is already in line 2"):
        read_groups(write(tmp_path, text), ["a", "b"])


def test_missing_columns_are_named(tmp_path: Path) -> None:
    with pytest.raises(PriceError) as caught:
        read_costs(write(tmp_path, "feature,price\na,1\n"), ["a"], "CAD")
    for name in ("cost", "group", "discount_cost"):
        assert f"no column '{name}'" in str(caught.value)


def test_a_group_costs_the_number_of_its_features_once(tmp_path: Path) -> None:
    text = "feature,group\na,g\nb,g\nc,g\nd,h\n"
    columns = ["a", "b", "c", "d"]
    prices = read_groups(write(tmp_path, text), columns)
    assert bill(prices, columns, "a") == 3.0
    assert bill(prices, columns, "a", "b", "c") == 3.0
    assert bill(prices, columns, "a", "d") == 4.0


def test_a_feature_without_a_group_costs_one(tmp_path: Path) -> None:
    prices = read_groups(write(tmp_path, "feature,group\na,g\n"), ["a", "b"])
    assert bill(prices, ["a", "b"], "b") == 1.0
