from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.bundle import Schema
from thrifty.checks import make_cases, make_large_case

CASES = {case.name: case for case in make_cases(GreedyMiserClassifier())}


def test_there_is_a_case_of_every_kind_of_table() -> None:
    kinds = {type(case.test_table).__module__.split(".")[0] for case in CASES.values()}
    assert kinds == {"numpy", "pandas", "polars"}
    assert CASES["float32"].test_table.dtype == np.float32
    assert CASES["float32"].prices is None
    assert {len(np.unique(case.train.y)) for case in CASES.values()} == {2, 3}


@pytest.mark.parametrize("name", CASES)
def test_a_walk_gets_what_the_table_holds(name) -> None:
    case = CASES[name]
    schema = Schema.of(case.table(case.train.values))
    with pytest.warns(UserWarning, match="never seen") if schema.named else nullcontext():
        encoded = schema.encode(case.test_table)
    for row in range(2, 6):
        given = schema.encode_values(case.example(row))
        assert list(given) == list(range(len(case.columns)))
        np.testing.assert_array_equal(list(given.values()), encoded[row])


@pytest.mark.parametrize("name", CASES)
def test_a_case_holds_missing_values_and_signal(name) -> None:
    case = CASES[name]
    missing = np.array([[value is None for value in row] for row in case.train.values])
    assert 0.02 < missing.mean() < 0.2
    assert all(value is None for value in case.test.values[0])
    fitted = case.fit(GreedyMiserClassifier(n_estimators=20, min_samples_leaf=5))
    assert fitted.score(*case.training) > 0.8


def test_prices_hold_groups_a_free_feature_and_an_evaluation() -> None:
    bound = CASES["pandas"].prices.bind(list(CASES["pandas"].names))
    assert bound.group.tolist()[:5] == [0, 0, 0, 1, 1]
    assert (bound.shared > 0).all() and bound.evaluation > 0
    assert bound.own[3] == bound.own[4] == bound.own[5] == 0


def test_the_target_fits_the_estimator() -> None:
    numbers = next(make_cases(GreedyMiserRegressor())).train
    grades = next(make_cases(GreedyMiserRanker())).train
    assert numbers.y.dtype == np.float64 and numbers.qid is None
    assert set(grades.y) == {0, 1, 2, 3} and grades.qid is not None
    assert np.any(np.diff(grades.qid) < 0), "the rows of a query must not lie together"


def test_the_same_seed_gives_the_same_cases() -> None:
    def values(seed):
        return [case.train.values.tolist() for case in make_cases(GreedyMiserRegressor(), seed)]

    assert values(3) == values(3)
    assert values(3) != values(4)


def test_a_fit_clones_and_takes_prices_and_a_seed() -> None:
    estimator = GreedyMiserClassifier(n_estimators=2, random_state=7)
    case = make_large_case(estimator)
    fitted = case.fit(estimator, penalty=0.1)
    assert estimator.prices is None and not hasattr(estimator, "classes_")
    assert (fitted.prices, fitted.penalty, fitted.random_state) == (case.prices, 0.1, 0)
