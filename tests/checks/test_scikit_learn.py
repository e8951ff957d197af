from __future__ import annotations

import pytest

from thrifty import GreedyMiserClassifier, GreedyMiserRegressor
from thrifty.checks import LawError, check_sklearn

CHECK = "check_dict_unchanged"


@pytest.fixture(scope="module")
def careless(bend):
    """Changes itself in predict, and its parameters in fit."""

    def predict(self, X):
        self.seen = len(X)
        return GreedyMiserClassifier.predict(self, X)

    def fit(self, X, y, sample_weight=None):
        self.penalty = 0.5
        return GreedyMiserClassifier.fit(self, X, y, sample_weight)

    return bend(predict=predict, fit=fit)


def test_all_failures_are_reported_at_once(careless) -> None:
    with pytest.raises(LawError) as caught:
        check_sklearn(careless)
    message = str(caught.value)
    assert "[BentClassifier]" in message
    assert f"\n  - {CHECK}: " in message
    assert "\n  - check_estimators_overwrite_params: " in message


def test_an_expected_failure_is_not_reported(careless) -> None:
    with pytest.raises(LawError) as caught:
        check_sklearn(careless, {CHECK: "it counts its rows"})
    assert CHECK not in str(caught.value)


def test_an_expected_failure_that_passes_is_reported(honest) -> None:
    with pytest.raises(LawError, match=f"{CHECK} passes; it was expected to fail"):
        check_sklearn(honest, {CHECK: "out of date"})


def test_a_bare_assertion_is_reported_by_its_line() -> None:
    with pytest.raises(LawError, match=r"check_regressors_train: AssertionError: assert .*score"):
        check_sklearn(GreedyMiserRegressor(n_estimators=1))
