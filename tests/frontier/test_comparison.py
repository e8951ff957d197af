"""Comparisons: level with oneself, the same for any n_jobs; differences and ranks by hand."""

from __future__ import annotations

import numpy as np
import pytest
from joblib import parallel_config

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor, Prices
from thrifty.errors import DataError
from thrifty.frontier.comparison import Comparison, Steps, compare
from thrifty.frontier.curve import area
from thrifty.frontier.splits import split_three
from thrifty.frontier.tracing import trace

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = np.where(X[:, 0] + 0.7 * X[:, 1] + 0.3 * RNG.normal(size=200) > 0, "yes", "no")
PRICES = Prices([1.0, 3.0, 2.0], unit="EUR")


def miser(**settings) -> GreedyMiserClassifier:
    return GreedyMiserClassifier(PRICES, n_estimators=8, min_samples_leaf=5, **settings)


LEARNERS = {"lame": miser(learning_rate=1e-6), "sound": miser(), "twin": miser()}


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(LEARNERS, X, Y, splits=3)


def test_the_same_learner_twice_is_level(found) -> None:
    twins = found.difference("sound", "twin")
    assert (twins.mean, twins.error, twins.low, twins.high) == (0.0, 0.0, 0.0, 0.0)
    assert twins.verdict == "level"
    assert found.ranks["sound"] == found.ranks["twin"] == 1.5


def test_a_crippled_learner_is_last(found) -> None:
    assert found.ranks["lame"] == 3.0
    assert found.difference("sound", "lame").mean > 0.05
    assert [(d.first, d.second) for d in found.differences] == [
        ("sound", "twin"),
        ("sound", "lame"),
        ("twin", "lame"),
    ]


def test_figures_are_those_of_test_rows_with_the_choice_of_validation_rows(found) -> None:
    train, validation, test = split_three("classification", Y, None, 0.2, 1).values()  # split 1
    held_out = (X[validation], Y[validation])
    curve = trace(miser(), X[train], Y[train], validation=held_out, random_state=1)
    (steps,) = [s for s in found.steps if (s.learner, s.split) == ("sound", 1)]
    for budget in np.linspace(0, 7, 29):
        point = curve.choose(budget)
        k = np.searchsorted(steps.budgets, budget, side="right") - 1
        assert steps.qualities[k] == np.mean(point.model.predict(X[test]) == Y[test])
        assert steps.bills[k] == point.model.bill(X[test]).mean()
        assert found.at(budget / 6)[1, 1] == steps.qualities[k]
    assert found.areas[1, 1] == area(steps.budgets, steps.qualities, 6.0)


def test_the_result_is_the_same_for_any_number_of_jobs(found) -> None:
    with parallel_config(backend="threading"):  # which has nothing to import or compile anew
        others = compare(LEARNERS, X, Y, splits=3, n_jobs=2)
    np.testing.assert_array_equal(others.areas, found.areas)
    assert str(others) == str(found)


def test_more_splits_keep_the_first_ones_and_resume_from_them(found, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "cells"
    few = {"sound": LEARNERS["sound"]}
    compare(few, X, Y, splits=2, resume=folder)
    traced = []
    path = GreedyMiserClassifier.path
    monkeypatch.setattr(
        GreedyMiserClassifier, "path", lambda *a, **k: traced.append(1) or path(*a, **k)
    )
    more = compare(few, X, Y, splits=3, resume=folder)
    assert len(traced) == 1
    np.testing.assert_array_equal(more.areas[:, 0], found.areas[:, 1])


def test_a_folder_of_other_settings_is_refused(tmp_path) -> None:
    few = {"sound": LEARNERS["sound"]}
    compare(few, X, Y, splits=2, resume=tmp_path / "cells")
    with pytest.raises(DataError, match="share"):
        compare(few, X, Y, splits=2, share=0.3, resume=tmp_path / "cells")


def test_values_and_orders_are_compared_too() -> None:
    y, qid = X[:, 0], np.repeat(np.arange(20), 10)
    learners = [GreedyMiserRegressor(PRICES, n_estimators=4, min_samples_leaf=5)]
    found = compare(learners, X, y, splits=2, scoring="neg_mean_squared_error", scale="linear")
    assert found.learners == ("GreedyMiserRegressor",)
    assert (found.scoring, found.scale) == ("neg_mean_squared_error", "linear")
    assert (found.at(1.0) > found.at(0.01)).all()
    ranker = [GreedyMiserRanker(PRICES, n_estimators=4, min_samples_leaf=5)]
    found = compare(ranker, X, (y > 0).astype(int), qid=qid, splits=2, scoring="ap@3")
    assert (found.at(1.0) > found.at(0.01)).all()


# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize(
    "learners, settings, words",
    [
        ({}, {}, "there are none"),
        ([miser(), miser()], {}, "not distinct names"),
        ({"a": GreedyMiserClassifier}, {}, r"\['a'\] have no path"),
        ({"a": "a learner"}, {}, r"\['a'\] have no path"),
        ({"a": miser(), "b": GreedyMiserClassifier()}, {}, "b has other prices than a"),
        ({"a": miser(), "b": GreedyMiserRegressor(PRICES)}, {}, "different tasks"),
        ({"a": miser()}, {"splits": 1}, "splits: 1 is not 2 or more"),
        ({"a": miser()}, {"scale": "cubic"}, "scale: 'cubic'"),
        ({"a": miser()}, {"scoring": "r2"}, "'r2' is for regression"),
    ],
    ids=str,
)
def test_what_cannot_be_compared_is_refused(learners, settings, words) -> None:
    with pytest.raises(DataError, match=words):
        compare(learners, X, Y, **settings)


# --- by hand ---------------------------------------------------------------------


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
