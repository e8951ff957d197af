"""Comparisons: differences, ranks and tables by hand."""

from __future__ import annotations

import numpy as np
import pytest

from thrifty.errors import DataError
from thrifty.frontier.comparison import Comparison, Steps


def steps(name: str, split: int, top: float) -> Steps:
    return Steps(name, split, np.array([0.0, 10.0]), np.array([0.0, 9.0]), np.array([0.5, top]))


def made(*tops: tuple[float, ...]) -> Comparison:
    """Learners a, b, ... and what they reach from a tenth of the price on, split by split."""
    each = [
        steps("abc"[i], split, top) for split, row in enumerate(tops) for i, top in enumerate(row)
    ]
    return Comparison(each, "accuracy", "EUR", 100.0, "log", 0.25)


def test_differences_by_hand() -> None:
    found = made((0.9, 0.7), (0.8, 0.7), (0.7, 0.9))
    apart = np.array([0.2, 0.1, -0.2]) * np.log(10) / np.log(50)
    found_difference = found.difference("a", "b")
    assert found_difference.mean == pytest.approx(apart.mean())
    assert found_difference.error == pytest.approx(apart.std(ddof=1) / np.sqrt(3))
    half = 4.302653 * apart.std(ddof=1) * np.sqrt(1 / 3 + 0.25)  # Student's t with 2 degrees
    assert (found_difference.low, found_difference.high) == pytest.approx(
        (apart.mean() - half, apart.mean() + half)
    )
    assert found_difference.verdict == "level"


def test_who_is_ahead() -> None:
    found = made((0.9, 0.7), (0.91, 0.72), (0.92, 0.7))
    assert found.difference("a", "b").verdict == "ahead"
    assert found.difference("b", "a").verdict == "behind"


def test_ranks_by_hand() -> None:
    assert made((0.9, 0.7, 0.7), (0.6, 0.8, 0.7)).ranks == {"a": 2.0, "b": 1.75, "c": 2.25}


def test_the_frame_has_a_row_for_each_split_and_learner() -> None:
    frame = made((0.9, 0.7), (0.8, 0.6)).frame()
    assert frame["learner"].tolist() == ["a", "b", "a", "b"]
    assert frame["split"].tolist() == [0, 0, 1, 1]
    assert frame["rank"].tolist() == [1, 2, 1, 2]
    assert frame["5%"].tolist() == [0.5] * 4
    assert frame["10%"].tolist() == [0.9, 0.7, 0.8, 0.6]


def test_the_table_tells_the_best_first_and_every_difference() -> None:
    heading, heads, first, second, apart, note = str(made((0.7, 0.9), (0.6, 0.8))).splitlines()
    assert "accuracy on 2 splits" in heading and "2% to 100% of EUR 100.00" in heading
    assert heads.split()[:3] == ["area", "error", "rank"]
    assert (first.split()[0], first.split()[-1]) == ("b", "0.8500")
    assert (second.split()[0], second.split()[3]) == ("a", "2.00")
    assert apart.startswith("b - a: +0.1177") and apart.endswith("ahead")
    assert "widened" in note


def test_an_unknown_learner_has_no_difference() -> None:
    with pytest.raises(DataError, match=r"no \['z'\]; there are a, b"):
        made((0.9, 0.7), (0.8, 0.6)).difference("a", "z")
